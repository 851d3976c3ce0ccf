// The communicators of one rank: one for every (axes, lane) that any program uses, and one for each direction of the
// pipeline, so that lanes never wait for each other inside a library.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "kernels/communicator.hpp"
#include "strategies/step_program.hpp"

namespace orrery::run {

class Groups {
public:
    /// All ranks of the world call it together. world: null for a single rank. Throws Error when the world's size is
    /// not the mesh's.
    Groups(kernels::Communicator* world, const strategies::StepProgram& step);

    /// Null for a group of one rank.
    [[nodiscard]] kernels::Communicator* of(strategies::AxisSet axes, strategies::Lane lane) const;
    /// Messages towards later (forward) or earlier stages; ranks are those of the mesh.
    [[nodiscard]] kernels::Communicator& pipeline(bool forward) const { return *pipeline_[forward ? 0 : 1]; }

private:
    using Key = std::pair<std::uint8_t, strategies::Lane>;
    std::map<Key, std::unique_ptr<kernels::Communicator>> groups_;
    std::unique_ptr<kernels::Communicator> pipeline_[2];
};

}  // namespace orrery::run
