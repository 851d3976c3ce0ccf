// Two predictions beside each other: what differs in what was asked, and in the answers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/records.hpp"
#include "report/side.hpp"
#include "report/style.hpp"

namespace orrery::report {

/// A number of the answers; nothing where one of them does not have it.
struct ChangedNumber {
    enum class Unit { seconds, bytes, share, rate };
    std::string name;
    Unit unit = Unit::seconds;
    std::optional<double> before, after;

    [[nodiscard]] bool is_of_both() const { return before.has_value() && after.has_value(); }
    /// after / before - 1; 0 where nothing was before, or nothing is to be compared.
    [[nodiscard]] double relative() const { return is_of_both() && *before > 0 ? *after / *before - 1 : 0; }
};

struct Difference {
    std::string before, after;  ///< names of the scenarios
    std::vector<ChangedKey> keys{};
    std::vector<ChangedNumber> numbers{};    ///< the step first
    std::vector<ChangedNumber> breakdown{};  ///< of the step, by category
    bool fitted = true, fits = true;         ///< before, and after
};

/// Both documents are reports of `simulate --json`. Throws Error with file and pointer when one is not.
Difference difference(const nlohmann::json& before, const std::string& before_file, const nlohmann::json& after,
                      const std::string& after_file);

std::string to_text(const Difference& difference, Style style);
nlohmann::ordered_json to_json(const Difference& difference);
/// All of it as one table: part (scenario, result, breakdown), name, before, after.
Records records(const Difference& difference);

}  // namespace orrery::report
