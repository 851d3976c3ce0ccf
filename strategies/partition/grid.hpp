// Operators on one rank of a grid of tensor ranks (tensor_grid.hpp). Attention, activations, rotations, residual sums
// and the loss are those of whole widths over the rank's own tokens and columns; here are those whose ranks send each
// other blocks, as Colossal-AI's layers do (colossalai/legacy/nn/layer/parallel_2d, parallel_2p5d, parallel_3d).
// Priced, not executed.
#pragma once

#include <string>
#include <vector>

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

/// False: the operator is no such one, or there is no grid.
bool shard_in_grid(LayerStream& stream, const models::Operator& op);

/// Products of blocks: SUMMA's steps, or of a cube one.
void shard_summa(LayerStream& stream, const models::Linear& op);
void shard_cube_linear(LayerStream& stream, const models::Linear& op);
void shard_grid_norm(LayerStream& stream, const models::Norm& op);
void shard_grid_embedding(LayerStream& stream, const models::Embedding& op);

/// A block of a matrix.
struct Block {
    std::uint64_t rows = 0, columns = 0;
    [[nodiscard]] std::uint64_t elements() const { return rows * columns; }
};

struct WorkFlags {
    std::uint8_t raises = 0, needs = 0;
    bool of_weights = false;
};

/// A collective of so many bytes (nccl-tests' size) among tensor ranks along some axes; nothing where they are one.
/// Those that raise a flag run beside what follows where the plan says so (async_tensor_allreduce).
void add_among(std::vector<Work>& list, const LayerStream& stream, std::string name, const LayerCollective& collective,
               WorkFlags flags = {});

/// C[m, n] = A[m, k] B[k, n] of blocks, in the format that products are in.
kernels::Gemm block_product(const LayerStream& stream, std::uint64_t m, std::uint64_t n, std::uint64_t k,
                            kernels::GemmPass pass);

/// A linear layer's columns on one rank, of its input and of its output.
Block columns_of(const LayerStream& stream, const models::Linear& op);

/// Declares a linear layer's parameters: a block of its weight [outputs, inputs], and so many numbers of its bias.
void declare_linear(LayerStream& stream, const models::Linear& op, Block weight, std::uint64_t bias, Piece& piece);

/// What the next operator finds behind a linear layer.
void leave_output(LayerStream& stream, const models::Linear& op);

/// The gradient of a weight's block is added to its sum by a kernel of its own, once the ranks have it together.
void add_accumulation(std::vector<Work>& list, const LayerStream& stream, const models::Linear& op, Block weight,
                      std::uint8_t needs);

}  // namespace orrery::strategies
