#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <vector>

#include "base/error.hpp"
#include "kernels/backends.hpp"
#include "kernels/processes.hpp"
#include "kernels/tcp_world.hpp"

namespace orrery::kernels {

namespace {

const std::vector<Backend>& backends() {
    static const std::vector<Backend> all{cpu_backend(), cuda_backend()};
    return all;
}

}  // namespace

std::span<const std::string_view> device_kinds() {
    static const std::vector<std::string_view> kinds = [] {
        std::vector<std::string_view> built;
        for (const Backend& backend : backends())
            if (backend.built) built.push_back(backend.kind);
        return built;
    }();
    return kinds;
}

std::unique_ptr<Device> open_device(std::string_view name) {
    const std::size_t colon = std::min(name.find(':'), name.size());
    const std::string_view kind = name.substr(0, colon);
    const std::string_view detail = colon < name.size() ? name.substr(colon + 1) : "";
    for (const Backend& backend : backends()) {
        if (backend.kind != kind) continue;
        if (!backend.built)
            throw Error(fmt::format("this build has no device \"{}\"", kind), std::string(backend.missing));
        if (colon < name.size() && detail.empty())
            throw Error(fmt::format("device \"{}\" lacks a number after the colon", name), "such as cpu:4 or cuda:1");
        return backend.open(detail);
    }
    throw Error(fmt::format("unknown device \"{}\"", name),
                fmt::format("this build has {}",
                            device_kinds().empty() ? "none" : fmt::format("{}", fmt::join(device_kinds(), ", "))));
}

std::uint32_t launched_ranks() {
    // torchrun; Open MPI's mpirun; PMIx and Hydra (mpiexec of MPICH); Slurm's srun.
    for (const char* const variable : {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
        if (const char* const text = std::getenv(variable); text != nullptr)
            if (const long ranks = std::strtol(text, nullptr, 10); ranks > 1) return static_cast<std::uint32_t>(ranks);
    return 1;
}

std::unique_ptr<Communicator> world(Device& device, std::string_view communication) {
    if (communication == "tcp") {
        if (device.facts().kind != "cpu") throw Error("TCP connects CPU ranks", "GPU ranks use NCCL: leave it out");
        const auto started = processes(environment);
        return started ? tcp_world(device, *started) : nullptr;
    }
    if (communication != "auto")
        throw Error(fmt::format("unknown communication \"{}\"", communication), "auto (MPI or NCCL) or tcp");
    if (launched_ranks() == 1) return nullptr;
    return device.facts().kind == "cuda" ? nccl_world(device) : mpi_world(device);
}

}  // namespace orrery::kernels
