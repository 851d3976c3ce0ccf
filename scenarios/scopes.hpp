// Whale's scopes (Jia et al., USENIX ATC'22; EPL): replica, split, pipeline, stage and auto_parallel over parts of a
// model, one in another, in place of the keys of "strategy" that say the same.
//
// They come to those keys before anything reads them, so that all else knows keys alone: a plan written in scopes is
// the plan. What keys cannot say is refused where the scope stands.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "documents/reader.hpp"
#include "models/model_spec.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/scope_tree.hpp"

namespace orrery::scenarios {

/// What scopes come to.
class Expansion {
public:
    Expansion() = default;
    /// strategy: has "scopes". Throws Error with file and pointer: for what is no scope, for what no plan says, and for
    /// keys beside them that scopes stand for.
    Expansion(const documents::Reader& strategy, const documents::Reader& training, const models::ModelSpec& model);

    /// Writes the keys in place of "scopes" into the section's JSON.
    void write(nlohmann::json& strategy) const;
    /// --set has changed a key: what the scopes said of it holds no more.
    void leave_to(const Override& change);
    /// Of a key of "strategy" or "training" by its pointer: the scope that says it, or else could; "" where scopes do
    /// not stand for it, or a change does.
    [[nodiscard]] std::string place(std::string_view pointer) const;
    /// The micro-batch, where the scopes say how many there are. The plan's data ranks are known. Throws Error with
    /// pointer where they do not divide the batch.
    void divide_batch(strategies::Plan& plan) const;

private:
    struct Key {
        std::optional<documents::Setting> value;  ///< nothing where no scope says it
        std::string at;                           ///< pointer of the scope that does, else of all
    };
    std::map<std::string, Key, std::less<>> keys_;  // by the key's name
    Said micro_batches_;
};

/// "strategy" of a scenario that loads, with keys in place of its scopes; file: for paths relative to it. Throws Error.
nlohmann::json strategy_in_keys(const nlohmann::json& document, const std::filesystem::path& file);

/// Makes changes in a document. Where it then has scopes, those of keys that scopes stand for are left out and
/// returned: made behind the scopes they hold whatever these say. Throws Error as apply_override() does.
std::vector<Override> apply_before_scopes(nlohmann::json& document, const std::vector<Override>& changes);

}  // namespace orrery::scenarios
