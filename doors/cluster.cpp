#include "doors/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "hardware/gpu.hpp"
#include "topology/catalog.hpp"
#include "topology/usual_nodes.hpp"

namespace orrery::doors {

namespace {

const Origin& machines_or_file(const Draft& draft, const Origin& file) {
    return draft.machines.origin.place.file.empty() ? file : draft.machines.origin;
}

/// Whether there is a preset in the end.
bool put_preset(Draft& draft, const Request& request) {
    if (draft.find("/cluster/preset") != nullptr) return true;  // --set
    const Origin file = draft.whole_file();
    if (!request.cluster.empty()) {
        draft.set("/cluster/preset", request.cluster, {{"", "--cluster"}, ""});
        if (!request.gpu.empty()) draft.set("/cluster/gpu", request.gpu, {{"", "--gpu"}, ""});
        return true;
    }
    if (const std::string_view preset = topology::usual_nodes(request.gpu); !preset.empty()) {
        draft.set("/cluster/preset", std::string(preset), {{"", "--gpu"}, ""});
        draft.set("/cluster/gpu", hardware::find(request.gpu)->name, {{"", "--gpu"}, ""});
        return true;
    }
    draft.findings.refuse(
        file.place, "",
        request.gpu.empty() ? "files of this kind do not say on which GPUs they run"
                            : fmt::format("no usual node is known of the GPU {}", request.gpu),
        "name the cluster, --cluster dgx-h100 for one (`orrery list clusters`), or its GPU, --gpu H100");
    return false;
}

topology::ClusterSpec spec_of(const Draft& draft) {
    topology::ClusterSpec spec;
    if (const auto* const preset = draft.find("/cluster/preset"); preset != nullptr && preset->is_string())
        spec.preset = preset->get<std::string>();
    if (const auto* const gpu = draft.find("/cluster/gpu"); gpu != nullptr && gpu->is_string())
        spec.gpu = gpu->get<std::string>();
    spec.gpus_per_node =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(1024, draft.whole("/cluster/gpus_per_node", 0)));
    return spec;
}

/// GPUs of a node; nothing, and a finding, for a cluster that cannot be built.
std::optional<std::uint64_t> gpus_of_node(const topology::ClusterSpec& spec, Draft* draft) {
    try {
        return topology::build(spec).gpus_per_node();
    } catch (const Error& error) {
        if (draft == nullptr) return std::nullopt;
        const Origin* const origin = draft->origin(error.pointer());
        draft->findings.refuse(error, origin == nullptr ? draft->whole_file().place : origin->place);
        return std::nullopt;
    }
}

/// Nodes with fewer GPUs than the preset's, where the preset can have them.
std::optional<std::uint64_t> smaller_nodes(topology::ClusterSpec spec, std::uint64_t wanted, Draft& draft) {
    spec.gpus_per_node = static_cast<std::uint32_t>(wanted);
    if (!gpus_of_node(spec, nullptr)) return std::nullopt;
    draft.set("/cluster/gpus_per_node", wanted, draft.machines.origin);
    return wanted;
}

std::optional<std::uint64_t> counted_gpus(const Draft& draft, const Request& request) {
    constexpr std::uint64_t most = 1U << 27U;
    const Machines& machines = draft.machines;
    std::optional<std::uint64_t> gpus;
    if (request.gpus > 0)
        gpus = request.gpus;
    else if (machines.nodes && machines.gpus_per_node && *machines.nodes < most && *machines.gpus_per_node < most)
        gpus = *machines.nodes * *machines.gpus_per_node;
    else
        gpus = machines.gpus;
    return gpus && *gpus <= most ? gpus : std::nullopt;
}

void put_replicas(std::uint64_t gpus, const Origin& origin, Draft& draft) {
    if (draft.find("/strategy/data") != nullptr) return;
    constexpr std::uint64_t one = 1, most = 1U << 27U;  // --set is not checked yet
    const std::uint64_t tensor = std::clamp(draft.whole("/strategy/tensor", 1), one, most);
    const std::uint64_t pipeline = std::clamp(draft.whole("/strategy/pipeline", 1), one, most);
    const std::uint64_t context = std::clamp(draft.whole("/strategy/context", 1), one, most);
    std::uint64_t replica = tensor * pipeline;
    std::string product = fmt::format("tensor {} x pipeline {}", tensor, pipeline);
    if (context > 1 && replica <= most) {
        replica *= context;
        product += fmt::format(" x context {}", context);
    }
    if (gpus % replica == 0) return draft.set("/strategy/data", gpus / replica, origin);
    draft.findings.refuse(origin.place, origin.name,
                          fmt::format("{} GPUs are no multiple of {} = {}", gpus, product, replica),
                          fmt::format("--gpus {}, or another multiple", (gpus / replica + 1) * replica));
}

}  // namespace

bool is_nvidias(const Request& request) {
    topology::ClusterSpec spec;
    spec.preset = request.cluster.empty() ? topology::usual_nodes(request.gpu) : request.cluster;
    spec.gpu = request.gpu;
    try {
        return hardware::vendor(topology::build(spec).gpu().socket) == hardware::Vendor::nvidia;
    } catch (const Error&) {
        return true;  // put_cluster says what is wrong with it
    }
}

void put_cluster(Draft& draft, const Request& request) {
    const bool known = put_preset(draft, request);
    const Origin file = draft.whole_file();
    const Origin origin = request.gpus > 0 ? Origin{{"", "--gpus"}, ""} : machines_or_file(draft, file);
    const auto gpus = counted_gpus(draft, request);
    if (!gpus) {
        if (draft.find("/cluster/nodes") == nullptr && draft.find("/strategy/data") == nullptr)
            draft.findings.refuse(origin.place, "", "on how many GPUs it runs is not said", "--gpus N");
        return;
    }
    put_replicas(*gpus, origin, draft);
    if (!known || draft.find("/cluster/nodes") != nullptr) return;
    const topology::ClusterSpec spec = spec_of(draft);
    auto per_node = gpus_of_node(spec, &draft);
    if (!per_node) return;
    const auto used = draft.machines.gpus_per_node;
    if (used && *used < *per_node && *used < *gpus && request.gpus == 0) {
        if (const auto smaller = smaller_nodes(spec, *used, draft))
            per_node = smaller;
        else
            draft.findings.not_modelled(origin.place, origin.name,
                                        fmt::format("nodes have {} GPUs here, of which the launch uses {}: ranks stand "
                                                    "closer than they would",
                                                    *per_node, *used),
                                        "name a cluster with such nodes, --cluster ethernet for one");
    }
    draft.set("/cluster/nodes", (*gpus + *per_node - 1) / *per_node, origin);
}

}  // namespace orrery::doors
