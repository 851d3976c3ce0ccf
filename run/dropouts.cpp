#include "run/dropouts.hpp"

#include <algorithm>
#include <stdexcept>

#include "run/own_slices.hpp"

namespace orrery::run {

namespace {

using kernels::DropoutMask;

/// Of the global batch, the first sequence of a micro-batch of a step.
std::uint64_t first_sequence(const Place& place, std::uint32_t micro_batch) {
    return OwnSlices(place.plan, place.data())[micro_batch] * place.plan.training.micro_batch;
}

/// One part for each run of consecutive positions.
std::vector<DroppedRows> of_residual(const Place& place, const kernels::Pointwise& kernel, std::uint64_t sequence,
                                     DropoutMask mask) {
    const std::uint64_t held = place.plan.rank_seq(), seq = held * place.plan.strategy.context;
    const std::uint64_t run = place.plan.strategy.context > 1 ? held / 2 : held * place.plan.training.micro_batch;
    std::vector<DroppedRows> parts;
    for (std::uint64_t row = 0; row < kernel.rows;) {
        const std::uint64_t token = place.first_residual_token() + row;
        const std::uint64_t count = std::min(run - token % run, kernel.rows - row);
        const std::uint64_t global = (sequence + token / held) * seq + place.position_of(token % held);
        mask.first = global * kernel.cols;
        parts.push_back({row, count, mask});
        row += count;
    }
    return parts;
}

/// A tensor rank has its own heads of each sequence.
DropoutMask of_scores(const Place& place, std::uint64_t sequence, std::uint64_t queries, std::uint64_t keys,
                      DropoutMask mask) {
    const std::uint64_t heads = place.plan.model.heads, own = heads / place.plan.strategy.tensor;
    const std::uint64_t head = queries * keys;
    mask.first = (sequence * heads + place.tensor() * own) * head;
    mask.run = own * head;
    mask.stride = heads * head;
    return mask;
}

}  // namespace

std::vector<DroppedRows> dropped_rows(const Place& place, const DropoutCall& call, const kernels::Kernel& kernel,
                                      std::uint64_t seed) {
    const std::uint32_t of_step = place.plan.micro_batches();
    DropoutMask mask{.probability = place.plan.model.dropout,
                     .seed = seed,
                     .step = call.micro_batch / of_step,
                     .site = dropout_site(call.layer, call.site.number)};
    const std::uint64_t sequence = first_sequence(place, call.micro_batch % of_step);
    if (const auto* attention = std::get_if<kernels::Attention>(&kernel)) {
        const std::uint64_t document = sequence * place.plan.training.documents();
        return {{0, 0, of_scores(place, document, attention->seq, attention->keys(), mask)}};
    }
    const auto* pointwise = std::get_if<kernels::Pointwise>(&kernel);
    if (pointwise == nullptr) throw std::logic_error("no kernel that drops");
    if (call.site.of == strategies::DropoutSite::Of::residual) return of_residual(place, *pointwise, sequence, mask);
    return {{0, pointwise->rows, of_scores(place, sequence, place.plan.rank_seq(), pointwise->cols, mask)}};
}

}  // namespace orrery::run
