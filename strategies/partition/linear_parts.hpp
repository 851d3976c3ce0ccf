// The parts of a linear layer's outputs, such as queries, keys and values, and its product among its works.
#pragma once

#include <cstdint>
#include <vector>

#include "models/operators.hpp"
#include "strategies/partition/sharder.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Of latent attention: the product that leaves what all heads' queries, keys and values are made of, and the one that
/// makes keys and values of it.
bool is_latent(const models::Linear& op);
bool makes_keys(const models::Linear& op);

/// Their sizes, over all tensor ranks.
std::vector<std::uint64_t> output_parts(const models::Linear& op, const Plan& plan);

/// Its weight as [outputs, inputs], and its bias. held: not by another layer of this rank.
Parameter weight_of(const models::Linear& op, const Plan& plan, bool held);
Parameter bias_of(const models::Linear& op, const Plan& plan);

/// A linear layer's product itself, among casts and collectives; backward: that of its input's gradient. The end where
/// there is none.
std::vector<Work>::iterator product_in(std::vector<Work>& works, bool backward);

/// Whether tensor ranks divide a width of that name.
constexpr bool split_by_tensor(models::Dim dim) {
    using models::Dim;
    return dim != Dim::hidden && dim != Dim::latent && dim != Dim::classes;
}

/// Whether a rank casts what it has of a sequence, which is then gathered narrow: Transformer Engine
/// (gather_along_first_dim), and torchao with one scale a tensor (float8_tensor_parallel.py), for which PyTorch's own
/// layers stand.
bool casts_before_gather(const Training& training);

/// Whether the kernel behind a linear layer adds its bias: a GELU, or the dropout of a residual connection.
bool next_adds_bias(const LayerStream& stream);

}  // namespace orrery::strategies
