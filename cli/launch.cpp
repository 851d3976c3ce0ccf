#include "cli/launch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/error.hpp"

namespace orrery::cli {

Launch launch_here(std::uint32_t ranks, const std::string& device) {
    Launch launch;
    launch.ranks = ranks;
    launch.cores = std::max(1U, std::thread::hardware_concurrency());
    launch.bound = device.starts_with("cpu");
    launch.root = ::geteuid() == 0;
    const std::size_t colon = device.find(':');
    if (colon == std::string::npos || !launch.bound) return launch;
    try {
        launch.threads = static_cast<std::uint32_t>(std::stoul(device.substr(colon + 1)));
    } catch (const std::exception&) {
        throw Error(fmt::format("device \"{}\" has no number of threads behind its colon", device), "such as cpu:4");
    }
    return launch;
}

std::vector<std::string> launcher_words(const Launch& launch) {
    if (launch.ranks == 1 && launch.hosts.empty()) return {};
    // quiet: who failed, and where, is said by us.
    std::vector<std::string> words{"mpirun", "--quiet", "-n", fmt::format("{}", launch.ranks)};
    if (launch.root) words.emplace_back("--allow-run-as-root");  // refused otherwise, in containers too
    const auto add = [&](std::initializer_list<const char*> list) {
        words.insert(words.end(), list.begin(), list.end());
    };
    const std::uint64_t wanted = std::uint64_t{launch.ranks} * launch.threads;
    if (!launch.hosts.empty()) {
        add({"--hostfile", launch.hosts.c_str()});
        add({"--mca", "plm_rsh_args", "-o BatchMode=yes -o ConnectTimeout=5"});
        add({"--bind-to", launch.bound ? "core" : "none"});
    } else if (launch.bound && wanted <= launch.cores) {
        words.emplace_back("--map-by");
        words.push_back(fmt::format("slot:pe={}", launch.threads));
        add({"--bind-to", "core"});
    } else {
        add({"--oversubscribe", "--bind-to", "none"});
    }
    words.insert(words.end(), launch.more.begin(), launch.more.end());
    return words;
}

void check_hosts(const std::string& file) {
    std::ifstream in(file);
    if (!in) throw Error(file, "", "cannot be read", "--hosts names a file with one host a line, as in: node1 slots=2");
    std::size_t number = 0, hosts = 0;
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
}

}  // namespace orrery::cli
