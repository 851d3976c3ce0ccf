#include "strategies/shared_sequences.hpp"

#include <stdexcept>
#include <string_view>

#include "strategies/contract.hpp"

namespace orrery::strategies {

namespace {

using kernels::Attention;
using kernels::Kernel;
using kernels::Pointwise;
using kernels::PointwiseKind;
using Step = SharedSequences::Step;

std::uint32_t keys_of(const SharedSequences& shared) {
    return shared.step == Step::gathered ? shared.seq * shared.ranks : shared.seq;
}

/// Of a ring's step: the keys are those of the rank `number` before, around the ring.
Meeting in_ring(const SharedSequences& shared, std::uint32_t rank) {
    const std::uint32_t all = shared.seq, half = shared.seq / 2;
    if (shared.number == 0 || !shared.causal) return {{0, all}, {0, all}, shared.causal};
    if (shared.number <= rank) return {{0, all}, {0, half}, false};
    return {{half, half}, {0, all}, false};
}

/// Part `number` of the queries stands at part r, or 2 C - 1 - r, of the sequence.
Meeting in_gathered(const SharedSequences& shared, std::uint32_t rank) {
    if (!shared.causal) return {{0, shared.seq}, {0, keys_of(shared)}, false};
    const std::uint32_t part = shared.seq / 2, place = shared.number == 0 ? rank : 2 * shared.ranks - 1 - rank;
    return {{shared.number * part, part}, {0, (place + 1) * part}, true};
}

/// The kernel over so many rows of `sequences` of them.
Kernel over(const Kernel& kernel, const SharedSequences& shared, const Meeting& rows, std::uint32_t sequences) {
    if (const auto* given = std::get_if<Attention>(&kernel)) {
        Attention attention = *given;
        attention.batch = sequences;
        attention.seq = rows.queries.count;
        attention.key_seq = rows.keys.count;
        attention.causal = rows.causal;
        attention.window = rows.causal && shared.window < rows.keys.count ? shared.window : 0;
        return attention;
    }
    auto pointwise = std::get<Pointwise>(kernel);
    const std::uint64_t tokens = shared.of_keys ? rows.keys.count : rows.queries.count;
    if (pointwise.kind ==
        PointwiseKind::log_add_exp) {  // priced over tokens and heads, of which lse lies the other way
        pointwise.rows = pointwise.cols * sequences;
        pointwise.cols = tokens;
    } else {
        pointwise.rows = tokens * sequences;
    }
    return pointwise;
}

/// Elements from one sequence to the next and from one token to the next.
struct Layout {
    std::uint64_t sequence, token;
    bool of_keys;
};

Layout layout_of_attention(const Attention& a, const Launch& launch, std::string_view operand) {
    const kernels::Settings& settings = launch.settings;
    const std::uint64_t wide = std::uint64_t{a.heads} * a.head_dim, narrow = std::uint64_t{a.kv_heads} * a.head_dim,
                        seq = launch.shared.seq;
    if (operand == "lse") return {a.heads * seq, 1, false};
    std::uint64_t token = wide;
    const bool of_queries = operand == "q" || operand == "dq", own = operand == "o" || operand == "do";
    if (of_queries && settings.row_stride != 0) token = settings.row_stride;
    if (operand == "dq" && settings.dq_stride != 0) token = settings.dq_stride;
    if (of_queries || own) return {token * seq, token, false};
    token = settings.key_stride != 0 ? settings.key_stride : settings.row_stride != 0 ? settings.row_stride : narrow;
    return {token * keys_of(launch.shared), token, true};
}

Layout layout_of(const Kernel& kernel, const Launch& launch, std::string_view operand) {
    if (const auto* attention = std::get_if<Attention>(&kernel))
        return layout_of_attention(*attention, launch, operand);
    const auto& p = std::get<Pointwise>(kernel);
    const SharedSequences& shared = launch.shared;
    const std::uint64_t seq = shared.of_keys ? keys_of(shared) : shared.seq;
    switch (p.kind) {
        case PointwiseKind::add: return {p.cols * seq, p.cols, shared.of_keys};
        case PointwiseKind::log_add_exp: return {p.cols * seq, 1, false};
        case PointwiseKind::softmax_merge:
            if (operand == "part" || operand == "whole") return {p.cols / launch.settings.head * seq, 1, false};
            return {p.cols * seq, p.cols, false};
        default: throw std::logic_error("no kernel of attention over shared sequences: " + kernels::to_text(kernel));
    }
}

}  // namespace

Meeting meeting(const SharedSequences& shared, std::uint32_t context_rank) {
    return shared.step == Step::gathered ? in_gathered(shared, context_rank) : in_ring(shared, context_rank);
}

Kernel over_all_rows(const Kernel& kernel, const SharedSequences& shared) {
    return over(kernel, shared, {{0, shared.seq}, {0, keys_of(shared)}, false}, shared.batch);
}

std::vector<SharedLaunch> shared_launches(const Kernel& kernel, const Launch& launch, std::uint32_t context_rank) {
    const SharedSequences& shared = launch.shared;
    const Meeting rows = meeting(shared, context_rank);
    const bool whole = rows.queries.count == shared.seq && rows.keys.count == keys_of(shared);
    const std::uint32_t sequences = whole ? 1 : shared.batch;
    const Kernel each = over(kernel, shared, rows, whole ? shared.batch : 1);
    const std::vector<kernels::Operand> operands = contract(each, launch);
    std::vector<SharedLaunch> launches;
    for (std::uint32_t sequence = 0; sequence < sequences; ++sequence) {
        SharedLaunch& next = launches.emplace_back(SharedLaunch{each, {}});
        for (const kernels::Operand& operand : operands) {
            const Layout layout = layout_of(kernel, launch, operand.name);
            const std::uint32_t first = layout.of_keys ? rows.keys.first : rows.queries.first;
            next.offsets.push_back(sequence * layout.sequence + first * layout.token);
        }
    }
    return launches;
}

}  // namespace orrery::strategies
