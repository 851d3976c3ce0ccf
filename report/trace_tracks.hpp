// Which ranks a timeline shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/perturbations.hpp"
#include "sim/step.hpp"

namespace orrery::report {

struct Track {
    std::size_t rank_class = 0;  ///< index into Step::trace
    std::uint32_t stage = 0;
    std::string title;  ///< "stage 0: rank 70, x 1.2"
};

struct Tracks {
    std::vector<Track> shown;       ///< by stage
    std::size_t stragglers_hidden;  ///< classes of slowed ranks that there is no room for
};

/// The first rank of each stage, of the same replica everywhere, and of each stage those that `stragglers` slow: one of
/// each entry, a few in all.
Tracks trace_tracks(const std::vector<scenarios::Straggler>& stragglers, const sim::Step& step);

/// These ranks, in their order. Throws std::invalid_argument where one is no class of its own.
Tracks tracks_of(const std::vector<std::uint32_t>& ranks, const std::vector<scenarios::Straggler>& stragglers,
                 const sim::Step& step);

}  // namespace orrery::report
