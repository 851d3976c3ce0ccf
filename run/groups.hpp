// The communicators of one rank: one for every (axes, lane) that any program uses, and for each direction of the
// pipeline one for every other link, so that lanes never wait for each other inside a library.
#pragma once

#include <array>
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
    /// Messages of one link between stages, towards later (forward) or earlier ones; ranks are those of the mesh. A
    /// stage's sends and its receives never share a communicator: NCCL runs what one communicator is given in order,
    /// whatever the streams, and a send would wait for a receive that was queued before it.
    [[nodiscard]] kernels::Communicator& pipeline(bool forward, std::uint32_t from_stage, std::uint32_t to_stage) const;

private:
    using Key = std::pair<strategies::AxisSet::Bits, strategies::Lane>;
    std::map<Key, std::unique_ptr<kernels::Communicator>> groups_;
    static constexpr std::size_t links = 4;  ///< from an even stage, from an odd one, to the last, to the first
    std::array<std::array<std::unique_ptr<kernels::Communicator>, links>, 2> pipeline_;
};

}  // namespace orrery::run
