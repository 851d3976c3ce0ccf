// A question for `orrery capacity`: what is to be trained, by when or for how much, and the clusters that could.
#pragma once

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "documents/section.hpp"
#include "reliability/bill.hpp"
#include "reliability/options.hpp"

namespace orrery::capacity {

/// Half of the ten source medians of `orrery validate` are larger (README.md): how far a step may be off where a
/// question says nothing.
inline constexpr double usual_step_error = 0.18;

/// A plan on a candidate, as a scenario's document.
struct Plan {
    nlohmann::json scenario;
    std::string pointer;  ///< of its strategy: "/strategies/2"
};

/// A cluster with its prices.
struct Candidate {
    std::string name, pointer;  ///< "/candidates/0"
    std::vector<Plan> plans;    ///< empty: the best is to be searched for
    nlohmann::json scenario;    ///< without a strategy
    reliability::Options options;
    reliability::Costs costs;
};

struct Question {
    std::string file, name;
    double tokens = 0;
    double deadline_s = 0;  ///< from the begin of the training; 0: none
    double budget = 0;      ///< in the candidates' currency; 0: none
    double step_error = usual_step_error;
    std::uint64_t seed = 1;
    std::vector<Candidate> candidates;

    /// Whether all have prices, so that the cheaper one is the better; else the quicker one is.
    [[nodiscard]] bool by_money() const {
        return std::ranges::all_of(candidates, [](const Candidate& each) { return each.costs.stated(); });
    }
};

/// The keys of a question: the document, a candidate, its costs.
std::span<const documents::Section> question_sections();

/// An error that a plan's scenario met, at its place in the question.
Error in_question(const Error& error, const Question& question, const Candidate& candidate, const Plan& plan);

/// today: "2026-11-22", from which a deadline that is a date counts where the question has no "start". Throws Error
/// with file, pointer, what is wrong and how to mend it.
Question read_question(const nlohmann::json& document, const std::filesystem::path& file, const std::string& today);

}  // namespace orrery::capacity
