#include "strategies/low_rank_gradients.hpp"

#include <fmt/format.h>

#include "strategies/refusal.hpp"

namespace orrery::strategies {

using kernels::Gemm;
using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;

void check_low_rank(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    constexpr const char *key = "/strategy/compression", *of_rank = "/strategy/powersgd_rank";
    if (strategy.compression != Compression::powersgd) {
        if (strategy.powersgd_rank != Strategy{}.powersgd_rank)
            refuse(of_rank, fmt::format("{}, but gradients have no factors", strategy.powersgd_rank),
                   "set compression to \"powersgd\", or leave it out", Source::origin_of_key);
        return;
    }
    if (strategy.data * strategy.context == 1)
        refuse(key, "powersgd, but one data rank has no other to exchange gradients with",
               "set data to 2 or more, or compression to \"none\"", Source::low_rank_gradients);
    if (strategy.sharding != Sharding::none)
        refuse("/strategy/sharding",
               fmt::format("{}, but powersgd is a hook of DDP, whose ranks all take whole gradients",
                           row_of(strategy.sharding).name),
               "set it to \"none\", or compression to \"none\"", Source::pytorch_powersgd);
    if (plan.model.experts > 0)
        refuse(key, "powersgd of experts, whose gradients fewer ranks sum than the rest",
               "take a dense model, or set it to \"none\"", Source::not_modelled);
    if (strategy.split_classes > 1)
        refuse(key, "powersgd of classes that ranks divide, whose gradients fewer ranks sum than the rest",
               "set it to \"none\", or split_classes to 1", Source::not_modelled);
    if (plan.training.lora_rank > 0)
        refuse(key, "powersgd of adapters, which are thin factors already",
               "set it to \"none\", or leave lora_rank out", Source::not_modelled);
    if (schedule_of(strategy.schedule).asynchronous)
        refuse(key, "powersgd, but what a step loses is added in the next, which here runs beside it",
               "set schedule to \"1f1b\", or compression to \"none\"", Source::not_modelled);
    constexpr std::uint32_t most_by_columns = 2;
    if (kernels::size_of(plan.training.precision.grad_reduce) == 4 && strategy.powersgd_rank > most_by_columns)
        refuse(of_rank,
               fmt::format("{} in fp32, which PyTorch makes orthogonal by torch.linalg.qr: its time is not known",
                           strategy.powersgd_rank),
               "set it to 1 or 2, or training.grad_reduce_precision to 16 bits", Source::pytorch_powersgd);
}

bool has_factors(const ParameterShape& shape, std::uint32_t rank) {
    constexpr std::uint64_t least_rate = 2;
    return shape.is_matrix() && (shape.rows + shape.cols) * rank * least_rate < shape.numbers();
}

std::uint64_t low_rank_bytes(const Plan& plan, const Stage& stage) {
    std::uint64_t numbers = 0;
    for (const auto& chunk : stage.chunks)
        for (const PlacedLayer& layer : chunk)
            for (const ParameterShape& shape : layer.blocks->shapes) {
                numbers += shape.numbers();
                if (has_factors(shape, plan.strategy.powersgd_rank))
                    numbers += (shape.rows + shape.cols) * plan.strategy.powersgd_rank;
            }
    return numbers * kernels::size_of(plan.training.precision.grad_reduce);
}

FactorExchange::FactorExchange(const Plan& plan, Builder& builder, Intern& intern)
    : group_(plan.data_group()),
      rank_(plan.strategy.powersgd_rank),
      dtype_(plan.training.precision.grad_reduce),
      builder_(builder),
      intern_(intern) {}

BufferId FactorExchange::kernel(std::string_view name, const kernels::Kernel& kernel, std::vector<BufferId> reads,
                                std::uint64_t left) {
    const BufferId made = builder_.buffer(left, Keep::scratch);
    builder_.emit(Lane::data, intern_.label(name, Phase::gradient), What{intern_.kernel(kernel)}, reads,
                  std::span(&made, 1));
    builder_.state({});
    return made;
}

BufferId FactorExchange::pass(std::string_view name, PointwiseKind kind, std::uint64_t numbers, BufferId read) {
    return kernel(name, Pointwise{kind, dtype_, 1, numbers}, {read});
}

BufferId FactorExchange::reduce(std::string_view name, std::uint64_t numbers, BufferId sent) {
    const BufferId received = builder_.buffer(0, Keep::scratch);
    builder_.emit(Lane::data, intern_.label(name, Phase::gradient),
                  Collective{kernels::CollectiveKind::all_reduce, group_, numbers * kernels::size_of(dtype_)}, {sent},
                  {received});
    builder_.state({});
    return received;
}

/// Each column over its norm; then from the columns behind it what they have of it: a product, its sums, these times
/// the column, and the difference.
BufferId FactorExchange::orthogonal(std::uint64_t rows, BufferId at) {
    for (std::uint32_t column = 0; column < rank_; ++column) {
        at = pass("orthogonalize factors", PointwiseKind::sum_of_squares, rows, at);
        at = pass("orthogonalize factors", PointwiseKind::scale, rows, at);
        const std::uint64_t rest = rows * (rank_ - 1 - column);
        if (rest == 0) continue;
        at = pass("orthogonalize factors", PointwiseKind::scale, rest, at);
        at = pass("orthogonalize factors", PointwiseKind::sum_of_squares, rest, at);
        at = pass("orthogonalize factors", PointwiseKind::scale, rest, at);
        at = pass("orthogonalize factors", PointwiseKind::add, rest, at);
    }
    return at;
}

/// Vectors are joined, summed, divided, and copied to where they were.
BufferId FactorExchange::plain(std::uint64_t numbers, BufferId at) {
    at = pass("join vectors", PointwiseKind::scale, numbers, at);
    at = reduce("gradient reduction", numbers, at);
    at = pass("mean of vectors", PointwiseKind::scale, numbers, at);
    return pass("mean of vectors", PointwiseKind::scale, numbers, at);
}

BufferId FactorExchange::factors(std::span<const ParameterShape> parameters, BufferId at) {
    std::uint64_t left = 0, right = 0;  // numbers of all P and all Q
    const auto each = [&](const auto& work) {
        for (const ParameterShape& shape : parameters)
            if (has_factors(shape, rank_)) work(shape);
    };
    const auto product = [&](const char* name, std::uint64_t m, std::uint64_t n, std::uint64_t k, GemmPass by) {
        at = kernel(name,
                    Gemm{.dtype = dtype_,
                         .m = static_cast<std::uint32_t>(m),
                         .n = static_cast<std::uint32_t>(n),
                         .k = static_cast<std::uint32_t>(k),
                         .pass = by},
                    {at});
    };
    each([&](const ParameterShape& shape) {
        left += shape.rows * rank_;
        right += shape.cols * rank_;
        at = orthogonal(shape.cols, at);
        product("left factor", shape.rows, rank_, shape.cols, GemmPass::data_gradient);
    });
    if (left == 0) return at;
    at = reduce("exchange factors", left, at);
    each([&](const ParameterShape& shape) {
        at = orthogonal(shape.rows, at);
        product("right factor", shape.cols, rank_, shape.rows, GemmPass::weight_gradient);
    });
    at = reduce("exchange factors", right, at);
    at = pass("mean of factors", PointwiseKind::scale, right, at);
    each([&](const ParameterShape& shape) {
        product("approximate gradients", shape.rows, shape.cols, rank_, GemmPass::forward);
    });
    return at;
}

BufferId FactorExchange::write(std::span<const ParameterShape> parameters, BufferId summed) {
    std::uint64_t numbers = 0, vectors = 0;
    for (const ParameterShape& shape : parameters) {
        numbers += shape.numbers();
        if (!has_factors(shape, rank_)) vectors += shape.numbers();
    }
    if (numbers == 0) return summed;
    BufferId at = pass("add what was lost", PointwiseKind::add, numbers, summed);
    const BufferId copy = kernel("copy of gradients", Pointwise{PointwiseKind::scale, dtype_, 1, numbers}, {at},
                                 numbers * kernels::size_of(dtype_));
    if (vectors > 0) at = plain(vectors, at);
    at = factors(parameters, at);
    return kernel("what is lost", Pointwise{PointwiseKind::add, dtype_, 1, numbers}, {at, copy});
}

}  // namespace orrery::strategies
