// A step where streams are threads of the host: every lane walks its own operations, and waits for those of others.
#pragma once

#include <array>
#include <vector>

#include "run/arrivals.hpp"
#include "run/bound_program.hpp"
#include "run/progress.hpp"
#include "run/streams.hpp"

namespace orrery::run {

class LaneThreads {
public:
    /// Both must outlive it.
    LaneThreads(kernels::Device& device, const std::vector<Item>& items);

    /// Runs all items once; the device must be synchronised then, and throws there what a lane threw. `marks`: of every
    /// item. An item that waits for no other lane begins where the one before it on its lane ended.
    void step(std::vector<ItemMarks>& marks, Progress* progress);

private:
    void walk(std::size_t lane, std::vector<ItemMarks>& marks, Progress* progress);
    [[nodiscard]] bool await_others(const Item& item);

    kernels::Device& device_;
    const std::vector<Item>& items_;
    std::array<std::vector<std::uint32_t>, strategies::lanes> items_of_;
    Arrivals arrivals_;
};

}  // namespace orrery::run
