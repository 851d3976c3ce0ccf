#include "cli/launch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "kernels/processes.hpp"

namespace orrery::cli {

Launch launch_here(std::uint32_t ranks, const std::string& device) {
    Launch launch;
    launch.ranks = ranks;
    launch.cores = std::max(1U, std::thread::hardware_concurrency());
    launch.bound = device.starts_with("cpu");
    launch.root = ::geteuid() == 0;
    launch.allocated = kernels::environment("SLURM_JOB_ID").has_value();
    const std::size_t colon = device.find(':');
    if (colon == std::string::npos || !launch.bound) return launch;
    try {
        launch.threads = static_cast<std::uint32_t>(std::stoul(device.substr(colon + 1)));
    } catch (const std::exception&) {
        throw Error(fmt::format("device \"{}\" has no number of threads behind its colon", device), "such as cpu:4");
    }
    return launch;
}

bool elsewhere(const Launch& launch) { return !launch.hosts.empty() || (launch.allocated && launch.ranks > 1); }

void share_secret() {
    if (kernels::environment(kernels::secret_variable)) return;
    std::random_device random;
    std::string secret;
    for (int word = 0; word < 8; ++word) secret += fmt::format("{:08x}", random());
    ::setenv(kernels::secret_variable, secret.c_str(), 1);
}

std::vector<std::string> launcher_words(const Launch& launch) {
    if (launch.ranks == 1 && launch.hosts.empty()) return {};
    std::vector<std::string> words{"mpirun", "-n", fmt::format("{}", launch.ranks)};
    // Who failed, and where, is said by us; but we see nothing of a rank on a host that shares no files with this one.
    if (!elsewhere(launch)) words.emplace_back("--quiet");
    if (launch.root) words.emplace_back("--allow-run-as-root");  // refused otherwise, in containers too
    const auto add = [&](std::initializer_list<const char*> list) {
        words.insert(words.end(), list.begin(), list.end());
    };
    if (!launch.hosts.empty()) {
        add({"--hostfile", launch.hosts.c_str()});
        add({"--mca", "plm_rsh_args", "-o BatchMode=yes -o ConnectTimeout=5"});
    }
    if (elsewhere(launch)) add({"-x", kernels::secret_variable});  // the name only: command lines are seen by all
    const std::uint64_t wanted = std::uint64_t{launch.ranks} * launch.threads;
    const bool enough = elsewhere(launch) || wanted <= launch.cores;
    if (launch.bound && enough) {
        words.emplace_back("--map-by");
        words.push_back(fmt::format("slot:pe={}", launch.threads));
        add({"--bind-to", "core"});
    } else {
        if (!elsewhere(launch)) words.emplace_back("--oversubscribe");
        add({"--bind-to", "none"});
    }
    words.insert(words.end(), launch.more.begin(), launch.more.end());
    return words;
}

std::uint32_t count_hosts(const std::string& file) {
    std::istringstream in(read_file(file, "--hosts names a file with one host a line, as in: node1 slots=2"));
    std::size_t number = 0;
    std::uint32_t hosts = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        line.erase(std::min(line.find('#'), line.size()));
        std::istringstream words(line);
        std::string host, setting;
        if (!(words >> host)) continue;
        ++hosts;
        while (words >> setting)
            if (setting.find('=') == std::string::npos)
                throw Error(file, "", fmt::format("line {}: \"{}\" is no setting", number, setting),
                            "a line is a host and perhaps slots=N");
    }
    if (hosts == 0) throw Error(file, "", "names no host", "one host a line, as in: node1 slots=2");
    return hosts;
}

}  // namespace orrery::cli
