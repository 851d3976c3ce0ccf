// What lanes tell each other where each is a thread of the host: which operations of the step have ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace orrery::run {

/// arrive, await and fail may be called by several threads at once.
class Arrivals {
public:
    explicit Arrivals(std::size_t items) : count_(items), states_(std::make_unique<std::atomic<int>[]>(items)) {}

    /// A new step: nothing has ended. No lane is at work.
    void begin();
    void arrive(std::uint32_t item) { tell(item, ended); }
    /// Blocks until the item has ended. Throws DeviceError when it never will, because its lane failed.
    void await(std::uint32_t item);
    /// What has not ended never will.
    void fail();

private:
    enum State : int { pending, ended, failed };
    void tell(std::uint32_t item, State state);

    std::size_t count_;
    std::unique_ptr<std::atomic<int>[]> states_;
};

}  // namespace orrery::run
