// The keys of a scenario file: one table for the loader, its messages, the schema and the documentation.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "documents/section.hpp"

namespace orrery::scenarios {

/// An object of the scenario file.
enum class Place : std::uint8_t {
    document,
    model,
    cluster,
    strategy,
    scope,
    training,
    outputs,
    perturbations,
    other_job,
    reliability,
    checkpoint,
    storage,
    synchrony
};

/// What each place may hold, in the order of Place. Keys of model, strategy and training are the fields of ModelSpec,
/// Strategy and Training, and strategy.scopes; those of reliability, checkpoint, storage and synchrony of their
/// options.
std::span<const documents::Section> sections();
const documents::Section& section(Place place);

}  // namespace orrery::scenarios
