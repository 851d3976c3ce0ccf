#include "kernels/processes.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "base/error.hpp"

namespace orrery::kernels {

namespace {

constexpr std::uint16_t usual_port = 29400;  // of torchrun

std::uint32_t number(const char* name, const std::string& text, std::uint32_t most) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value > most)
        throw Error(fmt::format("the environment variable {} is \"{}\"", name, text),
                    fmt::format("a launcher sets it to a number up to {}", most));
    return value;
}

std::optional<std::uint32_t> find_number(const Environment& environment, const char* name,
                                         std::uint32_t most = std::numeric_limits<std::int32_t>::max()) {
    const std::optional<std::string> text = environment(name);
    if (!text) return std::nullopt;
    return number(name, *text, most);
}

/// A launcher's variables for the rank, the number of ranks, the rank on this host, and how many are on this host
/// (Slurm names its hosts instead).
struct Launcher {
    const char *rank, *ranks, *local_rank, *on_this_host;
};

constexpr std::array<Launcher, 3> launchers{{
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
}};

std::string address_of(const Environment& environment, const Launcher& launcher, const Processes& found) {
    if (const auto address = environment("MASTER_ADDR")) return *address;
    if (const auto hosts = environment("SLURM_STEP_NODELIST")) return first_host(*hosts);
    if (const auto hosts = environment("SLURM_JOB_NODELIST")) return first_host(*hosts);
    const char* const here = launcher.on_this_host;
    if (here != nullptr && find_number(environment, here).value_or(0) == found.ranks) return "127.0.0.1";
    throw Error(fmt::format("{} ranks on several hosts, and nothing says where rank 0 is", found.ranks),
                "set MASTER_ADDR and MASTER_PORT for every process (mpirun -x MASTER_ADDR -x MASTER_PORT)");
}

}  // namespace

std::optional<std::string> environment(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
}

std::string first_host(const std::string& list) {
    const std::size_t open = list.find('['), comma = list.find(',');
    if (open == list.npos || comma < open) return list.substr(0, comma);
    const std::size_t end = list.find_first_of("-,]", open);
    return list.substr(0, open) + list.substr(open + 1, end - open - 1);
}

std::optional<Processes> processes(const Environment& environment) {
    for (const Launcher& launcher : launchers) {
        const auto rank = find_number(environment, launcher.rank), ranks = find_number(environment, launcher.ranks);
        if (!rank || !ranks || *ranks < 2) continue;
        Processes found{*rank, *ranks, find_number(environment, launcher.local_rank).value_or(*rank), "", 0, ""};
        if (found.rank >= found.ranks)
            throw Error(fmt::format("{} is {} and {} is {}", launcher.rank, *rank, launcher.ranks, *ranks),
                        "ranks count from 0");
        found.address = address_of(environment, launcher, found);
        const std::uint32_t job = find_number(environment, "SLURM_JOB_ID").value_or(0) % 1000;
        found.port = static_cast<std::uint16_t>(
            find_number(environment, "MASTER_PORT", std::numeric_limits<std::uint16_t>::max())
                .value_or(usual_port + job));
        found.secret = environment(secret_variable).value_or("");
        return found;
    }
    return std::nullopt;
}

}  // namespace orrery::kernels
