// What a tree of Whale's scopes says, as numbers.
//
// Every scope takes GPUs: a replica and a split so many times those of what is inside, a pipeline those of all its
// stages, scopes beside each other the same ones. So copies inside copies are copies, wherever they stand, and a plan
// has one number of them; a split is of layers, of experts or of classes, by what is inside.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "documents/reader.hpp"
#include "models/model_spec.hpp"
#include "strategies/schedule/schedule.hpp"

namespace orrery::scenarios {

/// A number and the pointer of the scope that says it, "" where none does.
struct Said {
    std::uint64_t number = 1;
    std::string at = {};

    [[nodiscard]] bool said() const { return !at.empty(); }
};

struct StagesSaid {
    Said count;
    std::vector<std::uint32_t> layers = {};  ///< of each, or of each chunk; empty: as many on each
    Said micro_batches = {};                 ///< of each replica
    std::optional<strategies::ScheduleKind> schedule = {};
    std::string schedule_at = {};
};

/// Parts of a model that a scope may be of. rest: all that no scope beside it names.
enum class Part : std::uint8_t { rest, layers, experts, backbone, classifier };

struct Division {
    Part part = Part::rest;
    Said replicas = {};
    bool fills = false;  ///< as many replicas as the GPUs hold
    Said tensor = {}, expert = {}, classes = {};
    Said within_expert = {};  ///< GPUs among which each expert is divided, where that is said of experts alone
    Said expert_tensor = {};  ///< 1 where experts are whole beside split layers
    std::optional<StagesSaid> stages = {};
};

/// strategy: the section, which has "scopes". Throws Error with file, pointer and remedy for what is no tree of scopes
/// of this model, and for what no plan says.
Division read_scopes(const documents::Reader& strategy, const models::ModelSpec& model);

}  // namespace orrery::scenarios
