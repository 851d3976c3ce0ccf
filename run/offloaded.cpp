#include "run/offloaded.hpp"

#include <algorithm>

namespace orrery::run {

namespace {

Action copy(kernels::Device& device, kernels::CopyKind kind, void* to, const void* from, std::uint64_t bytes) {
    return [&device, kind, to, from, bytes](kernels::Stream stream) { device.copy(kind, to, from, bytes, stream); };
}

}  // namespace

Action Offloaded::out(Bind& bind, const std::vector<Tensor*>& kept, strategies::BufferId saved,
                      strategies::BufferId host) {
    std::vector<Tensor>& leaving = leaving_[saved];
    std::vector<Moved>& moved = on_host_[host];
    std::vector<Action> copies;
    for (Tensor* holder : kept) {
        if (!*holder) continue;
        const auto known = std::ranges::find(leaving, *holder);
        if (known != leaving.end()) {
            moved[static_cast<std::size_t>(known - leaving.begin())].holders.push_back(holder);
        } else {
            const std::uint64_t bytes = (*holder)->bytes;
            moved.push_back({host_.take(bytes), {holder}});
            leaving.push_back(*holder);
            copies.push_back(copy(bind.device, kernels::CopyKind::device_to_host, host_.at(moved.back().host),
                                  bind.at(*holder), bytes));
        }
        holder->reset();
    }
    return in_order(std::move(copies));
}

Action Offloaded::back(Bind& bind, strategies::BufferId host) {
    std::vector<Action> copies;
    for (const Moved& moved : on_host_.at(host)) {
        const std::uint64_t bytes = moved.host->bytes;
        const Tensor tensor = bind.arena.take(bytes);
        for (Tensor* holder : moved.holders) *holder = tensor;
        copies.push_back(
            copy(bind.device, kernels::CopyKind::host_to_device, bind.at(tensor), host_.at(moved.host), bytes));
    }
    return in_order(std::move(copies));
}

}  // namespace orrery::run
