#include "cli/stopped_processes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "cli/spawn.hpp"
#include "kernels/processes.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

/// None where the name is no number.
std::optional<pid_t> number_of(const fs::path& entry) {
    const std::string name = entry.filename().string();
    pid_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
    return number;
}

/// "NAME=value" with a zero behind each; empty for a process that is gone or of another user.
std::string variables_of(pid_t process) {
    std::ifstream in(fmt::format("/proc/{}/environ", process), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::optional<std::string> value_in(std::string_view variables, std::string_view name) {
    while (!variables.empty()) {
        const std::string_view entry = variables.substr(0, variables.find('\0'));
        if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
            return std::string(entry.substr(name.size() + 1));
        variables.remove_prefix(std::min(variables.size(), entry.size() + 1));
    }
    return std::nullopt;
}

std::optional<std::uint32_t> rank_in(std::string_view variables) try {
    const auto own = kernels::processes([&](const char* name) { return value_in(variables, name); });
    return own ? std::optional(own->rank) : std::nullopt;
} catch (const Error&) {  // variables that name no rank: whoever set them is no rank of ours
    return std::nullopt;
}

}  // namespace

bool is_stopped(pid_t process) {
    std::ifstream in(fmt::format("/proc/{}/stat", process));
    std::string line;
    std::getline(in, line);
    const std::size_t name_end = line.rfind(") ");  // a program's name may hold anything
    return name_end != line.npos && name_end + 2 < line.size() && (line[name_end + 2] | 0x20) == 't';
}

std::vector<StoppedProcess> stopped_processes(pid_t starter) {
    std::vector<StoppedProcess> found;
    std::error_code none;
    for (fs::directory_iterator entry("/proc", none), end; !none && entry != end; entry.increment(none)) {
        const auto process = number_of(entry->path());
        if (!process || !is_stopped(*process)) continue;
        const std::string variables = variables_of(*process);
        if (value_in(variables, started_by) == std::to_string(starter)) found.push_back({*process, rank_in(variables)});
    }
    return found;
}

}  // namespace orrery::cli
