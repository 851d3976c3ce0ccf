// A scenario as a user asks for one: a file, a document or the usual keys alone, and what is changed in it.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/usual_keys.hpp"

namespace orrery::scenarios {

struct Request {
    std::string file;  ///< empty: the keys make the scenario
    /// What would be in the file, where it is at hand: `file` is then for messages, and for paths relative to it.
    std::shared_ptr<const nlohmann::json> given = nullptr;
    std::vector<std::string> set = {};  ///< "strategy.tensor=4"
    UsualKeys keys = {};
    std::string_view unnamed = "command line";  ///< what stands in for the file in messages
    std::string_view remedy = {};               ///< how to name a scenario, where there is none

    /// What messages call it.
    [[nodiscard]] std::string source() const;
    /// As it is given, stands in the file (which may be a pipe and is read each time), or as the keys make it. Throws
    /// Error, also when there is none of them.
    [[nodiscard]] nlohmann::json document() const;
    /// Throws Error.
    [[nodiscard]] Scenario load() const;
    /// Only its cluster. Throws Error.
    [[nodiscard]] topology::ClusterSpec load_cluster() const;
    /// The command line that says the same: "orrery simulate FILE --set KEY=VALUE".
    [[nodiscard]] std::string command(std::string_view name) const;
    /// What is changed in the document. Throws Error for what is no change.
    [[nodiscard]] std::vector<Override> overrides(const nlohmann::json& document) const;
    /// The same without what overrides() names.
    [[nodiscard]] Request unchanged() const;
    /// f(), whose errors that name a key and no file are of this scenario: what is found after it was read.
    template <class F>
    auto blamed(const F& f) const {
        try {
            return f();
        } catch (const Error& error) {
            throw error.pointer().empty() ? error : error.in_file(source());
        }
    }
};

}  // namespace orrery::scenarios
