// Ranks that are threads of this process agree on the host.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/device.hpp"
#include "kernels/host_group.hpp"

namespace orrery::kernels {

/// Where all of them meet.
class HostMeeting {
public:
    explicit HostMeeting(std::uint32_t ranks) : texts_(ranks) {}

    std::vector<std::string> all_gather(std::uint32_t rank, const std::string& own) {
        std::unique_lock lock(mutex_);
        const std::uint64_t round = round_;
        texts_[rank] = own;
        if (++arrived_ == texts_.size()) {
            found_ = texts_;
            arrived_ = 0;
            ++round_;
            changed_.notify_all();
        }
        changed_.wait(lock, [&] { return round_ != round || failed_; });
        if (round_ == round) throw DeviceError("another rank failed", "");
        return found_;  // nobody can be two rounds ahead: the next needs this rank
    }
    /// Ends all waits.
    void fail() {
        const std::lock_guard lock(mutex_);
        failed_ = true;
        changed_.notify_all();
    }
    [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(texts_.size()); }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> texts_, found_;
    std::size_t arrived_ = 0;
    std::uint64_t round_ = 0;
    bool failed_ = false;
};

class HostThread final : public HostGroup {
public:
    HostThread(HostMeeting& meeting, std::uint32_t rank) : meeting_(meeting), rank_(rank) {}
    [[nodiscard]] std::uint32_t rank() const override { return rank_; }
    [[nodiscard]] std::uint32_t ranks() const override { return meeting_.ranks(); }
    std::vector<std::string> all_gather(const std::string& own) override { return meeting_.all_gather(rank_, own); }

private:
    HostMeeting& meeting_;
    std::uint32_t rank_;
};

}  // namespace orrery::kernels
