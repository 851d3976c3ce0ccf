// One of two reports that are held against each other.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace orrery::report {

/// A document that `simulate --json` or `run --json` wrote, and its file. Everything throws Error with file, pointer
/// and remedy where the document lacks what is asked for, or has another kind of it.
struct Side {
    const nlohmann::json& document;
    const std::string& file;

    [[nodiscard]] bool has(const std::string& pointer) const;
    [[nodiscard]] const nlohmann::json& at(const std::string& pointer) const;
    /// Finite, and at least `least`.
    [[nodiscard]] double number(const std::string& pointer, double least) const;
    [[nodiscard]] std::size_t index(const std::string& pointer) const;
    [[nodiscard]] std::string text(const std::string& pointer) const;
    [[nodiscard]] std::size_t size(const std::string& pointer) const;
    /// Throws where another version of the schema is stated.
    void check_version() const;
};

/// A key of the scenario that differs; a text for "not there".
struct ChangedKey {
    std::string pointer;  ///< "/strategy/tensor"
    std::string before, after;
};

/// Of two scenarios; names and descriptions say nothing of what is asked.
std::vector<ChangedKey> changed_keys(const Side& before, const Side& after);

}  // namespace orrery::report
