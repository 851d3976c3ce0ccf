#include "strategies/partition/batch_first.hpp"

#include "strategies/compiled.hpp"

namespace orrery::strategies {

namespace {

using kernels::PointwiseKind;

bool ends_in_pointwise(const std::vector<Work>& list) {
    const auto* kernel = list.empty() ? nullptr : std::get_if<kernels::Kernel>(&list.back().what);
    return kernel != nullptr && std::holds_alternative<kernels::Pointwise>(*kernel);
}

}  // namespace

void order_gathered(const LayerStream& stream, std::vector<Work>& list, std::uint64_t width) {
    if (!stream.plan.strategy.batch_first || stream.plan.training.micro_batch == 1) return;
    const Work& gather = list.back();
    list.push_back({.name = "order sequences",
                    .what = stream.pointwise(PointwiseKind::transpose, stream.tokens, width),
                    .needs = gather.raises,
                    .of_weights = gather.of_weights});
}

void order_scattered(const LayerStream& stream, std::vector<Work>& list, std::uint64_t width) {
    if (!stream.plan.strategy.batch_first) return;
    if (is_compiled(stream.plan.training) && ends_in_pointwise(list)) return;
    list.push_back({.name = "order ranks", .what = stream.pointwise(PointwiseKind::transpose, stream.tokens, width)});
}

}  // namespace orrery::strategies
