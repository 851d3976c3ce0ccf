#include "sim/contention.hpp"

#include <algorithm>

#include "hardware/nccl.hpp"
#include "hardware/rccl.hpp"

namespace orrery::sim {

namespace {

/// Of each second, beside what makes a kernel take so many times as long: it gets on by the rest.
double lost(double slowdown) { return 1 - 1 / slowdown; }

/// Of a communicator inside a node, each on a multiprocessor of its own.
double channels_of(const topology::Gpu& gpu) {
    if (gpu.socket == hardware::Socket::oam_mi250) return hardware::rccl_mi250_channels;
    if (hardware::vendor(gpu.socket) == hardware::Vendor::amd) return hardware::rccl_channels;
    return hardware::nccl_channels(gpu.compute_capability);
}

Contention contention_of(const Network& network, const Network::Spread& spread, const topology::Gpu& gpu,
                         const calibrate::Predictor& predictor) {
    if (gpu.multiprocessors == 0) return contention_on_core(predictor);
    const double slowdown = predictor.constant("overlap_slowdown");
    const double all = gpu.multiprocessors, inside = channels_of(gpu);
    const double by_traffic = std::max(1.0, slowdown * (all - inside) / all);
    if (spread.nodes < 2) return {lost(slowdown), lost(by_traffic)};
    const topology::Cluster& cluster = network.cluster();
    const double nics = std::max(1.0, 1.0 * spread.rails * cluster.nics_per_node() / cluster.gpus_per_node());
    const double channels = std::min(inside, 2 * nics);
    const double carried = nics * cluster.nic_bytes_per_second() / cluster.intra_node_bytes_per_second();
    const double slowed = 1 + (by_traffic - 1) * std::min(1.0, carried);
    return {std::min(lost(slowdown), lost(slowed * all / (all - channels))), lost(slowed)};
}

}  // namespace

Contention contention_of(const Network& network, std::span<const topology::GpuId> group, const topology::Gpu& gpu,
                         const calibrate::Predictor& predictor) {
    return contention_of(network, network.spread_of(group), gpu, predictor);
}

Contention contention_on_core(const calibrate::Predictor& predictor) {
    const double lost = predictor.constant("overlap_slowdown") - 1;
    return {lost, lost};
}

double least_contention(const Network& network, const topology::Gpu& gpu, const calibrate::Predictor& predictor) {
    const double inside = contention_of(network, {1, 1}, gpu, predictor).traffic;
    if (network.cluster().nodes() < 2) return inside;
    return std::min(inside, contention_of(network, {2, 1}, gpu, predictor).traffic);
}

}  // namespace orrery::sim
