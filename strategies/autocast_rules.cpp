#include "strategies/autocast_rules.hpp"

#include <fmt/format.h>

#include "strategies/refusal.hpp"
#include "strategies/zero_plus_plus.hpp"

namespace orrery::strategies {

namespace {

void only(bool holds, const std::string& otherwise, const char* remedy, Source source) {
    if (!holds) refuse("/training/autocast", "true, but " + otherwise, remedy, source);
}

void check_formats(const Training& training) {
    const kernels::Dtype compute = training.precision.compute;
    only(kernels::size_of(compute) == 2, fmt::format("products in {} cast nothing to 16 bits", kernels::name(compute)),
         "set precision to \"bf16\" or \"fp16\", or autocast to false", Source::origin_of_key);
    only(training.master_weights, "weights that are in 16 bits alone are not cast",
         "set master_weights to true, or autocast to false", Source::origin_of_key);
    only(training.precision.grad_reduce == kernels::Dtype::fp32, "gradients of weights in fp32 are fp32",
         "leave grad_reduce_precision out, or set it to \"fp32\"", Source::origin_of_key);
}

void check_software(const Training& training) {
    only(training.software == hardware::Software::pytorch, "other software casts weights once a step",
         "set software to \"pytorch\", or autocast to false", Source::origin_of_key);
    only(!training.gradient_accumulation_fusion, "autograd adds gradients behind products",
         "set gradient_accumulation_fusion to false", Source::origin_of_key);
    only(training.kernel_fusion != KernelFusion::primitives, "each arithmetic operation is a kernel (TensorFlow)",
         "set kernel_fusion to \"operators\", or \"full\" where torch.compile joins them", Source::origin_of_key);
}

/// Layers whose products are not those of linear layers alone.
void check_layers(const Plan& plan) {
    const models::ModelSpec& model = plan.model;
    const bool images = model.takes_images() && model.family != models::Family::vit;
    const bool others =
        images || model.experts > 0 || model.layers_of('M') > 0 || model.family == models::Family::transfo_xl;
    only(!others,
         fmt::format("{} has experts, mixers, convolutions, a text beside images or recurrent attention", model.name),
         "set it to false, and fp32_residual_connection to true", Source::not_modelled);
    only(plan.training.base_weights == BaseWeights::as_trained, "a base in four bits is brought back to 16 bits",
         "set it to false", Source::not_modelled);
    only(plan.training.frozen_layers == 0, "copies of frozen weights end sooner", "set it to false",
         Source::not_modelled);
}

void check_strategy(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    only(!plan.tensor_grid().divides() && !strategy.tensor_comm_overlap,
         "tensor ranks are a grid, or products run in parts beside collectives",
         "set it, or strategy.tp_comm_overlap, to false", Source::not_modelled);
    only(!plan.compresses() && !plan.offloads_weights() && plan.offloaded_states() == 0,
         "weights or states are compressed or lie in host memory", "set it to false", Source::not_modelled);
    only(!is_zero_plus_plus(strategy), "ZeRO++ gathers weights in 16 bits or less",
         "set it to false, or leave ZeRO++'s keys out", Source::not_modelled);
    only(plan.training.apply_groups == 1, "groups of parameters are updated from gradients in 16 bits",
         "set it to false", Source::not_modelled);
}

}  // namespace

void check_autocast(const Plan& plan) {
    if (!plan.training.autocast) return;
    check_formats(plan.training);
    check_software(plan.training);
    check_layers(plan);
    check_strategy(plan);
}

}  // namespace orrery::strategies
