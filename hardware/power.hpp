// What accelerators and their nodes draw, by datasheet, and what a data centre adds.
#pragma once

#include <string_view>

namespace orrery::hardware {

/// Watts of one GPU.
struct Power {
    double gpu = 0;   ///< thermal design power; 0: not known
    double node = 0;  ///< the vendor's node at its maximum, GPUs included, over its GPUs; 0: not known
    double idle = 0;  ///< while it computes nothing; 0: not known
};
/// By the GPU's name in gpu.hpp's table.
Power power_of(std::string_view gpu);

/// The same of a board that is held to so many watts (0: it is not): its node draws as much less.
Power power_of(std::string_view gpu, double limit_watts);

/// Energy of the building over that of the machines, and the grid's kg of CO2 for a kWh: Touvron et al., "LLaMA",
/// arXiv 2302.13971, table 15, after Wu et al. 2022: PUE 1.1; the national average of the US.
inline constexpr double usual_pue = 1.1, usual_co2_per_kwh = 0.385;

}  // namespace orrery::hardware
