// The hyper-parameters of a model: of a Transformer, or of a network over images, under the names of Hugging Face and
// Megatron-LM.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/routing.hpp"

namespace orrery::models {

enum class Family : std::uint8_t { gpt, llama, bert, t5, resnet, mamba, transfo_xl, vit, clip, vgg };
/// "gpt", "llama", "bert", "t5", "resnet", "mamba", "transfo-xl", "vit", "clip", "vgg".
std::string_view name(Family family);

enum class NormKind : std::uint8_t { layernorm, rmsnorm };
enum class PositionKind : std::uint8_t { learned, rope, alibi, none };
enum class ActivationKind : std::uint8_t { gelu, silu, relu, squared_relu };

/// Which of an example's sequences tokens belong to: the only one, an encoder's or an image's; the one that is decoded
/// beside it, or a text beside an image; or a single vector that stands for either.
enum class Sequence : std::uint8_t { only, decoded, pooled };

/// Of a network over images: all 0 elsewhere.
struct ImageSpec {
    std::uint32_t size = 0;                 ///< rows, and as many columns, of an image
    std::array<std::uint32_t, 4> depths{};  ///< ResNet: residual blocks of each stage
    std::uint32_t patch = 0;                ///< Transformers: rows, and as many columns, of what is one token
    std::uint32_t channels = 0;             ///< Transformers: colours; ResNets have three
    bool operator==(const ImageSpec&) const = default;
    /// Tokens that an image is: its patches, and one that stands for all of it; a ResNet's is one.
    [[nodiscard]] std::uint32_t tokens() const { return patch == 0 ? 1 : (size / patch) * (size / patch) + 1; }
};

/// The text's tower beside an image's (CLIP, Radford et al. 2021, arXiv:2103.00020): all 0 elsewhere.
struct TextTowerSpec {
    std::uint32_t layers = 0, hidden = 0, heads = 0, ffn = 0;
    std::uint32_t projection = 0;  ///< projection_dim: width in which images and texts are compared
    bool operator==(const TextTowerSpec&) const = default;
};

/// Of Mamba-2's mixers (Dao and Gu 2024, arXiv:2405.21060): all 0 elsewhere.
struct MambaSpec {
    std::uint32_t state = 0;     ///< ssm_state_size, mamba-state-dim: rows of a head's state
    std::uint32_t heads = 0;     ///< mamba_num_heads
    std::uint32_t head_dim = 0;  ///< mamba_head_dim: columns of a head's state
    std::uint32_t groups = 0;    ///< n_groups, mamba-num-groups: of heads that share what writes and reads their states
    std::uint32_t window = 0;    ///< conv_kernel: tokens that the convolution before the scan sees
    std::uint32_t chunk = 0;     ///< chunk_size: tokens that the scan takes at once, as products
    bool operator==(const MambaSpec&) const = default;
    /// Width of a token between the mixer's two products; and of what is convolved: it, and what writes and reads.
    [[nodiscard]] std::uint64_t inner() const { return std::uint64_t{heads} * head_dim; }
    [[nodiscard]] std::uint64_t convolved() const { return inner() + 2ULL * groups * state; }
};

/// Of Transformer-XL (Dai et al. 2019, arXiv:1901.02860): all 0 elsewhere.
struct RecurrenceSpec {
    std::uint32_t memory = 0;                ///< mem_len: tokens of earlier segments that queries see
    std::array<std::uint32_t, 3> cutoffs{};  ///< where clusters of words, in order of frequency, end
    std::uint32_t divisor = 0;  ///< div_val: a cluster's embeddings are so many times narrower than those before
    bool operator==(const RecurrenceSpec&) const = default;
};

struct ModelSpec {
    std::string name;
    Family family = Family::gpt;
    std::uint32_t layers = 0;            ///< num_hidden_layers; of a ResNet its residual blocks
    std::uint32_t hidden = 0;            ///< hidden_size
    std::uint32_t heads = 0;             ///< num_attention_heads
    std::uint32_t kv_heads = 0;          ///< num_key_value_heads, num-query-groups; = heads without grouping
    std::uint32_t head_dim = 0;          ///< kv_channels; hidden / heads unless stated
    std::uint32_t ffn = 0;               ///< intermediate_size, ffn-hidden-size: one matrix's width, gated or not
    std::uint32_t vocab = 0;             ///< vocab_size, before padding; of images without texts their classes
    std::uint32_t vocab_multiple = 128;  ///< make-vocab-size-divisible-by: rows are padded to a multiple of it x tensor
    std::uint32_t max_positions = 0;     ///< rows of a learned position table
    std::uint32_t token_types = 0;       ///< rows of BERT's segment table, 0 elsewhere
    bool gated = false;                  ///< swiglu / geglu: two input matrices in the MLP
    ActivationKind activation = ActivationKind::gelu;  ///< hidden_act: Llama's SwiGLU is silu and gated
    bool causal = true;
    bool tied_embeddings = true;     ///< logits reuse the word embedding
    bool linear_bias = true;         ///< biases in the linear layers
    bool qkv_bias = true;            ///< bias in the query-key-value layer (Qwen: only there)
    bool bare_projection = false;    ///< GPT-J: no bias behind the attention, whatever linear_bias says of the MLP
    bool logits_bias = false;        ///< GPT-J: the logits have one
    bool parallel_residual = false;  ///< GPT-NeoX: attention and MLP read the same input
    bool shared_norm = false;        ///< GPT-J, Falcon 7B: of a parallel residual, one norm for both
    bool post_norm = false;          ///< BERT: normalise after the residual addition
    bool input_norm = true;          ///< false in OLMo 2: branches take the residual stream as it is
    bool output_norm = false;        ///< Gemma 2, OLMo 2: a norm at the end of each branch, before the addition
    bool mlm_head = false;           ///< BERT: dense, GELU and norm before the logits
    NormKind norm = NormKind::layernorm;
    PositionKind position = PositionKind::learned;
    double dropout = 0.0;                ///< hidden and attention dropout; 0: no dropout kernels
    bool hidden_dropout_alone = false;   ///< OPT: there is none in attention
    bool embedding_norm = false;         ///< BERT, BLOOM: a norm between the embedding and the first block
    bool qk_norm = false;                ///< Qwen3: RMS norm over each head of queries and keys before the rotation
    bool qk_norm_whole = false;          ///< OLMo 2: over all heads of queries together, and over all of keys
    std::uint32_t attention_window = 0;  ///< Mistral, GPT-OSS: tokens a query sees; 0: all
    /// sliding_window_pattern: of so many layers the last sees all tokens (Gemma 3: 6, GPT-OSS: 2); 0: none does.
    std::uint32_t window_pattern = 0;
    std::uint32_t attention_chunk = 0;  ///< Llama 4: longer sequences are cut into such parts; 0: none is

    // Latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1): all 0 elsewhere. head_dim is then the width of
    // queries and keys, what is rotated included.
    std::uint32_t kv_lora_rank = 0;   ///< width from which keys and values are made; 0: no latent attention
    std::uint32_t q_lora_rank = 0;    ///< that from which queries are; 0: they are made of the hidden states
    std::uint32_t rope_head_dim = 0;  ///< qk_rope_head_dim: of a head, what is rotated
    std::uint32_t v_head_dim = 0;     ///< of values and results

    // Mixture of experts (Shazeer et al. 2017; Mixtral, Jiang et al. 2024): all 0 in a dense model.
    std::uint32_t experts = 0;            ///< num_experts, num_local_experts: MLPs of an MoE layer
    std::uint32_t experts_per_token = 0;  ///< num_experts_per_tok, moe-router-topk
    std::uint32_t router_groups = 0;      ///< n_group, moe-router-num-groups: equal parts of the experts; 0: one
    std::uint32_t router_top_groups = 0;  ///< topk_group, moe-router-group-topk: in how many a token's lie; 0: all
    std::uint32_t expert_ffn = 0;         ///< moe_intermediate_size, moe-ffn-hidden-size: `ffn` of one expert
    std::uint32_t shared_expert_ffn = 0;  ///< moe-shared-expert-intermediate-size: of an MLP that every token takes
    bool shared_expert_gate = false;      ///< Qwen2-MoE: what every token takes is weighted by a sigmoid of its own
    std::uint32_t moe_layer_freq = 0;     ///< moe-layer-freq: layers 0, freq, 2 freq, ... have experts; 1: all
    std::uint32_t moe_layer_offset = 0;   ///< Llama 4, Switch: layers offset, offset + freq, ... have them instead
    std::uint32_t dense_layers = 0;       ///< first_k_dense_replace: the first so many have none all the same
    std::uint32_t expert_latent = 0;  ///< moe_latent_size: width on which experts work (Nemotron 3); 0: the hidden one

    // Layers of one branch each: state-space mixers among attention, MLPs and experts.
    /// hybrid_override_pattern, hybrid-layer-pattern: a letter a layer, M a mixer, * attention, - an MLP, E experts.
    /// Empty: every layer has attention and an MLP.
    std::string layer_pattern = {};
    MambaSpec mamba{};

    /// Whether layer `index` has experts, and how many layers do.
    [[nodiscard]] bool has_experts(std::uint32_t index) const {
        if (!layer_pattern.empty()) return layer_pattern[index] == 'E';
        return experts > 0 && index >= dense_layers && index % moe_layer_freq == moe_layer_offset;
    }
    [[nodiscard]] std::uint32_t moe_layers() const {
        if (experts == 0) return 0;
        if (!layer_pattern.empty()) return layers_of('E');
        const auto up_to = [&](std::uint32_t end) {
            return (end + moe_layer_freq - 1 - moe_layer_offset) / moe_layer_freq;
        };
        return up_to(layers) - up_to(dense_layers);
    }
    [[nodiscard]] Routing routing() const {
        const std::uint32_t groups = std::max(1U, router_groups);
        return {experts, experts_per_token, groups, router_top_groups > 0 ? router_top_groups : groups};
    }
    /// Layers of a kind of the pattern.
    [[nodiscard]] std::uint32_t layers_of(char kind) const {
        return static_cast<std::uint32_t>(std::count(layer_pattern.begin(), layer_pattern.end(), kind));
    }
    /// Whether layer `index` sees a window alone.
    [[nodiscard]] bool has_window(std::uint32_t index) const {
        return attention_window > 0 && (window_pattern == 0 || (index + 1) % window_pattern != 0);
    }
    /// Width of a head's values.
    [[nodiscard]] std::uint32_t value_dim() const { return v_head_dim > 0 ? v_head_dim : head_dim; }
    // Multi-token prediction (Gloeckle et al. 2024, arXiv:2404.19737; DeepSeek-V3, arXiv:2412.19437, section 2.2).
    std::uint32_t further_tokens = 0;  ///< num_nextn_predict_layers, mtp-num-layers: predicted beside the next one
    std::string further_pattern = {};  ///< mtp-hybrid-override-pattern: layers of each where layers have one branch

    // An encoder beside the decoder (T5): 0 in models of one stack. `layers` are then the encoder's.
    std::uint32_t decoder_layers = 0;    ///< num_decoder_layers
    std::uint32_t relative_buckets = 0;  ///< relative_attention_num_buckets: rows of a stack's table of position biases

    ImageSpec image{};
    TextTowerSpec text{};  ///< beside an image's tower, whose sizes are the spec's own; vocab is the text's
    RecurrenceSpec recurrence{};

    [[nodiscard]] bool takes_images() const { return image.size > 0; }
    /// Whether it is a network of convolutions over images.
    [[nodiscard]] bool convolves() const { return family == Family::resnet || family == Family::vgg; }
    /// Whether two stacks stand beside each other, each over tokens of its own.
    [[nodiscard]] bool two_stacks() const { return decoder_layers > 0 || text.layers > 0; }

    bool operator==(const ModelSpec&) const = default;
};

}  // namespace orrery::models
