#include "hardware/host_time.hpp"

#include "base/enum_table.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace orrery::hardware {

namespace {

constexpr EnumNames<HostProcessor> processor_names{"none",       "Xeon E5-2698 v4", "EPYC 7742",
                                                   "Xeon 8480C", "Xeon 8570",       "Grace"};
constexpr EnumNames<Software> software_spellings{"megatron-lm", "transformer-engine", "tensorflow", "orrery"};

constexpr double us = 1e-6;  ///< SI

constexpr HostTime no_host{0, 0, "the device needs no host to hand it its kernels"};

/// Launches of CUDA for each kernel that a step program has: 88 for the 55 of a Megatron-LM layer (tools/
/// host_overhead.py with PyTorch 1.13). What our program counts as one elementwise kernel is several of PyTorch's.
constexpr double megatron_launches = 88.0 / 55.0;

/// What a processor is slower than the EPYC of 2024 on which tools/host_overhead.py ran, and what switches between the
/// threads of Python and of autograd cost there (reasoned, README.md).
struct Pace {
    double slower, switches_us;
};
/// NVIDIA's Grace against the Xeon 8480C, where published comparisons disagree: 37.08 against 13.48 us of the host for
/// one forward of torch.nn.Linear, GB200 against DGX H100 (TransformerEngine, issue 2053, August 2025), and 197.4
/// against 181.7 ns for one call through PyTorch's dispatcher, GB200 against H100 (PyTorch, issue 187862, June 2026).
/// The geometric mean of 2.75 and 1.09.
constexpr double grace_over_xeon = 1.7287;
constexpr Pace xeon_8480c{1.25, 2.4},
    grace{xeon_8480c.slower * grace_over_xeon, xeon_8480c.switches_us*grace_over_xeon};

/// Of the driver, by processor as above.
constexpr EnumTable<HostProcessor, double> launches{0, 9 * us, 9 * us, 6 * us, 5.5 * us, 6 * us* grace_over_xeon};

/// 16 us a kernel of a Megatron-LM layer's forward, recomputation and backward, measured with tools/host_overhead.py.
constexpr HostTime megatron(Pace pace) {
    return {(16 * pace.slower + pace.switches_us) * us, megatron_launches,
            "estimate: 16 us per kernel of a Megatron-LM layer measured with tools/host_overhead.py on an EPYC of "
            "2024, scaled to this processor, plus switches between Python and autograd (hardware/README.md)"};
}

/// te.Linear over torch.nn.Linear on the host: 99.66 over 37.08 us and 90.53 over 33.17 (forward on GB200 and GH200,
/// issue 2053), 0.574 over 0.176 ms (forward and backward on H100, issue 445): 3.0 in their geometric mean. Three
/// quarters of a layer's kernels are its modules' (norms, linear layers, attention); the rest stays PyTorch's.
constexpr double engine_linear = 3.0, engine_share = 0.75, engine_layer = 1 + engine_share * (engine_linear - 1);

constexpr HostTime engine(Pace pace) {
    const HostTime plain = megatron(pace);
    return {engine_layer * plain.seconds, engine_layer * plain.launches,
            "estimate: as megatron-lm, 2.5 times as long: te.Linear takes 2.7 to 3.3 times as long as torch.nn.Linear "
            "(TransformerEngine, issues 2053 and 445), for three quarters of a layer's kernels (hardware/README.md)"};
}

constexpr HostTime graph_executor{0, 1, "no Python between kernels; beside the launch nothing was measured"};
constexpr HostTime own_runtime{0, 1, "each operation is one call from C++; beside the launch nothing was measured"};

using Row = EnumTable<HostProcessor, HostTime>;

/// The same on every processor, whose launches differ.
constexpr Row everywhere(HostTime time) { return {no_host, time, time, time, time, time}; }

/// AMD's published gains per generation and boost clocks (README.md).
constexpr Pace xeon_e5{2.0, 3.6}, epyc_7742{1.9, 3.2}, xeon_8570{1.2, 2};

constexpr EnumTable<Software, Row> table{
    // none, Xeon E5-2698 v4, EPYC 7742, Xeon 8480C, Xeon 8570, Grace
    Row{no_host, megatron(xeon_e5), megatron(epyc_7742), megatron(xeon_8480c), megatron(xeon_8570), megatron(grace)},
    Row{no_host, engine(xeon_e5), engine(epyc_7742), engine(xeon_8480c), engine(xeon_8570), engine(grace)},
    everywhere(graph_executor),
    everywhere(own_runtime),
};

}  // namespace

std::string_view name(HostProcessor processor) { return processor_names[processor]; }
std::string_view name(Software software) { return software_spellings[software]; }

std::string software_names() { return join(software_spellings); }

Software software_from(std::string_view name) {
    if (const auto found = software_spellings.find(name)) return *found;
    throw Error("unknown software \"" + std::string(name) + "\"", "one of " + software_names());
}

double launch_seconds(HostProcessor processor) { return launches[processor]; }

const HostTime& host_time(Software software, HostProcessor processor) { return table[software][processor]; }

double dispatch_seconds(Software software, HostProcessor processor, double launch_seconds) {
    const HostTime& time = host_time(software, processor);
    return time.seconds + time.launches * launch_seconds;
}

}  // namespace orrery::hardware
