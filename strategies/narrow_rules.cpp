#include "strategies/narrow_rules.hpp"

#include "strategies/narrow_weights.hpp"
#include "strategies/refusal.hpp"

namespace orrery::strategies {

namespace {

using kernels::Dtype;

/// What is narrow beside the layers' products.
void check_narrow_parts(const Training& training) {
    const bool narrow = is_narrow(training.precision.compute);
    const char* const attention = "/training/fp8_dot_product_attention";
    if (training.fp8_attention && !narrow)
        refuse(attention, "true, but products are not in fp8 or fp4", "set training.precision to \"fp8\"",
               Source::engine_attention);
    if (training.fp8_attention && !training.fused_attention)
        refuse(attention, "true, but attention is not fused", "set fused_attention to true", Source::engine_attention);
    if (training.fp8_output && (training.precision.compute != Dtype::fp8 || training.fp8_recipe != Fp8Recipe::mxfp8))
        refuse("/training/fp8_output_proj", "true, but products are not in MXFP8",
               "set training.precision to \"fp8\" and training.fp8_recipe to \"mxfp8\"", Source::megatron_config);
}

/// Megatron-LM's fused SwiGLU alone has it.
void check_function_input(const Plan& plan) {
    if (!plan.training.fp8_function_input) return;
    const char* const key = "/training/activation_func_fp8_input_store";
    if (!plan.model.gated || plan.model.activation != models::ActivationKind::silu)
        refuse(key, "true, but the activation is no SwiGLU", "set it to false", Source::megatron_config);
    if (plan.training.kernel_fusion != KernelFusion::full || !plan.training.bias_activation_fusion ||
        plan.training.fp32_activation_function)
        refuse(key, "true, but the activation is not one fused kernel in 16 bits",
               "set it to false, or kernel_fusion to \"full\" and bias_activation_fusion to true",
               Source::megatron_config);
}

/// Without a copy in 16 bits.
void check_narrow_weights(const Plan& plan) {
    if (!plan.training.fp8_param_gather) return;
    const char* const key = "/training/fp8_param_gather";
    const auto only = [&](bool goes, const char* what, const char* hint) {
        if (!goes) refuse(key, what, hint, Source::not_modelled);
    };
    if (!is_narrow(plan.training.precision.compute))
        refuse(key, "true, but products are not in fp8 or fp4", "set training.precision to \"fp8\"",
               Source::megatron_config);
    only(!plan.offloads_weights() && plan.offloaded_states() == 0,
         "true, but weights or optimizer states lie in host memory", "set it to false");
    only(!plan.strategy.quantized_weights, "true, but weights are quantized for each gathering (ZeRO++)",
         "set it, or strategy.zero_quantized_weights, to false");
    only(plan.strategy.secondary_partition <= 1, "true, but a secondary partition is kept in 16 bits (ZeRO++)",
         "set it to false, or strategy.zero_hpz_partition_size to 1");
    only(!plan.compresses(), "true, but the optimizer's messages are compressed, and its weights in 16 bits",
         "set it to false, or strategy.compression to \"none\"");
}

void check_transposes(const Plan& plan) {
    if (!plan.training.no_transpose_cache) return;
    const char* const key = "/training/disable_parameter_transpose_cache";
    if (!has_one_scale(plan))
        refuse(key, "true, but no fp8 weights with one scale a tensor have transposed copies",
               "set it to false, or training.fp8_recipe to \"delayed\" or \"tensorwise\"", Source::not_modelled);
}

}  // namespace

void check_narrow_formats(const Plan& plan) {
    check_narrow_parts(plan.training);
    check_narrow_weights(plan);
    check_transposes(plan);
    check_function_input(plan);
}

}  // namespace orrery::strategies
