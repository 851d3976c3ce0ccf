// The time between kernels: what the host takes to launch one, and the device from one to the next.
#include "calibrate/suite/suite.hpp"

namespace orrery::calibrate {

std::vector<Subject> launch_grid(const Bench&) {
    return {OverheadShape{OverheadShape::Kind::launch}, OverheadShape{OverheadShape::Kind::gap}};
}

}  // namespace orrery::calibrate
