#include "strategies/partition/overlapped.hpp"

#include "strategies/tensor_overlap.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Gemm;
using models::Dim;

bool divided(Dim dim) { return dim == Dim::qkv || dim == Dim::attention || dim == Dim::ffn || dim == Dim::mixer; }

Gemm part_of(const Gemm& all, std::uint32_t parts) {
    Gemm part = all;
    part.m /= parts;
    return part;
}

}  // namespace

bool overlaps_collectives(const LayerStream& stream, const models::Linear& op) {
    if (!stream.plan.strategy.tensor_comm_overlap || stream.tensor == 1) return false;
    const models::ModelSpec& spec = stream.plan.model;
    if (spec.parallel_residual && op.in == Dim::attention) return false;  // summed with the MLP's
    if (spec.kv_lora_rank > 0 && op.out == Dim::qkv) return false;
    return divided(op.in) || divided(op.out);
}

/// Exchanges stand on a lane of their own and wait for nothing but each other, as far ahead as there are flags to wait
/// for them (comm_gemm_overlap.cpp, split_overlap_ag: streams to send and to receive on).
void add_ring_product(std::vector<Work>& list, const Product& product, std::uint64_t width) {
    const std::uint32_t ahead = pulls_parts(product.stream.plan) ? 2 : 8;
    const std::uint32_t ranks = product.stream.tensor;
    const std::uint64_t bytes =
        product.stream.tokens / ranks * width * gathered_bytes(product.stream.plan.training.precision);
    const auto flag = [&](std::uint32_t k) { return static_cast<std::uint8_t>(1U << ((k - 1) % ahead)); };
    const auto pass_on = [&](std::uint32_t k) {
        if (k < ranks)
            list.push_back({.name = product.name + " pass on",
                            .what = LayerCollective{CollectiveKind::send_recv, bytes},
                            .raises = flag(k),
                            .looped = true});
    };
    for (std::uint32_t k = 1; k <= ahead; ++k) pass_on(k);
    for (std::uint32_t k = 0; k < ranks; ++k) {
        Work part{.name = product.name, .what = part_of(product.all, ranks), .looped = k > 0};
        if (k > 0) part.needs = flag(k);
        list.push_back(std::move(part));
        if (k > 0) pass_on(k + ahead);
    }
}

void add_scattered_product(std::vector<Work>& list, const Product& product, std::uint64_t width) {
    const std::uint64_t bytes = product.stream.tokens / scattered_parts * width * product.stream.bytes;
    Gemm part = part_of(product.all, scattered_parts);
    part.spared = spared_multiprocessors;
    std::uint8_t running = 0;
    for (std::uint32_t k = 0; k < scattered_parts; ++k) {
        list.push_back({.name = product.name, .what = part, .looped = k > 0});
        Work scatter{.name = product.name + " reduce",
                     .what = LayerCollective{CollectiveKind::reduce_scatter, bytes},
                     .looped = true};
        const bool last = k + 1 == scattered_parts;
        if (last)
            scatter.needs = running;
        else
            running |= scatter.raises = static_cast<std::uint8_t>(1U << k);
        list.push_back(std::move(scatter));
    }
}

void add_pulled_sums(std::vector<Work>& list, const Product& product, std::uint64_t width) {
    const LayerStream& stream = product.stream;
    const std::uint32_t ranks = stream.tensor;
    const auto flag = [](std::uint32_t k) { return static_cast<std::uint8_t>(1U << (k % 2)); };
    for (std::uint32_t k = 1; k <= ranks; ++k) {  // a rank's own last
        Work part{.name = product.name, .what = part_of(product.all, ranks), .looped = k > 1};
        if (k > 2) part.needs = flag(k);  // of the buffer that it writes
        list.push_back(std::move(part));
        if (k == ranks) break;
        list.push_back(
            {.name = product.name + " pull",
             .what = LayerCollective{CollectiveKind::send_recv, stream.tokens / ranks * width * stream.bytes},
             .raises = flag(k),
             .looped = true});
    }
    // Reads all tokens' terms, and writes a rank's own: a copy reads as much as it writes.
    const std::uint64_t moved = (stream.tokens + stream.tokens / ranks) / 2;
    list.push_back({.name = product.name + " sum",
                    .what = stream.pointwise(kernels::PointwiseKind::scale, moved, width),
                    .needs = static_cast<std::uint8_t>(flag(0) | flag(1)),
                    .looped = true});
}

void add_copy_to_buffer(std::vector<Work>& list, const LayerStream& stream, std::uint64_t width) {
    const std::uint64_t cols = width * gathered_bytes(stream.plan.training.precision) / stream.bytes;
    list.push_back({.name = "copy to buffer",
                    .what = stream.pointwise(kernels::PointwiseKind::scale, stream.residual_tokens, cols),
                    .looped = true});
}

void add_turned(std::vector<Work>& list, const LayerStream& stream, std::uint64_t rows, std::uint64_t cols,
                std::uint8_t needs) {
    const Training& training = stream.plan.training;
    if (!is_narrow(training.precision.compute) || training.fp8_recipe == Fp8Recipe::mxfp8) return;
    // A byte an element each way, as a 16-bit transpose of half as many.
    list.push_back({.name = "transpose fp8",
                    .what = stream.pointwise(kernels::PointwiseKind::transpose, rows, cols / 2),
                    .needs = needs,
                    .looped = true,
                    .of_weights = true});
}

}  // namespace orrery::strategies
