#include "run/lane_threads.hpp"

#include <optional>

namespace orrery::run {

LaneThreads::LaneThreads(kernels::Device& device, const std::vector<Item>& items)
    : device_(device), items_(items), arrivals_(items.size()) {
    for (std::uint32_t i = 0; i < items.size(); ++i) items_of_[static_cast<std::size_t>(items[i].lane)].push_back(i);
}

void LaneThreads::step(std::vector<ItemMarks>& marks, Progress* progress) {
    arrivals_.begin();
    for (std::size_t lane = 0; lane < strategies::lanes; ++lane)
        if (!items_of_[lane].empty())
            device_.run([this, lane, &marks, progress] { walk(lane, marks, progress); },
                        stream_of(static_cast<strategies::Lane>(lane)));
}

/// Whether there were any.
bool LaneThreads::await_others(const Item& item) {
    bool waited = false;
    for (const std::uint32_t other : item.waits) {
        if (items_[other].lane == item.lane) continue;
        arrivals_.await(other);
        waited = true;
    }
    return waited;
}

void LaneThreads::walk(std::size_t lane, std::vector<ItemMarks>& marks, Progress* progress) try {
    const kernels::Stream stream = stream_of(static_cast<strategies::Lane>(lane));
    std::optional<kernels::Device::Mark> last;
    for (const std::uint32_t index : items_of_[lane]) {
        const Item& item = items_[index];
        const bool waited = await_others(item);
        if (progress != nullptr) progress->record().item[lane].store(index + 1, std::memory_order_relaxed);
        marks[index].begin = waited || !last ? device_.mark(stream) : *last;
        if (item.action) item.action(stream);
        marks[index].end = device_.mark(stream);
        last = marks[index].end;
        arrivals_.arrive(index);
    }
} catch (...) {
    arrivals_.fail();
    throw;
}

}  // namespace orrery::run
