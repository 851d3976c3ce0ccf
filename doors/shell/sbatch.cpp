#include "doors/shell/sbatch.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace orrery::doors::shell {

namespace {

struct Option {
    std::string_view text;
    std::array<std::string_view, 2> variables;
};
constexpr std::array<Option, 7> options{{
    {"--nodes", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}},
    {"-N", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}},
    {"--gres", {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"}},
    {"--gpus-per-node", {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"}},
    {"--ntasks-per-node", {"SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}},
    {"--ntasks", {"SLURM_NTASKS", "SLURM_NPROCS"}},
    {"-n", {"SLURM_NTASKS", "SLURM_NPROCS"}},
}};

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
    return text;
}

/// "gpu:a100:8", "gpu:8,nvme:1" and "8" say 8; anything else none.
std::string number_of(std::string_view value) {
    if (const std::size_t gpus = value.find("gpu:"); gpus != value.npos) {
        value = value.substr(gpus);
        value = value.substr(0, value.find(','));
    } else if (value.find(':') != value.npos) {
        return "";  // of something else
    }
    value = value.substr(0, value.find('#'));
    if (const std::size_t colon = value.rfind(':'); colon != value.npos) value = value.substr(colon + 1);
    for (const unsigned char c : value)
        if (std::isdigit(c) == 0) return "";
    return std::string(value);
}

/// The next word of a line; what it was is taken off.
std::string_view next_word(std::string_view& rest) {
    rest = trimmed(rest);
    std::size_t end = 0;
    while (end < rest.size() && std::isspace(static_cast<unsigned char>(rest[end])) == 0) ++end;
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(end);
    return word;
}

/// "--nodes=4 --gres gpu:8 -N 4": any number of options, up to a comment.
void read_line(std::string_view rest, std::uint32_t line, std::vector<SlurmVariable>& to) {
    for (std::string_view word = next_word(rest); !word.empty() && word.front() != '#'; word = next_word(rest)) {
        const std::size_t equals = word.find('=');
        const auto* const option = std::ranges::find(options, word.substr(0, equals), &Option::text);
        if (option == options.end()) continue;
        const std::string number = number_of(equals == word.npos ? next_word(rest) : word.substr(equals + 1));
        if (number.empty()) continue;
        for (const std::string_view variable : option->variables) to.push_back({std::string(variable), number, line});
    }
}

}  // namespace

std::vector<SlurmVariable> slurm_variables(std::string_view script) {
    constexpr std::string_view mark = "#SBATCH";
    std::vector<SlurmVariable> found;
    std::uint32_t line = 1;
    while (!script.empty()) {
        const std::size_t end = std::min(script.find('\n'), script.size());
        const std::string_view text = script.substr(0, end);
        if (text.starts_with(mark)) read_line(trimmed(text.substr(mark.size())), line, found);
        script.remove_prefix(std::min(end + 1, script.size()));
        ++line;
    }
    return found;
}

}  // namespace orrery::doors::shell
