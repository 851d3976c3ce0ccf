// What Slurm would set for a script by its #SBATCH lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::doors::shell {

struct SlurmVariable {
    std::string name, value;
    std::uint32_t line = 0;
};

/// SLURM_NNODES and its kin, as far as the script's lines say them.
std::vector<SlurmVariable> slurm_variables(std::string_view script);

}  // namespace orrery::doors::shell
