// Keys of "training".
#include <array>

#include "base/enum_table.hpp"
#include "models/limits.hpp"
#include "strategies/plan_fields.hpp"

namespace orrery::strategies {

namespace {

using documents::deepspeed;
using documents::field;
using documents::megatron;
using documents::word;
using kernels::Dtype;

constexpr double max_layers_in_bf16 = models::most_layers;
constexpr double max_batch = 1 << 24;  // sequences
constexpr double max_seq = 1 << 22;    // tokens

constexpr std::array graph_scopes{word("full_iteration", CudaGraphScope::full_iteration),
                                  word("outside_experts", CudaGraphScope::outside_experts),
                                  word("routers", CudaGraphScope::routers)};
static_assert(graph_scopes.size() == enumerators<CudaGraphScope>);
constexpr std::array optimizers{word("adam", Optimizer::adam),         word("sgd", Optimizer::sgd),
                                word("momentum", Optimizer::momentum), word("lion", Optimizer::lion),
                                word("lamb", Optimizer::lamb),         word("adafactor", Optimizer::adafactor),
                                word("adam8bit", Optimizer::adam8bit), word("muon", Optimizer::muon)};
static_assert(optimizers.size() == enumerators<Optimizer>);
constexpr std::array formats{word("fp32", Dtype::fp32), word("tf32", Dtype::tf32), word("fp16", Dtype::fp16),
                             word("bf16", Dtype::bf16), word("fp8", Dtype::fp8),   word("fp4", Dtype::fp4),
                             word("nvfp4", Dtype::fp4)};
constexpr std::array softwares{word("megatron-lm", hardware::Software::megatron_lm),
                               word("transformer-engine", hardware::Software::transformer_engine),
                               word("pytorch", hardware::Software::pytorch),
                               word("tensorflow", hardware::Software::tensorflow),
                               word("orrery", hardware::Software::orrery),
                               word("deepspeed", hardware::Software::megatron_lm),
                               word("jax", hardware::Software::tensorflow)};
static_assert(softwares.size() == enumerators<hardware::Software> + 2);  // and other names
constexpr std::array recipes{word("delayed", Fp8Recipe::delayed), word("tensorwise", Fp8Recipe::tensorwise),
                             word("blockwise", Fp8Recipe::blockwise), word("mxfp8", Fp8Recipe::mxfp8)};
static_assert(recipes.size() == enumerators<Fp8Recipe>);
constexpr std::array attention_kernels{word("newest", hardware::AttentionKernel::newest),
                                       word("flash-1", hardware::AttentionKernel::flash_1),
                                       word("flash-1-triton", hardware::AttentionKernel::flash_triton),
                                       word("flash-2", hardware::AttentionKernel::flash_2),
                                       word("cudnn", hardware::AttentionKernel::cudnn),
                                       word("cudnn-9.17", hardware::AttentionKernel::cudnn_9_17),
                                       word("aiter", hardware::AttentionKernel::newest),
                                       word("composable-kernel", hardware::AttentionKernel::flash_2),
                                       word("aotriton", hardware::AttentionKernel::flash_triton)};
static_assert(attention_kernels.size() == enumerators<hardware::AttentionKernel> + 3);  // and AMD's names
constexpr std::array fusions{word("full", KernelFusion::full), word("operators", KernelFusion::operators),
                             word("primitives", KernelFusion::primitives)};
static_assert(fusions.size() == enumerators<KernelFusion>);
constexpr std::array cross_entropies{word("in_place", CrossEntropy::in_place), word("torch", CrossEntropy::torch),
                                     word("fused", CrossEntropy::fused)};
static_assert(cross_entropies.size() == enumerators<CrossEntropy>);
constexpr std::array memory_formats{word("channels_last", MemoryFormat::channels_last),
                                    word("channels_first", MemoryFormat::channels_first)};
static_assert(memory_formats.size() == enumerators<MemoryFormat>);
constexpr std::array base_weights{word("as_trained", BaseWeights::as_trained), word("nf4", BaseWeights::nf4)};
static_assert(base_weights.size() == enumerators<BaseWeights>);
constexpr std::array lora_targets{word("all-linear", LoraTargets::all_linear),
                                  word("attention", LoraTargets::attention), word("qkv", LoraTargets::qkv),
                                  word("q_v", LoraTargets::query_value)};
static_assert(lora_targets.size() == enumerators<LoraTargets>);
constexpr std::array wires{word("as_summed", GradientWire::as_summed), word("fp32", GradientWire::fp32),
                           word("fp16", GradientWire::fp16), word("bf16", GradientWire::bf16)};
static_assert(wires.size() == enumerators<GradientWire>);
constexpr std::array reduced{word("fp32", Dtype::fp32), word("fp16", Dtype::fp16), word("bf16", Dtype::bf16)};

// clang-format off
constexpr std::array of_training{
    field<&Training::seq>({.name = "seq_length", .min = 1, .max = max_seq, .required = true,
        .help = "Tokens of a sequence; of an image 1 in a ResNet, its patches and one more in a Transformer.",
        .published = "model.seq"}),
    field<&Training::decoder_seq>({.name = "decoder_seq", .min = 1, .max = max_seq,
        .help = "Tokens of the sequence that an encoder-decoder decodes, beside seq_length encoded ones; of a text "
                "in CLIP.",
        .when_absent = "none: a model of one stack",
        .others = {megatron("decoder_seq_length")}}),
    field<&Training::document_length>({.name = "document_length", .min = 0, .max = max_seq,
        .help = "Tokens of each of the documents that are packed into a sequence, among which alone attention runs; of "
                "documents of several lengths the divisor of seq_length next to the sum of their squares over their "
                "sum. 0: a sequence is one.",
        .origin = "NeMo (packed_sequence); torchtune (packed); Megatron-LM (reset_attention_mask)"}),
    field<&Training::micro_batch>({.name = "micro_batch_size", .min = 1, .max = max_batch,
        .help = "Sequences of a rank's forward pass.",
        .others = {deepspeed("train_micro_batch_size_per_gpu")}}),
    field<&Training::global_batch>({.name = "global_batch_size", .min = 1, .max = max_batch, .required = true,
        .help = "Sequences of a step.",
        .others = {deepspeed("train_batch_size")}}),
    field<&Training::precision, &Precision::compute>({.name = "precision", .words = formats,
        .help = "Of weights and activations in the linear layers; fp4 is NVFP4.",
        .others = {megatron("fp16", "\"fp16\""), megatron("bf16", "\"bf16\"")}}),
    field<&Training::precision, &Precision::grad_reduce>({.name = "grad_reduce_precision", .words = reduced,
        .help = "In which gradients are summed.", .when_absent = "fp32; fp16 under fp16",
        .others = {megatron("accumulate_allreduce_grads_in_fp32", "\"fp32\"")}}),
    field<&Training::precision, &Precision::wire>({.name = "communication_data_type", .words = wires,
        .help = "In which data ranks exchange gradients; another than they are summed in is cast to before and from "
                "behind.",
        .origin = "DeepSpeed; PyTorch (fp16_compress_hook, bf16_compress_hook); Horovod (Compression.fp16)"}),
    field<&Training::master_weights>({.name = "master_weights",
        .help = "The optimizer keeps 16-bit weights in fp32 beside them; false: it updates these themselves, with "
                "moments and gradients of 16 bits (model.to(torch.bfloat16), pure bf16).",
        .origin = "Apex; PyTorch (torch.optim, states in the parameters' format)"}),
    field<&Training::loss_scaling, &LossScaling::constant>({.name = "loss_scale", .min = 0, .max = 0x1p50,
        .help = "fp16: what the loss is multiplied by; 0: dynamic, by the next four.",
        .origin = "Megatron-LM; DeepSpeed (fp16.loss_scale)"}),
    field<&Training::loss_scaling, &LossScaling::initial>({.name = "initial_loss_scale", .min = 1, .max = 0x1p50,
        .help = "Where a dynamic scale begins. A step whose gradients are not all finite changes nothing.",
        .origin = "Megatron-LM"}),
    field<&Training::loss_scaling, &LossScaling::least>({.name = "min_loss_scale", .min = 1e-9, .max = 0x1p50,
        .help = "A dynamic scale falls no further.",
        .origin = "Megatron-LM; DeepSpeed (fp16.min_loss_scale)"}),
    field<&Training::loss_scaling, &LossScaling::window>({.name = "loss_scale_window", .min = 1, .max = 1e9,
        .help = "So many steps with finite gradients in a row double it.",
        .origin = "Megatron-LM; DeepSpeed (fp16.loss_scale_window)"}),
    field<&Training::loss_scaling, &LossScaling::hysteresis>({.name = "hysteresis", .min = 1, .max = 1e9,
        .help = "So many steps without, since it grew last, and each one behind them, halve it.",
        .origin = "Megatron-LM; DeepSpeed (fp16.hysteresis)"}),
    field<&Training::fused_attention>({.name = "fused_attention",
        .help = "FlashAttention; false: batched products and a softmax.",
        .when_absent = "true; false of transfo-xl, and on GPUs before Ampere",
        .others = {megatron("use_flash_attn")}}),
    field<&Training::gradient_accumulation_fusion>({.name = "gradient_accumulation_fusion",
        .help = "Weight gradients are added inside the product, not by a kernel of their own.",
        .when_absent = "true; false where software is pytorch or deepspeed"}),
    field<&Training::attention_kernel>({.name = "attention_kernel", .words = attention_kernels,
        .help = "Whose fused attention runs; newest: that of the profile's table; cudnn-9.17: cuDNN's since December "
                "2025. On AMD's GPUs aiter is newest, composable-kernel flash-2, aotriton (PyTorch's own) "
                "flash-1-triton.",
        .when_absent = "newest; flash-2 where software is pytorch or deepspeed, aotriton of pytorch on AMD's GPUs"}),
    field<&Training::kernel_fusion>({.name = "kernel_fusion", .words = fusions,
        .help = "What is one kernel between products: chains (Megatron-LM; over images a batch norm with the "
                "addition and ReLU behind it), operators (PyTorch, XLA), or each arithmetic operation (TensorFlow). "
                "Of software pytorch chains are what torch.compile joins."}),
    field<&Training::bias_activation_fusion>({.name = "bias_activation_fusion",
        .help = "An activation is one kernel, with the bias before it and its gate; false: PyTorch's operators one by "
                "one, as NeMo has its squared ReLU.",
        .origin = "Megatron-Core; Megatron-LM (no-bias-gelu-fusion, no-bias-swiglu-fusion)"}),
    field<&Training::fused_rms_norm>({.name = "fused_rms_norm",
        .help = "RMSNorm, where the model has it, is one kernel forward and one backward; false: PyTorch's operators, "
                "one by one, as Llama's own code has it.",
        .origin = "PaddleNLP (use_fused_rms_norm); meta-llama/llama, model.py"}),
    field<&Training::complex_rope>({.name = "complex_rope",
        .help = "Queries and keys are rotated as complex numbers in fp32: a cast, a product and a cast back, which "
                "torch.compile does not join, as Meta's Llama and TorchTitan's models of it rotate them.",
        .origin = "TorchTitan (models/common/rope.py, ComplexRoPE); PyTorch (torch/_inductor/lowering.py)"}),
    field<&Training::enable_gqa>({.name = "enable_gqa",
        .help = "Attention takes fewer heads of keys and values than of queries as they are; false: copies of them, "
                "one for each head of queries, and their gradients summed (repeat_kv). Beside context ranks they are "
                "copied where these run PyTorch's ring (templated_ring_attention).",
        .when_absent = "true; false where software is pytorch",
        .origin = "PyTorch (scaled_dot_product_attention); meta-llama/llama, model.py, repeat_kv"}),
    field<&Training::fused_qkv>({.name = "fuse_attention_qkv",
        .help = "Queries, keys and values are one product; false: a product each, as Hugging Face's models of these "
                "kinds have them (but Phi-3's and Qwen 1's are one). Those of latent attention are what they are; on a "
                "grid of tensor ranks they are one.",
        .when_absent = "true; false of Llama, BERT and T5 where software is pytorch",
        .origin = "PaddleNLP (fuse_attention_qkv); PyTorch, torch/csrc/autograd/input_buffer.cpp"}),
    field<&Training::fused_gate>({.name = "fuse_attention_ffn",
        .help = "A gated MLP's gate and first matrix are one product; false: two, as in Hugging Face's Llama (but not "
                "its Phi-3). Of experts, and on a grid of tensor ranks, they are one.",
        .when_absent = "true; false where software is pytorch",
        .origin = "PaddleNLP (fuse_attention_ffn); PyTorch, torch/csrc/autograd/input_buffer.cpp"}),
    field<&Training::memory_format>({.name = "memory_format", .words = memory_formats,
        .help = "Of images between convolutions; channels_first (NCHW): cuDNN transposes what tensor cores read and "
                "write.",
        .origin = "PyTorch (torch.channels_last); cuDNN Developer Guide, Tensor Transformations"}),
    field<&Training::fp32_residual_connection>({.name = "fp32_residual_connection",
        .help = "The residual stream in fp32, with its norms, dropouts and sums, beside 16-bit products.",
        .origin = "Megatron-LM; TensorFlow, auto_mixed_precision"}),
    field<&Training::autocast>({.name = "autocast",
        .help = "Weights, their gradients and the residual stream are fp32; each product casts its weights and input "
                "to 16 bits as it begins, and gradients back; softmax and the stream's norms are in fp32.",
        .origin = "PyTorch (torch.autocast)"}),
    field<&Training::fp32_activation_function>({.name = "fp32_activation_function",
        .help = "Activation functions between 16-bit products in fp32: TensorFlow's automatic mixed precision leaves "
                "powers, and what follows them up to the next product, there.",
        .origin = "TensorFlow, auto_mixed_precision_lists.h"}),
    field<&Training::fp8_recipe>({.name = "fp8_recipe", .words = recipes,
        .help = "Where the scales of fp8 operands come from."}),
    field<&Training::fp8_attention>({.name = "fp8_dot_product_attention",
        .help = "Attention's products are in fp8 beside a layer's in fp8 or fp4 (cuDNN's fused attention), and its "
                "operands are cast; layers that stay in bf16 are not told apart.",
        .origin = "Megatron-LM; TransformerEngine"}),
    field<&Training::fp8_output>({.name = "fp8_output_proj",
        .help = "The product that forms logits is in MXFP8 too; false: in bf16.",
        .origin = "Megatron-LM"}),
    field<&Training::fp8_function_input>({.name = "activation_func_fp8_input_store",
        .help = "The input of a SwiGLU is kept for the backward in fp8, whichever format products have.",
        .origin = "Megatron-LM"}),
    field<&Training::fp8_param_gather>({.name = "fp8_param_gather",
        .help = "Weights of fp8 or fp4 products are kept, and gathered, in that format alone, not in bf16 with casts "
                "beside them; those of MXFP8 are gathered in bf16 and cast. torchao's enable_fsdp_float8_all_gather, "
                "too, gathers in fp8.",
        .others = {megatron("fp4_param_gather")},
        .origin = "Megatron-LM; TransformerEngine (fp8_model_init)"}),
    field<&Training::no_transpose_cache>({.name = "disable_parameter_transpose_cache",
        .help = "Transposes of weights that are kept in fp8 are made in each backward, not kept.",
        .origin = "Megatron-LM"}),
    field<&Training::first_layers_in_bf16>({.name = "num_layers_at_start_in_bf16", .min = 0, .max = max_layers_in_bf16,
        .help = "The first so many layers keep their products in bf16 where others have them in fp8 or fp4.",
        .origin = "Megatron-LM (first_last_layers_bf16); arXiv:2509.25149, section 4"}),
    field<&Training::last_layers_in_bf16>({.name = "num_layers_at_end_in_bf16", .min = 0, .max = max_layers_in_bf16,
        .help = "The last so many layers likewise.",
        .origin = "Megatron-LM (first_last_layers_bf16); arXiv:2509.25149, section 4"}),
    field<&Training::deterministic>({.name = "deterministic",
        .help = "PyTorch's deterministic algorithms, which fill what is allocated.",
        .others = {megatron("deterministic_mode")},
        .published = "switches.deterministic-mode"}),
    field<&Training::log_num_zeros_in_grad>({.name = "log_num_zeros_in_grad",
        .help = "Zeros among the gradients are counted in each step, parameter by parameter, and the host "
                "waits for the sum.",
        .origin = "Megatron-LM",
        .published = "switches.log-num-zeros-in-grad"}),
    field<&Training::zero_grad_set_to_none>({.name = "zero_grad_set_to_none",
        .help = "A gradient is in memory from its backward to the update alone; false: in a buffer that lasts, as "
                "Megatron-LM's. Of several micro-batches all but the first find the gradients there either way.",
        .when_absent = "false; true where software is pytorch",
        .origin = "PyTorch (Optimizer.zero_grad, its default since 2.0)"}),
    field<&Training::gradient_as_bucket_view>({.name = "gradient_as_bucket_view",
        .help = "Data ranks that shard nothing reduce gradients where they lie; false: copies of them, in buckets that "
                "last beside them.",
        .when_absent = "true; false where software is pytorch",
        .origin = "PyTorch (DistributedDataParallel)"}),
    field<&Training::broadcast_data>({.name = "broadcast_data",
        .help = "Before each micro-batch its sizes are broadcast among tensor ranks and read by the host, which waits "
                "for the device (Megatron-LM until November 2023, Megatron-DeepSpeed).",
        .origin = "Megatron-LM"}),
    field<&Training::cross_entropy_fusion>({.name = "cross_entropy_loss_fusion",
        .help = "Passes over the logits are joined into few kernels; false: one kernel an operator, Megatron-LM's "
                "default.",
        .when_absent = "true; false where software is deepspeed",
        .origin = "Megatron-LM, NeMo"}),
    field<&Training::cross_entropy>({.name = "cross_entropy", .words = cross_entropies,
        .help = "in_place: probabilities take the place of the fp32 logits, and their gradient that of these, 6 bytes "
                "a logit at most (Megatron-LM); torch: as torch.nn.functional.cross_entropy runs eagerly, with "
                "log-probabilities and two gradients beside each other, 12; fused: kernels over the logits as the "
                "product leaves them, 2 bytes each in 16 bits (flash-attention's and Apex's xentropy, Liger, "
                "torch.compile).",
        .when_absent = "in_place; where software is pytorch torch, or fused where kernel_fusion is full",
        .origin = "Megatron-LM; PyTorch; flash-attention"}),
    field<&Training::loss_chunks>({.name = "loss_chunks", .min = 1, .max = 65536,
        .help = "The last product and the loss take a rank's tokens in so many parts, each with its backward at once, "
                "so that logits of one part are there at a time. Liger's fused linear cross entropy takes 2^k tokens a "
                "part, the first power of two that is not below tokens x hidden / vocabulary.",
        .origin = "Liger, TorchTitan, xtuner"}),
    field<&Training::cuda_graph>({.name = "cuda_graph",
        .help = "Kernels are replayed, not dispatched one by one by the host.",
        .others = {megatron("enable_cuda_graph")}}),
    field<&Training::cuda_graph_scope>({.name = "cuda_graph_scope", .words = graph_scopes,
        .help = "What a CUDA graph replays; outside_experts: all but what works on routed tokens (Megatron-LM's attn, "
                "moe_router and moe_preprocess); routers: operators of routers alone (moe_router, moe_preprocess).",
        .origin = "Megatron-LM"}),
    field<&Training::permute_fusion>({.name = "moe_permute_fusion",
        .help = "Tokens are copied to experts and back by kernels of their own, not by PyTorch's indexing.",
        .when_absent = "true under transformer-engine and orrery, else false",
        .origin = "Megatron-LM; TransformerEngine"}),
    field<&Training::router_fusion>({.name = "moe_router_fusion",
        .help = "A router's scores, its choice and the losses of balance are three kernels; false: PyTorch's "
                "operators, one by one. Read under Transformer Engine alone.",
        .origin = "Megatron-LM; TransformerEngine"}),
    field<&Training::software>({.name = "software", .words = softwares,
        .help = "What dispatches kernels: layers as Megatron-LM writes them, Transformer Engine's modules, PyTorch's "
                "own (Hugging Face, TorchTitan); deepspeed: Megatron-LM's under DeepSpeed (GPT-NeoX), which costs "
                "the host as much; jax costs what tensorflow does; orrery: our own runtime (hardware/README.md).",
        .when_absent = "megatron-lm; in fp8 and fp4 transformer-engine"}),
    field<&Training::grad_clip>({.name = "clip_grad", .min = 0, .max = 1e9,
        .help = "Largest gradient norm; 0: no clipping.",
        .others = {deepspeed("gradient_clipping")}}),
    field<&Training::optimizer>({.name = "optimizer", .words = optimizers,
        .help = "What turns gradients into new weights: AdamW, SGD without and with momentum, Lion, LAMB, Adafactor "
                "without a first moment, bitsandbytes' 8-bit Adam, or Muon (strategies/README.md).",
        .origin = "apex; PyTorch; transformers; bitsandbytes; Megatron-LM"}),
    field<&Training::muon_steps>({.name = "muon_num_ns_steps", .min = 1, .max = 100,
        .help = "Newton-Schulz iterations of Muon, of three products each.",
        .origin = "Jordan et al. 2024; Megatron-LM"}),
    field<&Training::apply_groups>({.name = "num_apply_group", .min = 1, .max = 10000,
        .help = "Groups of parameters that are updated one behind the other: fp32 copies of 16-bit gradients are there "
                "of one group at a time.",
        .origin = "EPL (optimizer.num_apply_group); Jia et al., Whale, ATC'22"}),
    field<&Training::fused_optimizer>({.name = "fused_optimizer",
        .help = "Norm, clipping and update by kernels over all parameters; false: parameter by parameter, as PyTorch's "
                "loops do. Where nothing is said, false of 8-bit Adam, and of Adafactor but where a compiler joins its "
                "operators (tensorflow, jax), which have no such kernels.",
        .origin = "apex; PyTorch; XLA"}),
    field<&Training::foreach_optimizer>({.name = "foreach_optimizer",
        .help = "Beside fused_optimizer false: each operation runs over all parameters at once, and its results are as "
                "large as they are; false: parameter by parameter.",
        .when_absent = "false; true of torch.optim's where software is pytorch and fused_optimizer false",
        .origin = "PyTorch (torch.optim, foreach: its default on GPUs)"}),
    field<&Training::expert_capacity>({.name = "moe_expert_capacity_factor", .min = 0, .max = 1000,
        .help = "An expert takes at most so many times its mean share of the tokens; 0: as many as come."}),
    field<&Training::pad_to_capacity>({.name = "moe_pad_expert_input_to_capacity",
        .help = "Every expert works on as many tokens as its capacity holds."}),
    field<&Training::lora_rank>({.name = "lora_rank", .min = 0, .max = 65536,
        .help = "Fine-tuning of adapters of this rank, all other weights frozen; 0: all are trained.",
        .origin = "Hu et al. 2021, arXiv:2106.09685"}),
    field<&Training::base_weights>({.name = "base_weights", .words = base_weights,
        .help = "How frozen weights of layers' products lie in memory beside adapters; nf4: in four bits with scales "
                "that are quantized too, brought back to 16 bits before each product (QLoRA; bitsandbytes' "
                "load_in_4bit, torchtune's quantize_base).",
        .origin = "Dettmers et al. 2023"}),
    field<&Training::lora_targets>({.name = "lora_target_modules", .words = lora_targets,
        .help = "Linear layers that have adapters: all of a block, attention's two, its first, or of that queries and "
                "values alone, each its own.",
        .origin = "arXiv:2106.09685, section 7.1"}),
    field<&Training::canonical_lora>({.name = "canonical_lora",
        .help = "Queries, keys and values, and a gated MLP's gate and up, have adapters of their own; false: one of "
                "each product.",
        .origin = "NeMo's CanonicalLoRA, Hugging Face's PEFT"}),
    field<&Training::lora_dropout>({.name = "lora_dropout", .min = 0, .max = 0.99,
        .help = "Of each adapter's input, of which each then keeps a copy and a mask.",
        .origin = "Hugging Face PEFT"}),
    field<&Training::wide_adapters>({.name = "autocast_adapter_dtype",
        .help = "Adapters are in fp32 beside a model in 16 bits: their inputs are cast there and, for products, back, "
                "a kernel each unless kernel_fusion is full.",
        .when_absent = "false; true where software is pytorch or deepspeed",
        .origin = "Hugging Face PEFT (tuners/lora/layer.py)"}),
    field<&Training::frozen_layers>({.name = "frozen_layers", .min = 0, .max = max_layers_in_bf16,
        .help = "The embedding and so many of the first layers are not trained, and have no backward.",
        .origin = "Howard and Ruder 2018, arXiv:1801.06146; PyTorch (requires_grad_(False))"}),
};
static_assert(of_training.size() == documents::members_of<Training> - 2 + documents::members_of<Precision> +
                                          documents::members_of<LossScaling>,
              "a field without a description");
// clang-format on

}  // namespace

std::span<const documents::Field<Training>> training_fields() { return of_training; }

}  // namespace orrery::strategies
