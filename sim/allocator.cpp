#include "sim/allocator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/units.hpp"
#include "strategies/build.hpp"
#include "strategies/optimizer_moments.hpp"

namespace orrery::sim {

namespace {

/// PyTorch on a GPU of NVIDIA's has workspaces of products (hardware/framework_memory); other software, processors and
/// TPUs have none.
bool has_allocator(const hardware::FrameworkMemory& framework) { return framework.workspaces > 0; }

/// Bytes that a GPU has for the allocator: the context and communicators' buffers come from the driver as well.
std::uint64_t room(const MemoryUse& use, std::size_t stage) {
    if (use.spare(stage) < 0) return std::numeric_limits<std::uint64_t>::max();
    const hardware::FrameworkMemory framework = use.framework_of(stage);
    return use.capacity(stage) - framework.context - framework.communicators;
}

}  // namespace

void add_allocator(MemoryUse& use, const strategies::Plan& plan) {
    if (std::ranges::none_of(use.framework, has_allocator)) return;
    const strategies::StepProgram step = strategies::build(plan);
    const std::size_t stages = use.memory.size(), fullest = use.fullest_stage();
    use.allocator.resize(stages);
    for (std::size_t stage = 0; stage < stages; ++stage) {
        if (!has_allocator(use.framework_of(stage)) || (stages > most_replayed_stages && stage != fullest)) continue;
        const std::uint32_t role = use.memory[stage].role;
        use.allocator[stage] = strategies::allocator_use(step, role,
                                                         {.capacity = room(use, stage),
                                                          .workspaces = use.framework_of(stage).workspaces,
                                                          .moments = optimizer_moments(plan, step, role)});
    }
}

std::vector<std::string> allocator_doubts(const MemoryUse& use) {
    const auto first = std::ranges::find_if(use.allocator, &strategies::AllocatorUse::out_of_memory);
    if (first == use.allocator.end()) return {};
    return {fmt::format(
        "the tensors of stage {} fit, and PyTorch's allocator runs out of memory all the same: it reserves {} for {} "
        "at most. PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lays them out anew",
        first - use.allocator.begin(), format_bytes(static_cast<double>(first->reserved)),
        format_bytes(static_cast<double>(first->allocated)))};
}

}  // namespace orrery::sim
