// What a layer whose backward runs it again keeps of its results all the same (PyTorch's selective activation
// checkpointing: torch/utils/checkpoint.py, create_selective_checkpoint_contexts).
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/partition/tensor.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// By piece of a layer: what runs again, and bytes of results that were kept instead. Under every_second_mm,
/// TorchTitan's policy (torchtitan/distributed/activation_checkpoint.py; in Llama's code products come as queries,
/// keys, values, projection, gate, up, down, and its save list has fused attention and reduce-scatters too), the first
/// of each two products without biases is kept, and of what the layer has as one product the part that is not runs
/// again. A product whose sum is kept runs again where operators run one by one, and not where torch.compile made the
/// kernels.
struct RunAgain {
    std::vector<std::vector<Work>> works;
    std::vector<std::uint64_t> kept_bytes;

    [[nodiscard]] std::uint64_t all_kept_bytes() const;
};
/// Under save_only_these_names (jax.checkpoint_policies) products whose results have these names are kept, with what
/// tensor ranks exchange of them, and fused attention; where a layer stops_early nothing is that no backward needs.
RunAgain run_again(const ShardedLayer& layer, KeptResults keeps, bool stops_early = false);

/// Throws Error at "/strategy/checkpoint_policy" where no whole layer runs again, or products are not those of linear
/// layers alone; at "/strategy/checkpoint_names" where these are not the policy's.
void check_checkpoint_policy(const Plan& plan);

}  // namespace orrery::strategies
