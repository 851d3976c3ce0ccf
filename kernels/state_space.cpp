#include <fmt/format.h>

#include <array>

#include "base/error.hpp"
#include "kernels/kind_table.hpp"
#include "kernels/state_space_work.hpp"

namespace orrery::kernels {

namespace {

/// Operations in units of: what C B^T takes, tokens x chunk x groups x state; what goes through states, tokens x heads
/// x head_dim x state; and what stays within chunks, tokens x chunk x heads x head_dim, of which each token meets those
/// before it, half.
struct Products {
    double of_groups = 0, through_states = 0, within_chunks = 0;
};

/// Passes over: what is scanned (tokens x heads x head_dim), what writes or reads states (tokens x groups x state),
/// steps and decays of heads (tokens x heads, fp32), states before or behind each chunk and C B^T (tokens x chunk x
/// groups), these two in the operands' format and in fp32.
struct Passes {
    double scanned = 0, projected = 0, decays = 0, states = 0, states_fp32 = 0, product = 0, product_fp32 = 0;
};

struct Entry {
    StateSpaceKind kind;
    std::string_view name;
    Products products;
    Passes passes;
};

using enum StateSpaceKind;

// mamba_ssm, ops/triton/ssd_combined.py: _mamba_chunk_scan_combined_fwd and _mamba_chunk_scan_combined_bwd, one line a
// kernel that they launch. In the comments operands -> results; a is the decay of each head and token, S the states.
constexpr std::array<Entry, state_space_kinds> table{{
    {convolution, "causal-convolution", {}, {2, 4, 0, 0, 0, 0, 0}},                    // x B C -> x B C
    {convolution_backward, "causal-convolution-backward", {}, {3, 6, 0, 0, 0, 0, 0}},  // x B C, dx dB dC -> dx dB dC
    {decay, "chunk-decay", {}, {0, 0, 2.5, 0, 0, 0, 0}},                               // dt -> dt, a
    {decay_backward, "chunk-decay-backward", {}, {0, 0, 3, 0, 0, 0, 0}},               // da, ddt, dt -> ddt
    {chunk_product, "chunk-product", {2, 0, 0}, {0, 2, 0, 0, 0, 0, 1}},                // C B -> C B^T
    {chunk_states, "chunk-states", {0, 2, 0}, {1, 1, 2, 0, 1, 0, 0}},                  // B x dt a -> S
    {state_passing, "state-passing", {}, {0, 0, 0, 1, 1, 0, 0}},                       // S -> S, rounded
    {state_passing_backward, "state-passing-backward", {}, {0, 0, 0, 3, 1, 0, 0}},     // S, dS -> dS, S
    {chunk_scan, "chunk-scan", {0, 2, 1}, {4, 1, 2, 1, 0, 0, 1}},              // C B^T, x z C dt a S -> y, y gated
    {gate_gradient, "gate-gradient", {}, {6, 0, 0, 0, 0, 0, 0}},               // x z y dy -> dz, dy
    {state_gradient, "state-gradient", {0, 2, 0}, {1, 1, 1, 0, 1, 0, 0}},      // C a dy -> dS
    {input_gradient, "input-gradient", {0, 2, 1}, {3, 1, 3, 1, 0, 0, 1}},      // x dy B C B^T dS dt a -> dx ddt
    {b_gradient, "b-gradient", {0, 2, 0}, {1, 2, 3, 1, 0, 0, 0}},              // x dt a dS B -> dB da
    {c_gradient, "c-gradient", {0, 2, 0}, {1, 2, 2, 1, 0, 0, 0}},              // S a dy C -> dC da
    {product_gradient, "product-gradient", {0, 0, 1}, {2, 0, 2, 0, 0, 0, 1}},  // x dy dt a -> d(C B^T)
    {product_backward, "product-backward", {2, 0, 0}, {0, 3, 0, 0, 0, 0, 1}},  // d(C B^T), C, dB -> dB; or B, dC -> dC
    {decay_gradient, "decay-gradient", {0, 0, 1}, {2, 0, 3, 0, 0, 0, 1}},      // x dy dt a, C B^T -> da
}};

static_assert(by_kind(table), "the table follows the order of StateSpaceKind");

const Entry& entry(StateSpaceKind kind) { return table[static_cast<std::size_t>(kind)]; }

double tokens(const StateSpace& k) { return double{1} * k.batch * k.seq; }

}  // namespace

bool convolves(StateSpaceKind kind) { return kind == convolution || kind == convolution_backward; }

std::string_view name(StateSpaceKind kind) { return entry(kind).name; }

StateSpaceKind state_space_from(std::string_view text) {
    for (const Entry& row : table)
        if (row.name == text) return row.kind;
    throw Error(fmt::format("unknown kernel of a state-space scan \"{}\"", text),
                "kernels/state_space.cpp lists the names");
}

double flops_of(const StateSpace& k) {
    const Products& products = entry(k.kind).products;
    const double inner = double{1} * k.heads * k.head_dim;
    return tokens(k) * (products.of_groups * k.chunk * k.groups * k.state + products.through_states * inner * k.state +
                        products.within_chunks * k.chunk * inner);
}

double bytes_of(const StateSpace& k) {
    const Passes& passes = entry(k.kind).passes;
    const double element = size_of(k.dtype), inner = double{1} * k.heads * k.head_dim;
    const double rows = tokens(k) * (element * (passes.scanned * inner + passes.projected * k.groups * k.state) +
                                     4 * passes.decays * k.heads);
    if (convolves(k.kind)) return rows;
    const double chunks = double{1} * k.batch * ((k.seq + k.chunk - 1) / k.chunk);
    const double states = chunks * inner * k.state, product = tokens(k) * k.chunk * k.groups;
    return rows + states * (passes.states * element + passes.states_fp32 * 4) +
           product * (passes.product * element + passes.product_fp32 * 4);
}

}  // namespace orrery::kernels
