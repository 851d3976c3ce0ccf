// The optimizer's states in host memory, where the host's processor updates them.
//
// ZeRO-Offload (Ren et al. 2021, arXiv:2101.06840, sections 3 and 4; DeepSpeed's offload_optimizer) and Megatron-LM's
// --optimizer-cpu-offload (megatron/core/optimizer/cpu_offloading): of the parameters that a rank updates a part has
// its fp32 masters and moments in the host's memory. Their gradients are copied there in the format in which they are
// summed, the host's cores run Adam, and the weights that products read are copied back. Before it updates, the host
// waits for the last gradient and their norm, whose factor it applies itself. Gradients of several micro-batches are
// summed on the device, as Megatron-LM does, but where weights are offloaded too (gradient_sync.hpp); DeepSpeed keeps
// the sums of its stages 1 to 3 on the host in any case.
//
// States on the node's drives (ZeRO-Infinity, Rajbhandari et al. 2021, arXiv:2104.07857, sections 5 and 6; DeepSpeed's
// runtime/swap_tensor/pipelined_optimizer_swapper.py) go bucket by bucket: the host writes a bucket's summed gradients
// in fp32, reads them with masters and moments (16 bytes a parameter) into one of its buffers, updates, and writes
// masters and moments (12 bytes). With pipeline_read a bucket is read beside the update before, with pipeline_write
// written beside the next, and there is a buffer more for each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strategies/gradient_buckets.hpp"
#include "strategies/intern.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Of so many parameters whose update falls to a rank, or of bytes of their states, those that its host has.
std::uint64_t offloaded(const Plan& plan, std::uint64_t amount);

/// Of each bucket's parameters, of those whose update falls to the rank, which are `owned`: rounded so that their sum
/// is that of the whole.
std::vector<std::uint64_t> offloaded_of_buckets(const Plan& plan, std::uint64_t owned, const GradientBuckets& buckets);

/// What the sum of a step's gradients is multiplied by: every micro-batch's loss is the mean over a rank's tokens, and
/// the step's is the mean over them and the ranks that have others.
double mean_of_micro_batches(const Plan& plan);

/// Of a parameter on drives, in fp32: its gradient; and its master and moments.
inline constexpr std::uint32_t stored_gradient_bytes = 4, stored_state_bytes = 12;

/// Bytes of host memory for each of these parameters: fp32 master and two moments, and the gradient as it arrives.
std::uint32_t host_bytes_a_parameter(const Training& training);

/// Writes what one stage does with its host. Does nothing in a plan without an offloaded optimizer.
class OptimizerOffload {
public:
    /// owned: parameters that the rank updates.
    OptimizerOffload(const Plan& plan, std::uint64_t owned, const GradientBuckets& buckets, Builder& builder,
                     Intern& intern);

    /// The states' buffer in host memory, and the gradients'; of states on drives those that they pass through.
    void lasting_buffers();
    /// Copies to the host. of_buckets: what says of each bucket that its gradients are reduced; of_all: of all of them,
    /// where something is still added to them behind.
    void gradients_leave(std::span<const BufferId> of_buckets, std::span<const BufferId> of_all);
    /// Updates and copies back, behind `ready`. Returns what says that weights are there.
    std::vector<BufferId> update(std::span<const BufferId> ready);

private:
    /// What is copied and updated at once: a bucket, or everything.
    struct Piece {
        std::uint64_t parameters = 0;
        std::uint32_t bucket = StateView::all;
        std::vector<BufferId> ready;  ///< what says that its gradients are summed
        std::vector<BufferId> there;  ///< and that they are on the host, or on its drives
    };

    [[nodiscard]] std::size_t tiles() const {
        return std::size_t{1} + plan_.strategy.pipeline_read + plan_.strategy.pipeline_write;
    }
    void leave(Piece& piece);
    void read_states(std::size_t number);
    void write_states(std::size_t number);
    BufferId weights_leave(const Piece& piece, BufferId updated);

    const Plan& plan_;
    std::uint64_t owned_;
    const GradientBuckets& buckets_;
    Builder& builder_;
    Intern& intern_;
    std::vector<Piece> pieces_;
    std::vector<BufferId> updated_, written_;  // by piece, up to the one at hand
    std::vector<BufferId> reads_;              // of the next update
};

}  // namespace orrery::strategies
