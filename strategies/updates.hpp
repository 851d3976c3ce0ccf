// Kernels over a rank's parameters as one stage's program writes them: multi-tensor, or parameter by parameter.
#pragma once

#include <span>
#include <string>

#include "strategies/intern.hpp"
#include "strategies/optimizers.hpp"
#include "strategies/plan.hpp"
#include "strategies/stage.hpp"

namespace orrery::strategies {

/// Multi-tensor kernels run over all parameters as one row.
class Updates {
public:
    static constexpr std::span<const BufferId> none{};

    /// divided: the host updates a part of the parameters, and a kernel over none of them is left out.
    Updates(Builder& builder, Intern& intern, bool divided) : builder_(builder), intern_(intern), divided_(divided) {}

    void kernel(const std::string& name, kernels::PointwiseKind kind, kernels::Dtype dtype, std::uint64_t parameters,
                StateDetail state, std::span<const BufferId> reads = none, std::span<const BufferId> writes = none);

    /// A number that all ranks of a group must agree on before the host goes on.
    void agree(const std::string& name, AxisSet group, StateDetail state);

    /// Of bytes that the host does not wait for.
    void sum(const std::string& name, AxisSet group, std::uint64_t bytes);

    /// Of plain kernels, as many as cost the host what one of a layer's does, over so many fp32 numbers.
    void streams(const std::string& name, double streams, std::uint64_t numbers, std::span<const BufferId> reads = none,
                 std::span<const BufferId> writes = none);
    /// Of Newton-Schulz iterations, in bf16.
    void product(const kernels::Gemm& gemm);
    /// The kernel behind waits for it.
    void gather(const std::string& name, AxisSet group, std::uint64_t bytes);

    /// PyTorch's kernels for each of so many parameters, of `owned` numbers of this format in all, as if they were of
    /// the mean size.
    void by_parameter(std::uint64_t tensors, std::uint64_t owned, std::span<const UpdateKernel> kernels,
                      kernels::Dtype format, std::span<const BufferId> reads = none,
                      std::span<const BufferId> writes = none);

    /// Each of them over all of a rank's numbers at once, with as many again for what one leaves to the next.
    void foreach (std::uint64_t owned, std::span<const UpdateKernel> kernels, kernels::Dtype format,
                  std::span<const BufferId> reads = none, std::span<const BufferId> writes = none);

private:
    Builder& builder_;
    Intern& intern_;
    bool divided_;
};

/// Of a stage's tensors, those of which the rank has `owned` numbers.
std::uint64_t owned_tensors(const Stage& stage, std::uint64_t owned);

/// In which the optimizer leaves new weights: as products, or their casts to fewer bits, read them.
kernels::Dtype optimizer_copy(const Plan& plan);

/// Every optimizer but the fused Adam: priced, and not executed. copies: gradients that it is the last to read;
/// updated: what tells of new weights.
void update_priced(const Plan& plan, const Stage& stage, std::uint64_t owned, Updates& out,
                   std::span<const BufferId> copies, std::span<const BufferId> updated);

}  // namespace orrery::strategies
