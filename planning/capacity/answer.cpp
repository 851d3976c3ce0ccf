#include "planning/capacity/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/units.hpp"
#include "documents/write_fields.hpp"
#include "planning/search/search.hpp"
#include "strategies/plan_fields.hpp"

namespace orrery::capacity {

namespace {

using nlohmann::json;
using reliability::Forecast;
using reliability::Job;
using reliability::NeverEnds;

constexpr double day = 86400;

/// A candidate's rates of NICs, each of them by this factor.
constexpr std::array network_factors{1.0, 0.5, 2.0};

/// Predictions that are there, or made now.
class Predictions {
public:
    Predictions(const Question& question, FactsFile& known, const ProgressCallback& progress)
        : question_(question),
          folder_(std::filesystem::path(question.file).parent_path()),
          known_(known),
          progress_(progress) {
        for (const Candidate& candidate : question.candidates) total_ += candidate.plans.size() + 2;
    }

    /// network: of the NICs' rate. Throws Error at its place in the question.
    Facts facts(const Candidate& candidate, const Plan& plan, double network = 1) {
        json document = plan.scenario;
        if (network != 1) slow_nics(document, network);
        const std::string key = facts_key(document, folder_);
        const Facts* const found = known_.find(key);
        if (found != nullptr) {
            ++reused;
            step();
            return *found;
        }
        try {
            scenarios::Scenario scenario = scenarios::from_json(document, question_.file);
            scenario.whole_run.emplace().failures.per_1000_node_days = 0;  // failures and storage come after
            ++predicted;
            const Facts& made = known_.add(key, facts_of(scenario, profiles_, session_));
            step();
            return made;
        } catch (const Error& error) {
            throw in_question(error, question_, candidate, plan);
        }
    }
    void step() {
        if (progress_) progress_(std::min(++done_, total_), total_);
    }

    [[nodiscard]] calibrate::ProfileStore& profiles() { return profiles_; }

    std::size_t predicted = 0, reused = 0;

private:
    /// What the preset's NICs have is known once it is built.
    void slow_nics(json& document, double factor) const {
        json one = document;
        const topology::Cluster cluster = topology::build(scenarios::from_json(one, question_.file).cluster);
        document["cluster"]["nic_rate"] = fmt::format("{} B/s", cluster.nic_bytes_per_second() * factor);
    }

    const Question& question_;
    std::filesystem::path folder_;
    FactsFile& known_;
    const ProgressCallback& progress_;
    calibrate::ProfileStore profiles_;
    sim::Session session_;
    std::size_t done_ = 0, total_ = 0;
};

/// Inputs that a tornado turns.
struct Turned {
    double price = 1, mtbf = 1, step = 1, loaders = 1;
};

/// The same options with nodes that fail this many times as rarely.
reliability::Options with_mtbf(const reliability::Options& options, const Job& job, double factor) {
    reliability::Options turned = options;
    const double per_node = static_cast<double>(job.gpus) / job.nodes;
    const double rate = reliability::node_failure_rate(options.failures, per_node) / factor;
    constexpr double least = 1, most = 1e13;  // what the key can say
    turned.failures.node_mtbf_s = rate > 0 ? std::clamp(1 / rate, least, most) : 0;
    turned.failures.per_1000_node_days = rate > 0 ? -1 : 0;
    return turned;
}

reliability::Costs with_price(const reliability::Costs& costs, double factor) {
    reliability::Costs turned = costs;
    turned.gpu_hour *= factor;
    turned.purchase *= factor;
    turned.kwh *= factor;
    return turned;
}

struct Outcome {
    Forecast forecast;
    reliability::Bill bill;
};

double held(const Candidate& candidate, const Facts& facts) {
    const Job& job = facts.job;
    return reliability::held_gpus(job.gpus, job.nodes, candidate.options.failures.spare_nodes, job.idle_gpus);
}

Outcome run(const Question& question, const Candidate& candidate, const Facts& facts, const Turned& turned = {}) {
    Job job = facts.job;
    job.step_s *= turned.step;
    reliability::Options options =
        turned.mtbf == 1 ? candidate.options : with_mtbf(candidate.options, job, turned.mtbf);
    options.storage.tokens_per_s_per_node *= turned.loaders;
    Outcome outcome;
    outcome.forecast = reliability::forecast(reliability::training_run(job, options), question.seed);
    outcome.bill = reliability::bill(with_price(candidate.costs, turned.price), facts.watts, held(candidate, facts),
                                     outcome.forecast.seconds());
    return outcome;
}

Option price(const Question& question, const Candidate& candidate, std::size_t plan, const Facts& facts) {
    Option option{.plan = plan, .facts = facts, .held = held(candidate, facts)};
    const Outcome usual = run(question, candidate, facts);
    option.forecast = usual.forecast;
    option.bill = usual.bill;
    const auto at = [&](double step, double Forecast::*seconds) {
        try {
            return run(question, candidate, facts, {.step = step}).forecast.*seconds;
        } catch (const NeverEnds& error) {
            throw NeverEnds(error.file(), error.pointer(),
                            fmt::format("at {:g} of the step: {}", step, error.message()), error.hint());
        }
    };
    const double low = at(1 - question.step_error, &Forecast::seconds_p10);
    const double high = at(1 + question.step_error, &Forecast::seconds_p90);
    const reliability::Bill least = reliability::bill(candidate.costs, facts.watts, option.held, low);
    const reliability::Bill most = reliability::bill(candidate.costs, facts.watts, option.held, high);
    option.days = {low / day, high / day};
    option.gpu_hours = {least.gpu_hours, most.gpu_hours};
    option.mwh = {least.mwh.low, most.mwh.high};
    option.co2_tonnes = {least.co2_tonnes.low, most.co2_tonnes.high};
    if (least.money) option.money = Range{least.money->low, most.money->high};
    return option;
}

/// The mean of what is paid.
double money(const Option& option) {
    return option.bill.money ? (option.bill.money->low + option.bill.money->high) / 2 : 0;
}

bool in_time(const Question& question, const Option& option) {
    return question.deadline_s == 0 || option.forecast.seconds() <= question.deadline_s;
}
bool affordable(const Question& question, const Option& option) {
    return question.budget == 0 || !option.bill.money || money(option) <= question.budget;
}
bool meets(const Question& question, const Option& option) {
    return option.facts.fits && in_time(question, option) && affordable(question, option);
}

/// Whether a is the better answer: what meets all before what does not, then the cheaper where all have prices, then
/// the quicker.
bool better(const Question& question, const Option& a, const Option& b) {
    if (a.facts.fits != b.facts.fits) return a.facts.fits;
    if (meets(question, a) != meets(question, b)) return meets(question, a);
    if (question.by_money() && money(a) != money(b)) return money(a) < money(b);
    return a.forecast.seconds() < b.forecast.seconds();
}

/// What else than steps takes a tenth of the wall clock, and more of it than the network; "" where nothing does.
std::string largest_loss(const Option& option) {
    const reliability::Times& mean = option.forecast.mean;
    struct Loss {
        const char* name;
        double seconds;
    };
    const std::array losses{Loss{"data loaders", mean.input}, Loss{"checkpoints", mean.checkpoints},
                            Loss{"failures", mean.lost + mean.detection + mean.restart},
                            Loss{"repairs", mean.waiting + mean.shrunk}};
    const Loss& largest = *std::ranges::max_element(losses, {}, &Loss::seconds);
    if (largest.seconds < 0.1 * mean.total() || largest.seconds < option.facts.network_share * mean.work) return "";
    return fmt::format("{}: {:.0f}% of the time", largest.name, 100 * largest.seconds / mean.total());
}

std::string binds(const Question& question, const Candidate& candidate, const Option& option) {
    const Facts& facts = option.facts;
    if (!facts.fits) return fmt::format("memory: {} too much", format_bytes(-facts.headroom_bytes));
    if (!in_time(question, option))
        return fmt::format("deadline: {} late", format_seconds(option.forecast.seconds() - question.deadline_s));
    if (!affordable(question, option))
        return fmt::format("budget: {} {} too much", format_count(money(option) - question.budget),
                           candidate.costs.currency);
    if (const std::string loss = largest_loss(option); !loss.empty()) return loss;
    if (facts.network_share >= 0.1) return fmt::format("network: {:.0f}% of a step", 100 * facts.network_share);
    return facts.bottleneck.empty() ? "computing" : facts.bottleneck;
}

class Tornado {
public:
    Tornado(const Question& question, const Candidate& candidate, const Option& best)
        : question_(question), candidate_(candidate), best_(best) {}

    /// An input at its two ends; where a training then never ends, only that is said.
    void turn(const std::string& input, const Turned& low, const Turned& high) {
        turn(
            input, [&] { return run(question_, candidate_, best_.facts, low); },
            [&] { return run(question_, candidate_, best_.facts, high); });
    }
    template <typename Low, typename High>
    void turn(const std::string& input, Low low, High high) {
        try {
            const Outcome least = low();
            add(input, least, high());
        } catch (const NeverEnds& error) {
            never_.push_back(fmt::format("{}: {}", input, error.message()));
        }
    }
    void finish(CandidateAnswer& answer) {
        std::ranges::stable_sort(swings_, std::ranges::greater{}, &Swing::effect);
        answer.tornado = std::move(swings_);
        std::ranges::move(never_, std::back_inserter(answer.refused));
    }

private:
    void add(const std::string& input, const Outcome& low, const Outcome& high) {
        Swing swing{.input = input, .days = {low.forecast.seconds() / day, high.forecast.seconds() / day}};
        swing.effect = std::abs(swing.days.high - swing.days.low) / (best_.forecast.seconds() / day);
        if (low.bill.money && high.bill.money) {
            const auto mean = [](const Range& range) { return (range.low + range.high) / 2; };
            swing.money = Range{mean(*low.bill.money), mean(*high.bill.money)};
            swing.effect = std::max(swing.effect, std::abs(swing.money->high - swing.money->low) / money(best_));
        }
        swings_.push_back(swing);
    }

    const Question& question_;
    const Candidate& candidate_;
    const Option& best_;
    std::vector<Swing> swings_;
    std::vector<std::string> never_;
};

void tornado(const Question& question, const Candidate& candidate, Predictions& predictions, CandidateAnswer& answer) {
    const Option& best = *answer.best;
    Tornado swings(question, candidate, best);
    const double error = question.step_error;
    if (best.bill.money) swings.turn("price x 0.8 to x 1.2", {.price = 0.8}, {.price = 1.2});
    if (best.forecast.run.failures_per_s > 0) swings.turn("MTBF of nodes x 1/2 to x 2", {.mtbf = 0.5}, {.mtbf = 2});
    swings.turn(fmt::format("step time x {:g} to x {:g}", 1 - error, 1 + error), {.step = 1 - error},
                {.step = 1 + error});
    if (best.forecast.mean.input > 0) swings.turn("data loaders x 1/2 to x 2", {.loaders = 0.5}, {.loaders = 2});
    if (best.facts.job.nodes > 1) {
        try {
            const auto slowed = [&](double factor) {
                return [&, factor] {
                    const Plan& plan = candidate.plans[best.plan];
                    return run(question, candidate, predictions.facts(candidate, plan, factor));
                };
            };
            swings.turn("network rate x 1/2 to x 2", slowed(network_factors[1]), slowed(network_factors[2]));
        } catch (const Error&) {
            // A reference architecture has fixed rates: there is nothing to turn.
        }
    }
    swings.finish(answer);
}

/// What a candidate that names no plan is searched on.
planning::SearchQuestion search_of(const Question& question, const Candidate& candidate) {
    json open = candidate.scenario;
    for (const char* about_the_run : {"reliability", "checkpoint", "storage", "outputs"}) open.erase(about_the_run);
    return {.sites = planning::Grid(question.file, std::move(open), {}, {}), .top = 1};
}

/// The best plan of a candidate that names none: of all, proven, as `orrery search` finds it. What it has simulated is
/// kept beside the predictions until it has ended. Throws Error as a search does.
Plan searched(const Question& question, const Candidate& candidate, FactsFile& known,
              calibrate::ProfileStore& profiles) {
    const std::string key = facts_key(candidate.scenario, std::filesystem::path(question.file).parent_path());
    Plan plan{candidate.scenario, candidate.pointer + "/strategy"};
    const json* found = known.find_plan(key);
    if (found == nullptr) {
        const planning::SearchQuestion asked = search_of(question, candidate);
        const std::string log = known.file().empty() ? "" : fmt::format("{}.{}.log", known.file().string(), key);
        planning::Journal journal(log, {"capacity", key, planning::Journal::any}, planning::Journal::Start::go_on);
        std::optional<planning::FoundPlan> found_best;
        try {
            found_best = planning::search(asked, profiles, journal, {.threads = all_cores()}).best.front();
        } catch (const Error& error) {
            // There is nothing to go on with, but where the log itself could not be written.
            if (error.file().empty() || error.file() == question.file) journal.remove();
            throw;
        }
        const planning::FoundPlan& best = *found_best;
        const auto strategy = documents::write_fields(strategies::strategy_fields(), best.strategy);
        known.add_plan(key, {{"strategy", json::parse(strategy.dump())}, {"micro_batch_size", best.micro_batch}});
        found = known.find_plan(key);
        journal.remove();
    }
    plan.scenario["strategy"] = found->at("strategy");
    plan.scenario["training"]["micro_batch_size"] = found->at("micro_batch_size");
    return plan;
}

/// unfit: what model and training are with which some plan and cluster cannot be; wrong where that is so of all.
CandidateAnswer answer_of(const Question& question, const Candidate& candidate, Predictions& predictions,
                          std::vector<Error>& unfit) {
    CandidateAnswer answer{.name = candidate.name, .binds = "no plan is possible"};
    for (std::size_t plan = 0; plan < candidate.plans.size(); ++plan) {
        try {
            const Facts facts = predictions.facts(candidate, candidate.plans[plan]);
            const Option option = price(question, candidate, plan, facts);
            if (!answer.best || better(question, option, *answer.best)) answer.best = option;
        } catch (const NeverEnds& error) {
            answer.binds = "failures: no end";
            answer.refused.push_back(fmt::format("{}: {}", candidate.plans[plan].pointer, error.message()));
        } catch (const Error& error) {
            const Error placed =
                error.file().empty() ? in_question(error, question, candidate, candidate.plans[plan]) : error;
            const std::string& of = candidate.plans[plan].pointer;
            const bool of_plan = placed.pointer().starts_with(of) && candidate.plans.size() > 1;
            const bool of_both = placed.pointer().starts_with("/training") || placed.pointer().starts_with("/model");
            if (placed.file() != question.file || !(of_plan || of_both)) throw placed;
            if (of_both) unfit.push_back(placed);
            answer.refused.push_back(of_plan ? fmt::format("{}: {}", placed.pointer(), placed.message())
                                             : fmt::format("{}, {}: {}", of, placed.pointer(), placed.message()));
        }
    }
    if (!answer.best) return answer;
    answer.binds = binds(question, candidate, *answer.best);
    answer.meets = meets(question, *answer.best);
    tornado(question, candidate, predictions, answer);
    return answer;
}

/// The plan that is looked for where a candidate names none; none where no plan fits, which `answer` then says.
bool found_plan(const Question& question, Candidate& candidate, FactsFile& known, calibrate::ProfileStore& profiles,
                CandidateAnswer& answer) {
    if (!candidate.plans.empty()) return true;
    try {
        candidate.plans.push_back(searched(question, candidate, known, profiles));
        return true;
    } catch (const planning::NoPlan& error) {
        answer.refused = {error.message()};
        answer.binds = "no plan fits";
    } catch (const Error& error) {
        const bool names_none = error.pointer().starts_with("/cluster") || error.pointer().starts_with("/model");
        if (names_none || (!error.file().empty() && error.file() != question.file))
            throw in_question(error, question, candidate, {candidate.scenario, candidate.pointer});
        answer.refused = {error.message()};  // what is asked cannot be on these GPUs
    }
    return false;
}

}  // namespace

Answer answer(const Question& question, FactsFile& known, const ProgressCallback& progress) {
    Predictions predictions(question, known, progress);
    Answer all;
    std::vector<Error> unfit;
    for (const Candidate& named : question.candidates) {
        Candidate candidate = named;
        CandidateAnswer none{.name = named.name};
        all.candidates.push_back(found_plan(question, candidate, known, predictions.profiles(), none)
                                     ? answer_of(question, candidate, predictions, unfit)
                                     : none);
        all.plans.push_back(candidate.plans);
    }
    std::size_t refused = 0;
    for (const CandidateAnswer& each : all.candidates) refused += each.refused.size();
    const bool some = std::ranges::any_of(all.candidates, [](const auto& each) { return each.best.has_value(); });
    if (!some && !unfit.empty() && unfit.size() == refused) throw unfit.front();
    for (std::size_t i = 0; i < all.candidates.size(); ++i) {
        const CandidateAnswer& each = all.candidates[i];
        if (!each.meets) continue;
        if (!all.chosen || better(question, *each.best, *all.candidates[*all.chosen].best)) all.chosen = i;
    }
    all.predicted = predictions.predicted;
    all.reused = predictions.reused;
    return all;
}

}  // namespace orrery::capacity
