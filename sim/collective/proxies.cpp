#include "sim/collective/proxies.hpp"

#include <algorithm>

#include "hardware/nccl.hpp"
#include "hardware/network_libraries.hpp"

namespace orrery::sim {

using namespace hardware;

namespace {

/// Whether the version is at least that one; the newest is.
bool since(const std::optional<Version>& version, const Version& first) { return !version || *version >= first; }

/// Where nothing keeps the chunks large: an old plugin, or a version of NCCL whose small ones none can change.
bool binds(const NetworkLibraries& libraries) {
    const auto& [nccl, plugin] = libraries;
    const bool deaf = nccl && *nccl >= nccl_with_small_tree_chunks && *nccl < nccl_with_asked_chunks;
    return deaf || !since(plugin, aws_ofi_with_large_chunks);
}

double largest_chunk(std::uint32_t nodes, const Machine& machine) {
    const auto& [nccl, plugin] = machine.libraries;
    const bool small = nodes >= nccl_small_tree_nodes && since(nccl, nccl_with_small_tree_chunks);
    return small ? nccl_small_tree_chunk : since(nccl, nccl_with_nvls_chunks) ? nccl_nvls_chunk : nccl_step_bytes;
}

}  // namespace

double nvls_tree_chunk(double bytes, std::uint32_t rails, std::uint32_t nodes, const Machine& machine) {
    const double at_once = nccl_nvls_channels * rails;
    double chunk = largest_chunk(nodes, machine);
    struct Step {
        double rounds, chunk;
    };
    for (const auto& [rounds, smaller] : {Step{32, 256}, Step{16, 128}, Step{4, 64}, Step{1, 32}})
        if (bytes < rounds * at_once * chunk) chunk = std::min(chunk, smaller * kibibyte);
    return chunk;
}

double requests_per_chunk(double chunk, const Machine& machine) {
    const auto& [nccl, plugin] = machine.libraries;
    const double whole = since(plugin, aws_ofi_with_whole_messages) ? aws_ofi_whole_since : aws_ofi_whole_before;
    const double writes = chunk > whole ? p5_adapters_per_gpu : 1, flushes = since(nccl, nccl_without_flush) ? 0 : 1;
    const double sent = 2 * writes + 2, received = 2 + writes + 2 * flushes;
    return sent + received;
}

double proxy_seconds(double bytes, double node_bytes, std::uint32_t rails, std::uint32_t nodes,
                     const Machine& machine) {
    if (!machine.efa || !binds(machine.libraries)) return 0;
    const double chunk = nvls_tree_chunk(bytes, rails, nodes, machine);
    return node_bytes * bytes / rails / chunk * requests_per_chunk(chunk, machine) * aws_ofi_request_seconds;
}

}  // namespace orrery::sim
