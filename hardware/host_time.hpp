// What a step costs the host: the time between one kernel handed to a device and the next, by the software that trains
// and the processor that it runs on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery::hardware {

/// The processor beside a device that hands it its kernels one by one. none: the device needs no such host, because a
/// processor's core calls its own kernels (their times contain the call) and a TPU runs a compiled program.
enum class HostProcessor : std::uint8_t {
    none,
    xeon_e5_2698_v4,
    epyc_7742,
    xeon_8480c,
    xeon_8570,
    grace,
    epyc_7a53,
    epyc_9654,
    epyc_9575f
};
std::string_view name(HostProcessor processor);

/// What stands between a training script and the driver; scenarios name it ("training": {"software": ...}).
enum class Software : std::uint8_t {
    megatron_lm,         ///< "megatron-lm": PyTorch in eager mode, layers as Megatron-LM writes them itself ("local")
    transformer_engine,  ///< "transformer-engine": the same around NVIDIA's Transformer Engine (Megatron-Core, NeMo)
    pytorch,             ///< "pytorch": PyTorch's own modules, each kernel one of its operators or a compiled one
    tensorflow,          ///< "tensorflow": a graph that a C++ executor walks
    orrery,              ///< "orrery": the C++ runtime of `orrery run`
};

/// Launches of CUDA for each kernel that a step program has: 88 for the 55 of a Megatron-LM layer (tools/
/// host_overhead.py with PyTorch 1.13). What our program counts as one elementwise kernel is several of PyTorch's.
inline constexpr double launches_of_kernel = 88.0 / 55.0;

/// How many of PyTorch's plain operators cost the host what one kernel of a layer of Megatron-LM's does: 6.4 us of
/// Python for four against 22.4 (tools/host_overhead.py), and 4 launches against 1.6. It makes 12.2 us of one on a DGX
/// H100, whose torch.nn.Linear takes 13.5 us forward (TransformerEngine's issue 2053).
inline constexpr unsigned plain_kernels_per_dispatch = 4;

/// Which way through a model a kernel goes: a forward's is called by modules in Python, which write down what autograd
/// needs; a backward's by autograd's engine in C++, which reads it.
enum class Way : std::uint8_t { forward, backward, neither };

/// Of one kernel of a step program: the software's own time on that processor, and how often it calls the driver.
struct HostTime {
    double seconds = 0;  ///< of forward and backward in the mean, and of what is neither
    double launches = 1;
    std::string_view origin;
};
const HostTime& host_time(Software software, HostProcessor processor);

/// Fills of what is allocated for each kernel of PyTorch, where its algorithms are deterministic: of the outputs of the
/// 44 kernels of a Megatron-LM layer's forward and backward 24 come from torch.empty and its like, which fill them then
/// (ATen, TensorFactories.h, fill_empty_deterministic_); those of products, sums and pointwise operators do not
/// (README.md).
inline constexpr double deterministic_fills = 24.0 / 44.0;

/// Seconds of one call of CUDA's driver on that processor, for GPUs whose profile was not measured on a node of their
/// own; 0 where there is no host. An estimate.
double launch_seconds(HostProcessor processor);
inline constexpr std::string_view launch_origin =
    "estimate: CUDA's launches take 5 to 9 us each, by processor (hardware/README.md)";

/// The software's own seconds for a kernel over those of a layer's in the mean: of layers written out in PyTorch
/// (tools/host_overhead.py; README.md). 1 for other software, of which nothing like it was measured.
double share_of_way(Software software, Way way);

/// Seconds of the host for each kernel that it dispatches. launch_seconds: of one call of the driver, which a
/// device's profile holds, and which takes as long either way.
double dispatch_seconds(Software software, HostProcessor processor, double launch_seconds, Way way = Way::neither);

/// Seconds of the host for each further product of a group that it launches one after the other: what a turn of the
/// loop takes in C++, its launch with it (README.md).
double further_product_seconds(Software software, double launch_seconds);

/// The same of the products of a rank's experts, for each of which Python has work of its own besides.
double further_expert_seconds(Software software, HostProcessor processor, double launch_seconds);

/// What DeepSpeed's third stage takes in Python alone around a linear layer of PyTorch's, each time that a forward or a
/// backward comes by: hooks that fetch and release its parameters, and autograd's functions around it (README.md).
double zero3_visit_seconds(HostProcessor processor);
/// The same for the gradients of a linear layer, which go into a bucket.
double zero3_bucket_seconds(HostProcessor processor);

}  // namespace orrery::hardware
