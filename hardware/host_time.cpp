#include "hardware/host_time.hpp"

#include "base/enum_table.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace orrery::hardware {

namespace {

constexpr EnumNames<HostProcessor> processor_names{"none",  "Xeon E5-2698 v4", "EPYC 7742", "Xeon 8480C", "Xeon 8570",
                                                   "Grace", "EPYC 7A53",       "EPYC 9654", "EPYC 9575F"};

constexpr double us = 1e-6;  ///< SI

constexpr HostTime no_host{0, 0, "the device needs no host to hand it its kernels"};

/// Microseconds of PyTorch and its Python for a layer's kernels as our program counts them, each way (tools/
/// host_overhead.py, PyTorch 1.13 on an EPYC of 2024, medians of five runs: no step of a training, no GPU).
struct OfLayer {
    double microseconds, kernels;
    [[nodiscard]] constexpr double each() const { return microseconds / kernels; }
};
constexpr OfLayer forward_of_layer{163, 14}, backward_of_layer{204, 27};
constexpr double mean_of_layer = OfLayer{forward_of_layer.microseconds + backward_of_layer.microseconds,
                                         forward_of_layer.kernels + backward_of_layer.kernels}
                                     .each();

/// Microseconds of the host for one kernel, launches with it.
struct PerKernel {
    double plain, engine;
};
/// From steps that NVIDIA's continuous integration of Megatron-LM measured, which wait for the host alone and which no
/// score counts (README.md): layers written out (gpt3_mcore_tp4_pp1_resume_torch_dist) and Transformer Engine's
/// (gpt3_mcore_te_tp2_pp2_cross_entropy_loss_fusion) on DGX A100, DGX H100 and GB200.
constexpr PerKernel epyc_7742{71.1, 139.5}, xeon_8480c{48.9, 99.0}, grace{67.5, 125.4};

constexpr PerKernel slower(PerKernel than, double times) { return {than.plain * times, than.engine * times}; }

/// By Intel's and AMD's published gains per generation and boost clocks (README.md).
constexpr PerKernel xeon_e5 = slower(epyc_7742, 2.0 / 1.9), xeon_8570 = slower(xeon_8480c, 1.2 / 1.25);

/// Zen 3 over Zen 2, Zen 4 over Zen 3, Zen 5 over Zen 4; 3.5, 3.7 and 5.0 GHz over 3.4.
constexpr double zen_3 = 1.19 * 3.5 / 3.4, zen_4 = 1.19 * 1.14 * 3.7 / 3.4, zen_5 = 1.19 * 1.14 * 1.17 * 5.0 / 3.4;
constexpr PerKernel epyc_7a53 = slower(epyc_7742, 1 / zen_3), epyc_9654 = slower(epyc_7742, 1 / zen_4),
                    epyc_9575f = slower(epyc_7742, 1 / zen_5);

/// Of the driver: estimates, by processor as above.
constexpr double grace_over_xeon = grace.plain / xeon_8480c.plain;
constexpr EnumTable<HostProcessor, double> launches{
    0, 9 * us, 9 * us, 6 * us, 5.5 * us, 6 * us* grace_over_xeon, 9 * us / zen_3, 9 * us / zen_4, 9 * us / zen_5};

constexpr std::string_view of_plain =
    "measured: steps of Megatron-LM's continuous integration with layers written out on DGX A100, DGX H100 and GB200, "
    "scaled to other processors (hardware/README.md)";
constexpr std::string_view of_operators =
    "1.6 operators of PyTorch for each kernel, a quarter of what a kernel of a layer that Megatron-LM writes out costs "
    "(tools/host_overhead.py; hardware/README.md)";
constexpr std::string_view of_engine =
    "measured: steps of Megatron-LM's continuous integration with Transformer Engine on DGX A100, DGX H100 and GB200, "
    "scaled to other processors (hardware/README.md)";

/// A turn of Transformer Engine's loop over cuBLASLt's products: 0.267 ms for eight so small that the device waits for
/// the host, 0.069 for one launch of all (its pull request 3134, NVFP4 on SM100, 8 x 128 x 2048 x 2048).
constexpr double turn_of_cublas_lt = (267 - 69) * us / 7;
/// What Python does for a product of each expert of Transformer Engine's beside that loop: 1.2 ms forward and 2.1
/// backward for 64 experts whose products are joined (its issue 2897), over the six products of each. On a Grace.
constexpr double python_of_expert = (1200 + 2100) * us / 64 / 6;

/// Hooks of DeepSpeed 0.14 around a linear layer, in calls of torch.nn.Linear, which is one operator of PyTorch's
/// forward (tools/module_hooks.py: Hugging Face's Llama, medians of three runs, which lie 3% apart).
constexpr double zero3_forward = 24.0, zero3_backward = 33.5;

constexpr HostTime graph_executor{0, 1, "no Python between kernels; beside the launch nothing was measured"};
constexpr HostTime own_runtime{0, 1, "each operation is one call from C++; beside the launch nothing was measured"};

using Row = EnumTable<HostProcessor, HostTime>;

/// The same on every processor, whose launches differ.
constexpr Row everywhere(HostTime time) { return {no_host, time, time, time, time, time, time, time, time}; }

/// A part of a kernel with so many launches of its own, which machines differ in and which are counted apart.
constexpr Row on_each(double PerKernel::*of, double part, double own_launches, std::string_view origin) {
    const auto at = [&](const PerKernel& time, HostProcessor processor) {
        return HostTime{time.*of * us * part - own_launches * launches[processor], own_launches, origin};
    };
    return {no_host,
            at(xeon_e5, HostProcessor::xeon_e5_2698_v4),
            at(epyc_7742, HostProcessor::epyc_7742),
            at(xeon_8480c, HostProcessor::xeon_8480c),
            at(xeon_8570, HostProcessor::xeon_8570),
            at(grace, HostProcessor::grace),
            at(epyc_7a53, HostProcessor::epyc_7a53),
            at(epyc_9654, HostProcessor::epyc_9654),
            at(epyc_9575f, HostProcessor::epyc_9575f)};
}

constexpr EnumTable<Software, Row> table{
    on_each(&PerKernel::plain, 1, launches_of_kernel, of_plain),
    on_each(&PerKernel::engine, 1, launches_of_kernel, of_engine),
    on_each(&PerKernel::plain, launches_of_kernel / plain_kernels_per_dispatch, launches_of_kernel, of_operators),
    everywhere(graph_executor),
    everywhere(own_runtime),
};

}  // namespace

std::string_view name(HostProcessor processor) { return processor_names[processor]; }

double launch_seconds(HostProcessor processor) { return launches[processor]; }

const HostTime& host_time(Software software, HostProcessor processor) { return table[software][processor]; }

double share_of_way(Software software, Way way) {
    const bool eager = software == Software::megatron_lm || software == Software::pytorch;
    if (!eager || way == Way::neither) return 1;
    return (way == Way::forward ? forward_of_layer : backward_of_layer).each() / mean_of_layer;
}

double dispatch_seconds(Software software, HostProcessor processor, double launch_seconds, Way way) {
    const HostTime& time = host_time(software, processor);
    return share_of_way(software, way) * time.seconds + time.launches * launch_seconds;
}

double further_product_seconds(Software software, double launch_seconds) {
    return software == Software::transformer_engine ? turn_of_cublas_lt : launch_seconds;
}

double further_expert_seconds(Software software, HostProcessor processor, double launch_seconds) {
    const double turn = further_product_seconds(software, launch_seconds);
    if (software != Software::transformer_engine) return turn;
    const auto kernel = [&](HostProcessor of) { return dispatch_seconds(software, of, launches[of]); };
    return turn + python_of_expert * kernel(processor) / kernel(HostProcessor::grace);
}

namespace {

/// Python's and the dispatcher's own for one call of torch.nn.Linear.
double linear_seconds(HostProcessor processor) {
    return dispatch_seconds(Software::pytorch, processor, 0, Way::forward) / launches_of_kernel;
}

}  // namespace

double zero3_visit_seconds(HostProcessor processor) { return zero3_forward * linear_seconds(processor); }

/// A backward visits as a forward does.
double zero3_bucket_seconds(HostProcessor processor) {
    return (zero3_backward - zero3_forward) * linear_seconds(processor);
}

}  // namespace orrery::hardware
