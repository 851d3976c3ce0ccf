// One training step of a model: a graph of layers, each a run of operators with named dimensions, unsharded and without
// micro-batches: strategies/ decides who computes which part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/model_spec.hpp"

namespace orrery::models {

/// A named width of a tensor besides tokens. Partitioning splits widths by name.
enum class Dim : std::uint8_t {
    hidden,     ///< the residual stream
    qkv,        ///< queries, keys and values, interleaved by key-value head
    latent,     ///< what queries, and keys and values, are made of in latent attention
    attention,  ///< heads x value_dim: the attention core's output
    ffn,        ///< the MLP's inner width (both halves when gated)
    mixer,      ///< a state-space mixer's inner width, with what goes beside it into its scan
    vocab,
    classes,  ///< of a classifier: as many as there are, where a vocabulary is padded
};

/// y[tokens, out] = x[tokens, in] W[in, out] + b
struct Linear {
    std::string name;
    Dim in = Dim::hidden, out = Dim::hidden;
    std::uint64_t in_features = 0, out_features = 0;
    bool bias = true;
    bool shares_embedding = false;  ///< the logits' weight is the word embedding: no parameters of its own
    bool second_input = false;      ///< reads the layer's second input: an encoder's output
    bool shares_input = false;      ///< its input is one that another linear layer keeps for its backward as well
    bool again = false;             ///< the weight is that of the model's last linear layer: no parameters of its own
};

/// Row lookup for word (and learned position, and token-type) embeddings, summed, with dropout.
struct Embedding {
    std::uint64_t vocab = 0, hidden = 0, positions = 0, token_types = 0;
    bool dropout = false;
    bool shared = false;  ///< the words are those of another embedding: no parameters of its own
    bool copied =
        false;  ///< the first look-up on the last stage, which holds its words where no other layer there does
};

/// Two tensors of `width` side by side.
struct Concatenation {
    std::uint64_t width = 0;
};

/// A bias for each head and bucket of distances, added to the scores of every layer of a stack (Raffel et al. 2020).
struct RelativePositions {
    std::uint64_t buckets = 0, heads = 0;
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
    bool norm = false;        ///< Qwen3: RMS norm over each head first; two weights of head_dim (queries, keys)
    bool norm_whole = false;  ///< OLMo 2: over all heads instead, of queries and of keys; weights as wide as both
};

/// softmax(Q K^T / sqrt(d)) V; whether it runs fused is the strategy's choice.
struct AttentionCore {
    std::uint64_t heads = 0, kv_heads = 0, head_dim = 0;
    std::uint64_t value_dim = 0;  ///< of a head's values and results; 0: head_dim
    std::uint64_t window = 0;     ///< tokens that a query sees; 0: all
    bool causal = true, dropout = false;
    bool cross = false;  ///< keys and values are of the layer's second input

    [[nodiscard]] std::uint64_t values() const { return value_dim > 0 ? value_dim : head_dim; }
};

/// GELU with its bias, ReLU, or of a gated MLP one of them times the other half; width counts the outputs.
struct Activation {
    bool gated = false;
    std::uint64_t width = 0;
    ActivationKind kind = ActivationKind::gelu;
};

/// residual + dropout(x + bias). Closes a branch: every Linear whose output is still partial is summed here.
struct ResidualAdd {
    std::uint64_t width = 0;
    bool bias = true, dropout = false;
};

/// A router and the MLPs among which it sends each token to `top_k`; their results, weighted, are summed per token.
struct Experts {
    std::uint64_t experts = 0, top_k = 0, hidden = 0;
    std::uint32_t groups = 1, top_groups = 1;  ///< as in Routing
    std::uint64_t ffn = 0;                     ///< of one expert
    bool gated = false, bias = true;
    bool adds_shared = false;   ///< the result of an MLP that every token takes (the Linears before it) is added
    bool gates_shared = false;  ///< each token's weighted by sigmoid(x w), w[hidden]
    ActivationKind activation = ActivationKind::gelu;
    std::uint64_t latent = 0;  ///< width to which tokens are brought before they leave for their experts; 0: hidden

    /// Of what the experts take and return.
    [[nodiscard]] std::uint64_t width() const { return latent > 0 ? latent : hidden; }
    [[nodiscard]] Routing routing() const {
        return {static_cast<std::uint32_t>(experts), static_cast<std::uint32_t>(top_k), groups, top_groups};
    }
};

/// What a state-space layer computes between its two products (Mamba-2, Dao and Gu 2024, arXiv:2405.21060): a causal
/// convolution of each channel with SiLU, the scan in chunks with its gate, and an RMS norm over each group.
struct StateMixer {
    MambaSpec shape;
};

/// Cross entropy over the vocabulary.
struct Loss {
    std::uint64_t vocab = 0;
    Dim dim = Dim::vocab;  ///< or classes
};

/// One image in the network: channels last in memory.
struct Image {
    std::uint64_t channels = 0, rows = 0, columns = 0;
    [[nodiscard]] std::uint64_t elements() const { return channels * rows * columns; }
    bool operator==(const Image&) const = default;
};

/// Square patches of an image, each a token: a product over its pixels. Before them a learned token that stands for the
/// whole image, and to all of them learned positions are added (Dosovitskiy et al. 2020, arXiv:2010.11929, equation 1).
struct PatchEmbedding {
    Image image;
    std::uint64_t patch = 0, hidden = 0;
    bool bias = true, dropout = false;
    [[nodiscard]] std::uint64_t patches() const { return (image.rows / patch) * (image.columns / patch); }
    [[nodiscard]] std::uint64_t pixels() const { return image.channels * patch * patch; }  ///< numbers of a patch
};

/// Of each example one token, whose vector stands for all of them: an image's first, a text's last.
struct PickToken {
    std::uint64_t width = 0;
};

/// Images and texts of a batch against each other: vectors of unit length, each image's product with every text of all
/// data ranks and each text's with every image, times a learned scale, and the cross entropy of either that finds its
/// own (Radford et al. 2021, arXiv:2103.00020, figure 3). Takes the layer's two inputs.
struct ContrastiveLoss {
    std::uint64_t width = 0;
};

/// A square kernel over an image. Without bias where a batch norm follows.
struct Convolution {
    std::string name;
    Image in;
    std::uint64_t outputs = 0, kernel = 1, stride = 1, padding = 0;
    bool reads_data = false;     ///< its input is the data: nobody takes its gradient
    bool begins_branch = false;  ///< its input goes another way too: the gradients of both are summed here
    bool shares_input = false;   ///< its input is one that another convolution keeps for its backward as well
    bool bias = false;
    [[nodiscard]] Image out() const {
        return {outputs, (in.rows + 2 * padding - kernel) / stride + 1,
                (in.columns + 2 * padding - kernel) / stride + 1};
    }
};

struct BatchNorm {
    std::string name;
    Image shape;
};

/// max(x, 0), where it stands: what takes its output keeps it, and that is what its own backward needs.
struct Relu {
    Image shape;
};

/// The largest value of each window, or (kernel 0) the mean of each channel over the whole image.
struct Pooling {
    Image in;
    std::uint64_t kernel = 0, stride = 1, padding = 0;
};

/// The sum of a layer's two inputs: where a branch and what went around it meet.
struct Join {
    Image shape;
};

/// Zeros at random places.
struct Dropout {
    std::uint64_t width = 0;
    bool keeps_input = false;  ///< the activation before it needs what it left
};

/// Transformer-XL's attention (Dai et al. 2019, arXiv:1901.02860, section 3) up to what is projected back: queries,
/// keys and values of a segment and, without gradients, of those before it (`memory` tokens); keys of every distance,
/// made of sinusoids; scores of both, each with a bias of its own, and what they weigh.
struct RecurrentAttention {
    std::uint64_t hidden = 0, heads = 0, head_dim = 0;
    std::uint64_t memory = 0;
    bool dropout = false;      ///< of what values are weighed by
    bool owns_biases = false;  ///< the two biases are one pair for all layers: counted in the first
    [[nodiscard]] std::uint64_t width() const { return heads * head_dim; }
};

/// Words [first, end) of a vocabulary in order of frequency, of embeddings of their own width.
struct WordCluster {
    std::uint64_t first = 0, end = 0, width = 0;
    double share = 0;  ///< of a text's tokens
    [[nodiscard]] std::uint64_t words() const { return end - first; }
};

/// Adaptive input (Baevski and Auli 2018, arXiv:1809.10853): words looked up in their cluster's table, and brought to
/// the hidden width. One cluster of all words where all are of that width.
struct AdaptiveEmbedding {
    std::vector<WordCluster> clusters{};
    std::uint64_t hidden = 0;
    bool dropout = false;
};

/// Adaptive softmax (Grave et al. 2017, arXiv:1609.04309): over the first cluster's words and one class for each other
/// cluster, and over a cluster's words for the tokens that are among them. Words' tables are the embedding's; so are
/// projections, but the first cluster's.
struct AdaptiveLoss {
    std::vector<WordCluster> clusters{};
    std::uint64_t hidden = 0;
    bool one_table = false;  ///< all clusters' words are rows of one table, of the hidden width
};

using Operator =
    std::variant<Linear, Embedding, RelativePositions, Norm, Rope, AttentionCore, Activation, Experts, StateMixer,
                 ResidualAdd, Loss, Convolution, BatchNorm, Relu, Pooling, Join, Dropout, RecurrentAttention,
                 AdaptiveEmbedding, AdaptiveLoss, Concatenation, PatchEmbedding, PickToken, ContrastiveLoss>;

/// What one example (a sequence or an image) is between layers. Tokens: one vector of `width` for each of a sequence's.
struct Tokens {
    std::uint64_t width = 0;
    Sequence sequence = Sequence::only;
    bool operator==(const Tokens&) const = default;
};
using Shape = std::variant<Tokens, Image>;

/// Where in the network a layer stands, which decides what a strategy may do with it.
enum class Part : std::uint8_t {
    input,    ///< reads the data; first stage
    body,     ///< divided among stages and chunks; may be recomputed or offloaded
    further,  ///< predicts tokens behind the next one; last stage, may be recomputed
    output,   ///< ends in the loss; last stage
};

/// A type of layer: a run of operators that is placed on one pipeline stage as a whole.
struct Layer {
    std::string name;
    std::vector<Operator> operators{};
    Part part = Part::body;
    std::vector<Shape> inputs{};  ///< of the layers before it, in order; none: the data
    Shape output = Tokens{};      ///< of the loss a single number: Tokens{1}
    bool in_16_bits = false;      ///< its products are, where a plan has others in narrower formats
    bool frozen = false;          ///< not trained, nor is anything before it: it has no backward
};

/// One use of a type of layer.
struct Node {
    std::uint32_t layer = 0;              ///< in Model::layers
    std::vector<std::uint32_t> inputs{};  ///< nodes whose outputs it takes, in the order of Layer::inputs
    bool operator==(const Node&) const = default;
};

/// Layers that are alike are one type, written once. Nodes stand in an order in which each comes behind its inputs: as
/// they run forward, and as stages divide them.
struct Model {
    ModelSpec spec;
    std::vector<Layer> layers;
    std::vector<Node> nodes;

    /// Throws std::logic_error when the model has no such type.
    [[nodiscard]] const Layer& layer(std::string_view name) const;
    /// How many nodes are of a type.
    [[nodiscard]] std::vector<std::uint64_t> uses() const;
};

/// The graph of a checked spec (validate() passed).
Model build(const ModelSpec& spec);

/// Throws std::logic_error unless every node takes outputs of earlier nodes, of the shapes that its layer says, the
/// parts follow each other, and every node's output but the last's is taken.
void check_graph(const Model& model);

/// Throws Error (pointer = the JSON key under "/model") when the spec contradicts itself: heads not a
/// multiple of kv_heads, a zero width, ...
void validate(const ModelSpec& spec);

/// Throws Error at `pointer` when the model cannot take sequences of `seq` tokens: none, more than its table of
/// positions holds, or another number than an image has.
void validate_sequence(const ModelSpec& spec, std::uint64_t seq, const std::string& pointer);

/// Parameters of one operator, of a layer, of the whole model (tied logits counted once).
std::uint64_t parameters(const Operator& op);
std::uint64_t parameters(const Layer& layer);
std::uint64_t parameters(const Model& model);

/// Of these, those that one token meets: top_k of the experts of each layer ("12.9B of 46.7B").
std::uint64_t active_parameters(const Model& model);

/// Model floating-point operations of one training step on `sequences` sequences of `seq` tokens (images:
/// ImageSpec::tokens()):
/// forward plus backward (three times the forward; of frozen layers the forward alone), no recomputation, attention
/// over the full square as in Megatron-LM's formula (SC'21, equation 3: 72 B s l h^2 (1 + s/6h + V/12lh) for plain
/// GPT), within a window over twice the tokens that are seen, which is the square where the window holds all. Of
/// experts those that a token is sent to count, and of convolutions every product of a weight. This is the numerator of
/// MFU.
double model_flops(const Model& model, std::uint64_t sequences, std::uint64_t seq);
/// The same where another sequence is decoded: one of `encoded` tokens beside one of `decoded`. Attention runs among
/// the tokens of each of a sequence's documents alone, of `document` tokens; 0: a sequence is one.
double model_flops(const Model& model, std::uint64_t sequences, std::uint64_t encoded, std::uint64_t decoded,
                   std::uint64_t document = 0);

/// Of these, those of causal attention: scores and what they weigh.
double causal_attention_flops(const Model& model, std::uint64_t sequences, std::uint64_t encoded, std::uint64_t decoded,
                              std::uint64_t document = 0);

/// The same with the forward pass of every block counted once more: the numerator of HFU under full recomputation
/// (SC'21 equation 3 itself: 96 B s l h^2 (1 + s/6h + V/16lh)).
double hardware_flops_full_recompute(const Model& model, std::uint64_t sequences, std::uint64_t seq);
double hardware_flops_full_recompute(const Model& model, std::uint64_t sequences, std::uint64_t encoded,
                                     std::uint64_t decoded, std::uint64_t document = 0);

}  // namespace orrery::models
