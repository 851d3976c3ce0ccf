// One training step of a model as operators with named dimensions, unsharded and without micro-batches:
// strategies/ decides who computes which part.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/model_spec.hpp"

namespace orrery::models {

/// A named width of a tensor besides tokens. Partitioning splits widths by name.
enum class Dim : std::uint8_t {
    hidden,     ///< the residual stream
    qkv,        ///< queries, keys and values, interleaved by key-value head
    attention,  ///< heads x head_dim: the attention core's output
    ffn,        ///< the MLP's inner width (both halves when gated)
    vocab,
};

/// y[tokens, out] = x[tokens, in] W[in, out] + b
struct Linear {
    std::string name;
    Dim in = Dim::hidden, out = Dim::hidden;
    std::uint64_t in_features = 0, out_features = 0;
    bool bias = true;
    bool shares_embedding = false;  ///< the logits' weight is the word embedding: no parameters of its own
};

/// Row lookup for word (and learned position, and token-type) embeddings, summed, with dropout.
struct Embedding {
    std::uint64_t vocab = 0, hidden = 0, positions = 0, token_types = 0;
    bool dropout = false;
};

struct Norm {
    std::string name;
    NormKind kind = NormKind::layernorm;
    std::uint64_t width = 0;
    bool begins_branch = false;  ///< its input is also the residual that the next ResidualAdd takes
};

/// Rotation of queries and keys; heads counts both. A partial rotation (GPT-NeoX turns a quarter of each
/// head) reads and writes whole heads all the same.
struct Rope {
    std::uint64_t heads = 0, head_dim = 0;
    bool norm = false;  ///< Qwen3: RMS norm over each head first; two weights of head_dim (queries, keys)
};

/// softmax(Q K^T / sqrt(d)) V; whether it runs fused is the strategy's choice.
struct AttentionCore {
    std::uint64_t heads = 0, kv_heads = 0, head_dim = 0;
    bool causal = true, dropout = false;
};

/// GELU with its bias, or SwiGLU; width counts the outputs.
struct Activation {
    bool gated = false;
    std::uint64_t width = 0;
};

/// residual + dropout(x + bias). Closes a branch: every Linear whose output is still partial is summed here.
struct ResidualAdd {
    std::uint64_t width = 0;
    bool bias = true, dropout = false;
};

/// A router and the MLPs among which it sends each token to `top_k`; their results, weighted, are summed per token.
struct Experts {
    std::uint64_t experts = 0, top_k = 0, hidden = 0;
    std::uint64_t ffn = 0;  ///< of one expert
    bool gated = false, bias = true;
    bool adds_shared = false;  ///< the result of an MLP that every token takes (the Linears before it) is added
};

/// Cross entropy over the vocabulary.
struct Loss {
    std::uint64_t vocab = 0;
};

using Operator = std::variant<Linear, Embedding, Norm, Rope, AttentionCore, Activation, Experts, ResidualAdd, Loss>;

/// A run of operators that is placed on one pipeline stage as a whole.
struct Layer {
    std::string name;
    std::vector<Operator> operators;
};

struct Model {
    ModelSpec spec;
    Layer embedding;  ///< first stage
    Layer block;      ///< a layer without experts
    Layer moe_block;  ///< a layer with experts (ModelSpec::has_experts); empty in a dense model
    Layer head;       ///< last stage: final norm, logits, loss
};

/// The operators of a checked spec (validate() passed).
Model build(const ModelSpec& spec);

/// Throws Error (pointer = the JSON key under "/model") when the spec contradicts itself: heads not a
/// multiple of kv_heads, a zero width, ...
void validate(const ModelSpec& spec);

/// Throws Error at `pointer` when the model cannot take sequences of `seq` tokens: none, more than its table of
/// positions holds, or more than its attention window (attention within a window is not modelled).
void validate_sequence(const ModelSpec& spec, std::uint64_t seq, const std::string& pointer);

/// Parameters of one operator, of a layer, of the whole model (tied logits counted once).
std::uint64_t parameters(const Operator& op);
std::uint64_t parameters(const Layer& layer);
std::uint64_t parameters(const Model& model);

/// Of these, those that one token meets: top_k of the experts of each layer ("12.9B of 46.7B").
std::uint64_t active_parameters(const Model& model);

/// Model floating-point operations of one training step on `sequences` sequences of `seq` tokens: forward
/// plus backward (three times the forward), no recomputation, attention over the full square as in
/// Megatron-LM's formula (SC'21, equation 3: 72 B s l h^2 (1 + s/6h + V/12lh) for plain GPT). Of experts those
/// that a token is sent to count. This is the numerator of MFU.
double model_flops(const Model& model, std::uint64_t sequences, std::uint64_t seq);

/// The same with the forward pass of every block counted once more: the numerator of HFU under full recomputation
/// (SC'21 equation 3 itself: 96 B s l h^2 (1 + s/6h + V/16lh)).
double hardware_flops_full_recompute(const Model& model, std::uint64_t sequences, std::uint64_t seq);

}  // namespace orrery::models
