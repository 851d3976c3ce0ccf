// What each candidate of a question comes to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "planning/capacity/facts.hpp"
#include "planning/capacity/question.hpp"
#include "reliability/goodput.hpp"

namespace orrery::capacity {

using reliability::Range;

/// One plan on one candidate.
struct Option {
    std::size_t plan = 0;  ///< of the candidate
    Facts facts = {};
    double held = 0;  ///< GPUs that are paid: the candidate's, and its spare nodes'
    reliability::Forecast forecast = {};
    reliability::Bill bill = {};
    /// Quick and lucky to slow and unlucky: the step off by the question's step_error, failures at their tenths; energy
    /// and money by what machines draw besides.
    Range days = {}, gpu_hours = {}, mwh = {}, co2_tonnes = {};
    std::optional<Range> money = {};
};

/// How the answer moves with one input.
struct Swing {
    std::string input;  ///< "MTBF of nodes x 1/2 to x 2"
    Range days;         ///< at the input's two ends
    std::optional<Range> money = {};
    double effect = 0;  ///< the larger of both, relative: its rank
};

struct CandidateAnswer {
    std::string name;
    std::optional<Option> best = {};        ///< nothing where no plan can be
    std::vector<std::string> refused = {};  ///< plans that cannot and inputs at which none ends, and why
    std::string binds = {};           ///< "deadline: 31 days late", "memory: 4.2 GiB too much", "network 24% of a step"
    bool meets = false;               ///< memory, deadline and budget, by the mean
    std::vector<Swing> tornado = {};  ///< the largest effect first
};

struct Answer {
    std::vector<CandidateAnswer> candidates;
    std::vector<std::vector<Plan>> plans;  ///< of each candidate, those that it was asked with
    std::optional<std::size_t> chosen;     ///< the cheapest that meets all; the quickest where one has no price
    std::size_t predicted = 0, reused = 0;
};

/// Throws Error at its place in the question where no candidate can be read. A plan that is refused is an answer.
Answer answer(const Question& question, FactsFile& known, const ProgressCallback& progress = {});

}  // namespace orrery::capacity
