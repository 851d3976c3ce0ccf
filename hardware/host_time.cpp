#include "hardware/host_time.hpp"

#include "base/enum_table.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace orrery::hardware {

namespace {

constexpr EnumNames<HostProcessor> processor_names{"none",       "Xeon E5-2698 v4", "EPYC 7742",
                                                   "Xeon 8480C", "Xeon 8570",       "Grace"};
constexpr EnumNames<Software> software_spellings{"megatron-lm", "orrery"};

constexpr double us = 1e-6;

constexpr HostTime no_host{0, 0, "the device needs no host to hand it its kernels"};

/// Launches of CUDA for each kernel that a step program has: 88 for the 55 of a Megatron-LM layer (tools/
/// host_overhead.py with PyTorch 1.13). What our program counts as one elementwise kernel is several of PyTorch's.
constexpr double megatron_launches = 88.0 / 55.0;

/// 16 us a kernel of a Megatron-LM layer's forward, recomputation and backward, measured with tools/host_overhead.py
/// on an EPYC of 2024; times what the processor is slower (AMD's published gains per generation, boost clocks); and
/// the switches between the threads of Python and of autograd, reasoned (README.md).
constexpr HostTime megatron(double slower, double switches_us) {
    return {(16 * slower + switches_us) * us, megatron_launches,
            "estimate: 16 us per kernel of a Megatron-LM layer measured with tools/host_overhead.py on an EPYC of "
            "2024, scaled to this processor, plus switches between Python and autograd (hardware/README.md)"};
}

/// Of the driver, by processor as above.
constexpr EnumTable<HostProcessor, double> launches{0, 9 * us, 9 * us, 6 * us, 5.5 * us, 6 * us};

constexpr HostTime own_runtime{0, 1, "each operation is one call from C++; beside the launch nothing was measured"};

using Row = EnumTable<HostProcessor, HostTime>;

constexpr EnumTable<Software, Row> table{
    // none, Xeon E5-2698 v4, EPYC 7742, Xeon 8480C, Xeon 8570, Grace
    Row{no_host, megatron(2.0, 3.6), megatron(1.9, 3.2), megatron(1.25, 2.4), megatron(1.2, 2), megatron(1.5, 2.4)},
    Row{no_host, own_runtime, own_runtime, own_runtime, own_runtime, own_runtime},
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
