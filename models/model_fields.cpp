#include "models/model_fields.hpp"

#include <array>

namespace orrery::models {

namespace {

using documents::field;
using documents::hugging_face;
using documents::megatron;
using documents::Word;
using documents::word;
using Spec = ModelSpec;

constexpr double max_layers = 8192;
constexpr double max_width = 1 << 20;  // hidden, ffn
constexpr double max_heads = 4096;
constexpr double max_rows = 1 << 24;
constexpr double max_positions = 1 << 22;
constexpr double max_experts = 65536;
constexpr double max_depth = 1000;

constexpr std::array families{word("gpt", Family::gpt), word("llama", Family::llama),   word("bert", Family::bert),
                              word("t5", Family::t5),   word("resnet", Family::resnet), word("mamba", Family::mamba)};
constexpr std::array norms{word("layernorm", NormKind::layernorm), word("rmsnorm", NormKind::rmsnorm),
                           word("LayerNorm", NormKind::layernorm), word("RMSNorm", NormKind::rmsnorm)};
constexpr std::array positions{word("learned", PositionKind::learned),
                               word("rope", PositionKind::rope),
                               word("alibi", PositionKind::alibi),
                               word("none", PositionKind::none),
                               word("learned_absolute", PositionKind::learned),
                               word("absolute", PositionKind::learned)};

constexpr std::array activations{
    word("gelu", ActivationKind::gelu),         word("silu", ActivationKind::silu),
    word("relu", ActivationKind::relu),         word("swish", ActivationKind::silu),
    word("gelu_new", ActivationKind::gelu),     word("gelu_pytorch_tanh", ActivationKind::gelu),
    word("relu2", ActivationKind::squared_relu)};

// clang-format off
constexpr std::array fields{
    field<&Spec::name>({.name = "name",
        .help = "A model of the catalog (`orrery list models`), or a label beside all fields.",
        .when_absent = "custom"}),
    field<&Spec::family>({.name = "model_type", .words = families,
        .help = "Family of a model given by its fields: what the others are when absent."}),
    field<&Spec::layers>({.name = "num_hidden_layers", .min = 1, .max = max_layers, .required = true,
        .help = "Transformer layers.", .when_absent = "the named model's",
        .others = {megatron("num_layers"), hugging_face("n_layer")},
        .published = "model.layers"}),
    field<&Spec::hidden>({.name = "hidden_size", .min = 1, .max = max_width, .required = true,
        .help = "Width of what passes from layer to layer.", .when_absent = "the named model's",
        .others = {hugging_face("n_embd")},
        .published = "model.hidden"}),
    field<&Spec::heads>({.name = "num_attention_heads", .min = 1, .max = max_heads, .required = true,
        .help = "Heads of queries.", .when_absent = "the named model's",
        .others = {hugging_face("n_head")},
        .published = "model.heads"}),
    field<&Spec::kv_heads>({.name = "num_key_value_heads", .min = 1, .max = max_heads, .required = true,
        .help = "Heads of keys and values.", .when_absent = "num_attention_heads",
        .others = {megatron("num_query_groups")},
        .published = "model.kv_heads"}),
    field<&Spec::head_dim>({.name = "head_dim", .min = 1, .max = max_width, .required = true,
        .help = "Width of one head.", .when_absent = "hidden_size / num_attention_heads",
        .others = {megatron("kv_channels")},
        .published = "model.head_dim"}),
    field<&Spec::ffn>({.name = "intermediate_size", .min = 1, .max = max_width, .required = true,
        .help = "Width of one matrix of the MLP.", .when_absent = "4 x hidden_size",
        .others = {megatron("ffn_hidden_size"), hugging_face("n_inner")},
        .published = "model.ffn"}),
    field<&Spec::vocab>({.name = "vocab_size", .min = 1, .max = max_rows, .required = true,
        .help = "Rows of the word embedding, before padding.", .when_absent = "the named model's",
        .published = "model.vocab"}),
    field<&Spec::max_positions>({.name = "max_position_embeddings", .min = 1, .max = max_positions,
        .help = "Rows of a table of learned positions; other positions have none.", .when_absent = "none",
        .others = {hugging_face("n_positions")}}),
    field<&Spec::token_types>({.name = "type_vocab_size", .min = 0, .max = max_rows,
        .help = "Rows of BERT's segment table; 0: none.", .when_absent = "0; bert 2"}),
    field<&Spec::gated>({.name = "swiglu",
        .help = "Gated MLP with two input matrices.", .when_absent = "false; llama true",
        .published = "model.gated"}),
    field<&Spec::activation>({.name = "hidden_act", .words = activations,
        .help = "Activation of the MLP.", .when_absent = "gelu; silu where gated",
        .others = {hugging_face("activation_function")}}),
    field<&Spec::causal>({.name = "causal",
        .help = "Attention sees earlier tokens only; a T5's decoder in any case.",
        .when_absent = "true; bert, t5 false"}),
    field<&Spec::tied_embeddings>({.name = "tie_word_embeddings",
        .help = "Logits reuse the word embedding.", .when_absent = "true; llama, mamba false",
        .others = {megatron("untie_embeddings_and_output_weights", "false", "true")}}),
    field<&Spec::linear_bias>({.name = "add_bias_linear",
        .help = "Biases in the linear layers, but not in mixers.", .when_absent = "true; llama, mamba false",
        .others = {megatron("disable_bias_linear", "false", "true")}}),
    field<&Spec::qkv_bias>({.name = "add_qkv_bias",
        .help = "A bias in the query-key-value layer.", .when_absent = "true; llama, mamba false"}),
    field<&Spec::parallel_residual>({.name = "use_parallel_residual",
        .help = "Attention and MLP read the same input, as in GPT-NeoX."}),
    field<&Spec::shared_norm>({.name = "shared_norm",
        .help = "Of a parallel residual: one norm for both, as in GPT-J and Falcon 7B."}),
    field<&Spec::bare_projection>({.name = "bare_projection",
        .help = "No bias in the layer behind the attention, though the MLP has them, as in GPT-J."}),
    field<&Spec::logits_bias>({.name = "logits_bias",
        .help = "A bias in the logits' layer, as in GPT-J."}),
    field<&Spec::post_norm>({.name = "post_norm",
        .help = "Normalise after the residual addition, as in BERT.", .when_absent = "false; bert true"}),
    field<&Spec::input_norm>({.name = "input_norm",
        .help = "A norm before each branch; OLMo 2 has none."}),
    field<&Spec::output_norm>({.name = "output_norm",
        .help = "A norm behind each branch, before the residual addition, as in Gemma 2 and OLMo 2."}),
    field<&Spec::mlm_head>({.name = "mlm_head",
        .help = "BERT's dense layer, GELU and norm before the logits.", .when_absent = "false; bert true"}),
    field<&Spec::norm>({.name = "normalization", .words = norms,
        .help = "Kind of the norms.", .when_absent = "layernorm; llama, mamba rmsnorm"}),
    field<&Spec::position>({.name = "position_embedding_type", .words = positions,
        .help = "How positions are told.", .when_absent = "learned; llama rope; mamba none"}),
    field<&Spec::dropout>({.name = "dropout", .min = 0, .max = 0.99,
        .help = "Of hidden states and attention; 0: no dropout kernels.", .when_absent = "the model's",
        .others = {megatron("hidden_dropout")},
        .published = "switches.hidden-dropout"}),
    field<&Spec::hidden_dropout_alone>({.name = "hidden_dropout_alone",
        .help = "No dropout in attention, as in OPT."}),
    field<&Spec::embedding_norm>({.name = "embed_layernorm",
        .help = "A norm between the embedding and the first block, as in BERT and BLOOM.",
        .when_absent = "false; bert true"}),
    field<&Spec::qk_norm>({.name = "qk_layernorm",
        .help = "Norms over each head of queries and keys, as in Qwen3."}),
    field<&Spec::qk_norm_whole>({.name = "qk_layernorm_whole",
        .help = "These norms over all heads together, as in OLMo 2."}),
    field<&Spec::attention_window>({.name = "sliding_window", .min = 0, .max = max_positions,
        .help = "Tokens a query sees; 0: all."}),
    field<&Spec::window_pattern>({.name = "sliding_window_pattern", .min = 0, .max = max_layers,
        .help = "Of so many layers the last sees all tokens; 0: every layer has the window.",
        .others = {megatron("window_attn_skip_freq")}}),
    field<&Spec::attention_chunk>({.name = "attention_chunk_size", .min = 0, .max = max_positions,
        .help = "Llama 4: longest sequence whose tokens all see each other; longer ones are refused. 0: any."}),
    field<&Spec::kv_lora_rank>({.name = "kv_lora_rank", .min = 0, .max = max_width,
        .help = "Width from which latent attention makes keys and values; 0: no latent attention."}),
    field<&Spec::q_lora_rank>({.name = "q_lora_rank", .min = 0, .max = max_width,
        .help = "Width from which it makes queries; 0: from the hidden states."}),
    field<&Spec::rope_head_dim>({.name = "qk_rope_head_dim", .min = 0, .max = max_width,
        .help = "Of head_dim, what latent attention rotates.",
        .others = {megatron("qk_pos_emb_head_dim")}}),
    field<&Spec::v_head_dim>({.name = "v_head_dim", .min = 0, .max = max_width,
        .help = "Width of a head's values in latent attention."}),
    field<&Spec::experts>({.name = "num_experts", .min = 0, .max = max_experts,
        .help = "MLPs of a layer among which the router chooses; 0: a dense model.",
        .others = {hugging_face("num_local_experts")}}),
    field<&Spec::experts_per_token>({.name = "num_experts_per_tok", .min = 0, .max = max_experts,
        .help = "Experts that a token is sent to.", .when_absent = "2 where there are experts",
        .others = {megatron("moe_router_topk")}}),
    field<&Spec::expert_ffn>({.name = "moe_intermediate_size", .min = 0, .max = max_width,
        .help = "Width of one matrix of an expert.", .when_absent = "intermediate_size where there are experts",
        .others = {megatron("moe_ffn_hidden_size")}}),
    field<&Spec::shared_expert_ffn>({.name = "moe_shared_expert_intermediate_size", .min = 0, .max = max_width,
        .help = "The same of an MLP that every token takes beside its experts; 0: none."}),
    field<&Spec::shared_expert_gate>({.name = "moe_shared_expert_gate",
        .help = "A sigmoid of each token weighs that MLP's result, as in Qwen2-MoE."}),
    field<&Spec::moe_layer_freq>({.name = "moe_layer_freq", .min = 0, .max = max_layers,
        .help = "Layers 0, this, twice this, ... have experts; 1: all.", .when_absent = "1 where there are experts"}),
    field<&Spec::moe_layer_offset>({.name = "moe_layer_offset", .min = 0, .max = max_layers,
        .help = "The first of these layers, below moe_layer_freq: 1 of 2 in Switch and Llama 4."}),
    field<&Spec::dense_layers>({.name = "first_k_dense_replace", .min = 0, .max = max_layers,
        .help = "The first so many layers have no experts."}),
    field<&Spec::expert_latent>({.name = "moe_latent_size", .min = 1, .max = max_width,
        .help = "Width to which tokens are brought before they leave for their experts.",
        .when_absent = "none: the hidden one"}),
    field<&Spec::layer_pattern>({.name = "hybrid_override_pattern",
        .help = "Mamba: a letter a layer, M a mixer, * attention, - an MLP, E experts.",
        .when_absent = "none: every layer has attention and an MLP",
        .others = {megatron("hybrid_layer_pattern")}}),
    field<&Spec::mamba, &MambaSpec::state>({.name = "ssm_state_size", .min = 1, .max = max_width,
        .help = "Mamba: rows of a head's state.", .when_absent = "none, but in Mamba",
        .others = {megatron("mamba_state_dim")}}),
    field<&Spec::mamba, &MambaSpec::heads>({.name = "mamba_num_heads", .min = 1, .max = max_heads,
        .help = "Mamba: heads of a mixer.", .when_absent = "none, but in Mamba"}),
    field<&Spec::mamba, &MambaSpec::head_dim>({.name = "mamba_head_dim", .min = 1, .max = max_width,
        .help = "Mamba: columns of a head's state.", .when_absent = "none, but in Mamba"}),
    field<&Spec::mamba, &MambaSpec::groups>({.name = "n_groups", .min = 1, .max = max_heads,
        .help = "Mamba: groups of heads that share what writes and reads their states.",
        .when_absent = "none, but in Mamba",
        .others = {megatron("mamba_num_groups")}}),
    field<&Spec::mamba, &MambaSpec::window>({.name = "conv_kernel", .min = 1, .max = max_heads,
        .help = "Mamba: tokens that the convolution before the scan sees.", .when_absent = "none, but in Mamba"}),
    field<&Spec::mamba, &MambaSpec::chunk>({.name = "chunk_size", .min = 1, .max = max_positions,
        .help = "Mamba: tokens that the scan takes at once.", .when_absent = "none, but in Mamba",
        .others = {megatron("mamba_chunk_size")}}),
    field<&Spec::decoder_layers>({.name = "num_decoder_layers", .min = 1, .max = max_layers,
        .help = "T5: layers of the decoder, beside num_hidden_layers of the encoder.",
        .when_absent = "none, but in T5"}),
    field<&Spec::relative_buckets>({.name = "relative_attention_num_buckets", .min = 1, .max = max_rows,
        .help = "T5: rows of a stack's table of position biases.", .when_absent = "none, but in T5"}),
    field<&Spec::image, &ImageSpec::size>({.name = "image_size", .min = 1, .max = max_positions,
        .help = "ResNet: rows, and as many columns, of an image.", .when_absent = "none, but in a ResNet"}),
    field<&Spec::image, &ImageSpec::depths>({.name = "depths", .min = 1, .max = max_depth,
        .help = "ResNet: residual blocks of each of its four stages, such as [3, 4, 6, 3].",
        .when_absent = "none, but in a ResNet"}),
};
// clang-format on
static_assert(fields.size() ==
                  documents::members_of<Spec> - 2 + documents::members_of<ImageSpec> + documents::members_of<MambaSpec>,
              "a field without a description");

}  // namespace

std::span<const documents::Field<ModelSpec>> model_fields() { return fields; }

}  // namespace orrery::models
