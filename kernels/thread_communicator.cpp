#include "kernels/thread_communicator.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "base/error.hpp"
#include "kernels/bfloat16.hpp"
#include "kernels/float16.hpp"

namespace orrery::kernels {

namespace {

/// Why all ranks must stop; empty while they need not.
class Alarm {
public:
    void raise(const std::string& why) {
        const std::lock_guard lock(mutex_);
        if (why_.empty()) why_ = why.empty() ? "a rank stopped" : why;
    }
    void check() const {
        const std::lock_guard lock(mutex_);
        if (!why_.empty()) throw DeviceError(why_, "");
    }

private:
    mutable std::mutex mutex_;
    std::string why_;
};

constexpr std::chrono::milliseconds alarm_period{20};

/// What the ranks of one group share.
class Group {
public:
    Group(std::uint32_t ranks, std::shared_ptr<Alarm> alarm_in)
        : alarm(std::move(alarm_in)), slots(ranks), texts(ranks), colors(ranks), ranks_(ranks) {}

    /// Waits until all ranks came. kind 0: streams; 1: hosts.
    void arrive(std::size_t kind) {
        std::unique_lock lock(mutex);
        Gate& gate = gates_[kind];
        const std::uint64_t generation = gate.generation;
        if (++gate.arrived == ranks_) {
            gate.arrived = 0;
            ++gate.generation;
            changed.notify_all();
            return;
        }
        wait(lock, [&] { return gate.generation != generation; });
    }

    template <class Done>
    void wait(std::unique_lock<std::mutex>& lock, const Done& done) {
        while (!changed.wait_for(lock, alarm_period, done)) alarm->check();
    }

    std::shared_ptr<Alarm> alarm;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<const std::byte*> slots;  ///< what each rank sends
    std::vector<std::string> texts;
    std::vector<std::uint32_t> colors;
    std::map<std::uint32_t, std::shared_ptr<Group>> parts;  ///< color -> group, while a split lasts
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<std::vector<std::byte>>> mail;  ///< (from, to)

private:
    struct Gate {
        std::uint32_t arrived = 0;
        std::uint64_t generation = 0;
    };
    std::uint32_t ranks_;
    std::array<Gate, 2> gates_;
};

template <class T>
T reduced(const std::vector<const std::byte*>& slots, std::uint64_t offset, Reduction reduction) {
    double total = 0;
    for (std::size_t r = 0; r < slots.size(); ++r) {
        T element{};
        std::memcpy(&element, slots[r] + offset, sizeof element);
        const double value = to_float(element);
        total = r == 0 ? value : reduction == Reduction::sum ? total + value : std::max(total, value);
    }
    return from_float<T>(static_cast<float>(total));
}

/// Bytes [from, from + count) of the reduced vector of elements T, each rounded once.
template <class T>
std::vector<std::byte> reduced_range(const std::vector<const std::byte*>& slots, std::uint64_t from,
                                     std::uint64_t count, Reduction reduction) {
    std::vector<std::byte> result(count);
    for (std::uint64_t at = 0; at < count; at += sizeof(T)) {
        const T value = reduced<T>(slots, from + at, reduction);
        std::memcpy(result.data() + at, &value, sizeof value);
    }
    return result;
}

/// What one rank receives; slots hold what each sends.
std::vector<std::byte> result_of(CollectiveKind kind, const std::vector<const std::byte*>& slots, std::uint32_t rank,
                                 std::uint64_t bytes, Dtype dtype, Reduction reduction) {
    const auto ranks = static_cast<std::uint64_t>(slots.size());
    const std::uint64_t part = bytes / ranks;
    const auto range = dtype == Dtype::fp32   ? reduced_range<float>
                       : dtype == Dtype::fp16 ? reduced_range<Float16>
                                              : reduced_range<Bfloat16>;
    std::vector<std::byte> result;
    const auto append = [&](std::uint64_t from, std::uint64_t offset, std::uint64_t count) {
        result.insert(result.end(), slots[from] + offset, slots[from] + offset + count);
    };
    switch (kind) {
        case CollectiveKind::all_reduce: return range(slots, 0, bytes, reduction);
        case CollectiveKind::reduce_scatter: return range(slots, rank * part, part, reduction);
        case CollectiveKind::all_gather:
            for (std::uint64_t r = 0; r < ranks; ++r) append(r, 0, part);
            break;
        case CollectiveKind::all_to_all:
            for (std::uint64_t r = 0; r < ranks; ++r) append(r, rank * part, part);
            break;
        case CollectiveKind::broadcast: append(0, 0, bytes); break;
        case CollectiveKind::send_recv: append((rank + ranks - 1) % ranks, 0, bytes); break;
    }
    return result;
}

class ThreadCommunicator final : public Communicator {
public:
    ThreadCommunicator(Device& device, std::uint32_t rank, std::uint32_t ranks, std::shared_ptr<Group> group)
        : device_(device), rank_(rank), ranks_(ranks), group_(std::move(group)) {}

    [[nodiscard]] std::uint32_t rank() const override { return rank_; }
    [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
    [[nodiscard]] std::uint32_t nodes() const override { return 1; }
    [[nodiscard]] std::string software() const override { return "threads of one process"; }

    void run(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype, Stream stream,
             Reduction reduction) override {
        if (!cpu_ranks_sum(dtype)) throw Error("ranks as threads communicate fp32, bf16 and fp16", "use NCCL");
        const bool scattered = kind != CollectiveKind::broadcast && kind != CollectiveKind::send_recv &&
                               kind != CollectiveKind::all_reduce;
        if (bytes % size_of(dtype) != 0 || (scattered && bytes / size_of(dtype) % ranks_ != 0))
            throw Error(std::to_string(bytes) + " bytes cannot be shared by " + std::to_string(ranks_) + " ranks",
                        "give each rank whole elements");
        device_.run(
            [=, group = group_, rank = rank_] {
                {
                    const std::lock_guard lock(group->mutex);
                    group->slots[rank] = static_cast<const std::byte*>(send);
                }
                group->arrive(0);
                const std::vector<std::byte> result = result_of(kind, group->slots, rank, bytes, dtype, reduction);
                group->arrive(0);  // nobody reads any more: the result may overwrite what was sent
                std::memcpy(receive, result.data(), result.size());
            },
            stream);
    }

    void send(const void* memory, std::uint64_t bytes, std::uint32_t to, Stream stream) override {
        device_.run(
            [=, group = group_, rank = rank_] {
                const auto* const first = static_cast<const std::byte*>(memory);
                const std::lock_guard lock(group->mutex);
                group->mail[{rank, to}].emplace_back(first, first + bytes);
                group->changed.notify_all();
            },
            stream);
    }

    void receive(void* memory, std::uint64_t bytes, std::uint32_t from, Stream stream) override {
        device_.run(
            [=, group = group_, rank = rank_] {
                std::unique_lock lock(group->mutex);
                auto& letters = group->mail[{from, rank}];
                group->wait(lock, [&] { return !letters.empty(); });
                if (letters.front().size() != bytes)
                    throw DeviceError("a message of " + std::to_string(letters.front().size()) +
                                          " bytes was received as " + std::to_string(bytes),
                                      "");
                std::memcpy(memory, letters.front().data(), bytes);
                letters.pop_front();
            },
            stream);
    }

    std::unique_ptr<Communicator> split(std::uint32_t color) override {
        {
            const std::lock_guard lock(group_->mutex);
            group_->colors[rank_] = color;
        }
        group_->arrive(1);
        const auto& colors = group_->colors;
        const auto end = colors.begin() + rank_;
        const auto own = static_cast<std::uint32_t>(std::count(colors.begin(), end, color));
        const auto all = static_cast<std::uint32_t>(std::count(colors.begin(), colors.end(), color));
        std::shared_ptr<Group> part;
        {
            const std::lock_guard lock(group_->mutex);
            auto& place = group_->parts[color];
            if (!place) place = std::make_shared<Group>(all, group_->alarm);
            part = place;
        }
        group_->arrive(1);
        {
            const std::lock_guard lock(group_->mutex);
            group_->parts.clear();
        }
        group_->arrive(1);
        return std::make_unique<ThreadCommunicator>(device_, own, all, part);
    }

    void barrier() override { group_->arrive(1); }

    double maximum(double value) override {
        double largest = value;
        for (const std::string& text : texts(std::to_string(value))) largest = std::max(largest, std::stod(text));
        return largest;
    }

    std::string from_first(const std::string& text) override { return texts(text).front(); }

    std::vector<std::string> texts(const std::string& text) override {
        {
            const std::lock_guard lock(group_->mutex);
            group_->texts[rank_] = text;
        }
        group_->arrive(1);
        std::vector<std::string> all = group_->texts;
        group_->arrive(1);
        return all;
    }

    void abort(const std::string& why) noexcept override { group_->alarm->raise(why); }

private:
    Device& device_;
    std::uint32_t rank_, ranks_;
    std::shared_ptr<Group> group_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> thread_world(const std::vector<Device*>& devices) {
    const auto ranks = static_cast<std::uint32_t>(devices.size());
    const auto group = std::make_shared<Group>(ranks, std::make_shared<Alarm>());
    std::vector<std::unique_ptr<Communicator>> all;
    for (std::uint32_t r = 0; r < ranks; ++r)
        all.push_back(std::make_unique<ThreadCommunicator>(*devices[r], r, ranks, group));
    return all;
}

}  // namespace orrery::kernels
