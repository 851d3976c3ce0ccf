#include "scenarios/training_section.hpp"

#include "strategies/optimizers.hpp"
#include "strategies/plan_fields.hpp"

namespace orrery::scenarios {

namespace {

using kernels::Dtype;

/// Megatron-LM reduces gradients in the parameters' format, except that bf16 (and fp8, whose parameters are bf16)
/// switches accumulate_allreduce_grads_in_fp32 on (megatron/training/arguments.py). PyTorch's have their parameters'.
Dtype usual_grad_reduce(const strategies::Training& of) {
    if (of.precision.compute == Dtype::fp16 && !of.autocast) return Dtype::fp16;
    return of.master_weights ? Dtype::fp32 : Dtype::bf16;
}

/// torch.nn.functional.cross_entropy as it is, or as torch.compile makes it: kernels over the logits as the product
/// leaves them, from which the backward forms fp32 numbers again (torch/_functorch/partitioners.py: casts, exponentials
/// and sums of rows are recomputable, and a fusion of them is not saved).
strategies::CrossEntropy usual_loss(const strategies::Training& of) {
    using strategies::CrossEntropy;
    if (of.software != hardware::Software::pytorch) return CrossEntropy::in_place;
    return of.kernel_fusion == strategies::KernelFusion::full ? CrossEntropy::fused : CrossEntropy::torch;
}

/// What Megatron-LM and NeMo have narrow products of. PyTorch's own (torchao) are said to be "pytorch".
hardware::Software usual_software(Dtype compute) {
    return strategies::is_narrow(compute) ? hardware::Software::transformer_engine : hardware::Software::megatron_lm;
}

/// Kernels that move copies of tokens are Transformer Engine's (transformer_engine/pytorch/permutation.py), and
/// Orrery's own; others index.
bool usual_permute_fusion(hardware::Software software) {
    return software == hardware::Software::transformer_engine || software == hardware::Software::orrery;
}

/// PyTorch's scaled_dot_product_attention and what its users install beside it (flash-attn) are FlashAttention-2;
/// FlashAttention-3 and cuDNN's are to be asked for. Megatron-LM's layers are Transformer Engine's by default, which
/// takes the newest that there is. PyTorch's own on AMD's GPUs: defaults_across.cpp.
hardware::AttentionKernel usual_attention(std::string_view software) {
    using hardware::AttentionKernel;
    return software == "pytorch" || software == "deepspeed" ? AttentionKernel::flash_2 : AttentionKernel::newest;
}

/// Hugging Face's BERT, Llama and T5 have queries, keys and values of a product each, and so have TorchTitan, torchtune
/// and OLMo-core; its GPT-2 and GPT-NeoX, MPT, nanoGPT, timm's and OpenCLIP's image models, and Transformer-XL one.
bool keeps_heads_apart(models::Family family) {
    using enum models::Family;
    return family == llama || family == bert || family == t5;
}

}  // namespace

strategies::Training read_training(const documents::Reader& reader, const models::ModelSpec& model) {
    strategies::Training training;
    // Transformer-XL's scores of distances are shifted between products: no fused attention knows them.
    training.fused_attention = model.family != models::Family::transfo_xl;
    documents::read_fields(reader, strategies::training_fields(), training);
    if (!reader.has("grad_reduce_precision")) training.precision.grad_reduce = usual_grad_reduce(training);
    if (!reader.has("software")) training.software = usual_software(training.precision.compute);
    if (!reader.has("fused_optimizer")) training.fused_optimizer = strategies::updates_many_at_once(training);
    const bool pytorch = training.software == hardware::Software::pytorch;
    const std::string said = reader.choice("software", "");
    if (!reader.has("attention_kernel")) training.attention_kernel = usual_attention(said);
    if (!reader.has("foreach_optimizer"))
        training.foreach_optimizer =
            pytorch && !training.fused_optimizer && strategies::has_foreach(training.optimizer);
    if (!reader.has("cross_entropy") && !model.takes_images()) training.cross_entropy = usual_loss(training);
    if (!reader.has("zero_grad_set_to_none")) training.zero_grad_set_to_none = pytorch;
    if (!reader.has("gradient_as_bucket_view")) training.gradient_as_bucket_view = !pytorch;
    // DeepSpeed's fork of Megatron-LM adds gradients behind products (megatron/core/tensor_parallel/layers.py), as its
    // optimizers take them from autograd, and never had a loss of joined passes.
    const bool deepspeed = said == "deepspeed";
    if (!reader.has("gradient_accumulation_fusion")) training.gradient_accumulation_fusion = !pytorch && !deepspeed;
    if (!reader.has("cross_entropy_loss_fusion")) training.cross_entropy_fusion = !deepspeed;
    if (!reader.has("enable_gqa")) training.enable_gqa = !pytorch;
    if (!reader.has("fuse_attention_qkv")) training.fused_qkv = !(pytorch && keeps_heads_apart(model.family));
    if (!reader.has("fuse_attention_ffn")) training.fused_gate = !(pytorch && model.gated);
    if (!reader.has("canonical_lora"))
        training.canonical_lora = training.lora_rank > 0 && !(training.fused_qkv && training.fused_gate);
    if (!reader.has("autocast_adapter_dtype"))
        training.wide_adapters = training.lora_rank > 0 && (said == "pytorch" || said == "deepspeed");
    if (!reader.has("moe_permute_fusion")) training.permute_fusion = usual_permute_fusion(training.software);
    return training;
}

}  // namespace orrery::scenarios
