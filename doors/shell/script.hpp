// What a launch script would start: its commands read in order, variables kept, nothing run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "doors/shell/traced.hpp"

namespace orrery::doors::shell {

/// The words of one command that the script would start.
using Launch = std::vector<Traced>;

/// What the reading of a script had to leave open.
struct Remark {
    std::uint32_t line = 0;
    std::string what, remedy;
};

struct Script {
    std::vector<Launch> launches;  ///< those that were asked for, in order
    std::vector<Remark> remarks;
};

/// Reads a script. wanted: which commands are launches. defines: variables that it takes from its environment; "1" is
/// its first argument. #SBATCH lines give Slurm's variables. Throws Error for what is nested or grows beyond any
/// script.
Script read_script(std::string_view text, const std::map<std::string, std::string>& defines,
                   const std::function<bool(const Launch&)>& wanted);

}  // namespace orrery::doors::shell
