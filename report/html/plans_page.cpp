#include "report/html/plans_page.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/html/page.hpp"
#include "report/planned.hpp"
#include "report/search_plan.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;
using planning::Outcome;

/// A list of texts of which each stands once; plans name them by their places.
class Choices {
public:
    std::size_t place(const std::string& text) {
        const auto [known, fresh] = places_.try_emplace(text, list_.size());
        if (fresh) list_.push_back(text);
        return known->second;
    }
    [[nodiscard]] const std::vector<std::string>& list() const { return list_; }

private:
    std::map<std::string, std::size_t> places_;
    std::vector<std::string> list_;
};

/// Plans of the page: their values and outcomes as short rows, for thousands of them are to fit into a mail.
class Rows {
public:
    explicit Rows(std::vector<std::string> keys) : keys_(std::move(keys)), choices_(keys_.size()) {}

    /// rank: 0 where it has none. set: changes that lead to it, one a line.
    void plan(std::uint64_t rank, const std::vector<std::string>& values, const Outcome& outcome,
              const std::string& set) {
        if (plans_.size() == most_plans_of_page) {
            ++left_out_;
            return;
        }
        plans_.push_back({rank, places(values), numbers(outcome)});
        if (!set.empty()) plans_.back().push_back(set);
    }
    void problem(const std::vector<std::string>& values, const std::string& why) {
        if (problems_.size() == most_plans_of_page)
            ++left_out_;
        else
            problems_.push_back({places(values), reasons_.place(why)});
    }
    void write(Json& page) {
        page["keys"] = keys_;
        Json& lists = page["choices"] = Json::array();
        for (const Choices& each : choices_) lists.push_back(each.list());
        page["fields"] = outcome_names();
        page["texts"] = texts_.list();
        page["plans"] = std::move(plans_);
        page["reasons"] = reasons_.list();
        page["problems"] = std::move(problems_);
        page["left_out"] = left_out_;
    }

private:
    Json places(const std::vector<std::string>& values) {
        Json list = Json::array();
        for (std::size_t i = 0; i < values.size(); ++i) list.push_back(choices_[i].place(values[i]));
        return list;
    }
    /// In the order of outcome_fields(), with as many digits as anyone looks at.
    Json numbers(const Outcome& outcome) {
        Json list = Json::array();
        for (const planning::OutcomeField& field : planning::outcome_fields())
            std::visit([&](auto member) { list.push_back(shown(outcome.*member)); }, field.member);
        return list;
    }
    static Json shown(double value) { return Json::parse(fmt::format("{:.6g}", value)); }
    Json shown(const std::string& text) { return texts_.place(text); }
    static Json shown(bool value) { return value; }
    static Json shown(std::uint32_t value) { return value; }
    static Json shown(std::uint64_t value) { return value; }

    std::vector<std::string> keys_;
    std::vector<Choices> choices_;
    Choices texts_, reasons_;
    Json plans_ = Json::array(), problems_ = Json::array();
    std::uint64_t left_out_ = 0;
};

}  // namespace

std::string sweep_page(const planning::Points& points, const planning::Sweep& sweep, const std::string& command) {
    std::vector<std::string> keys;
    for (const planning::Axis& axis : points.axes()) keys.push_back(axis.key);
    Rows rows(std::move(keys));
    std::uint64_t fit = 0;
    for (std::size_t i = 0; i < sweep.best.size(); ++i) {
        const Outcome& outcome = sweep.answers[sweep.best[i]].outcome;
        fit += outcome.fits ? 1 : 0;
        rows.plan(i + 1, points.values(sweep.best[i]), outcome, "");
    }
    for (std::uint64_t point = 0; point < sweep.answers.size(); ++point)
        if (const std::string& why = sweep.answers[point].problem; !why.empty())
            rows.problem(points.values(point), why);
    Json data{{"view", "sweep"},
              {"title", points.name()},
              {"subtitle", fmt::format("a sweep of {} points", format_grouped(points.points()))},
              {"command", command},
              {"counts",
               {{"points", points.points()},
                {"fit", fit},
                {"do_not_fit", sweep.best.size() - fit},
                {"illegal", points.points() - sweep.best.size()}}}};
    rows.write(data);
    return page(data);
}

std::string search_page(const SearchReport& report, const std::string& command) {
    const planning::SearchResult& result = *report.result;
    Rows rows(plan_keys(*report.question));
    const auto add = [&](std::uint64_t rank, const planning::FoundPlan& plan) {
        std::string set;
        for (const scenarios::Override& change : settings(*report.question, plan))
            set += (set.empty() ? "" : "\n") + shell_word(fmt::format("{}={}", change.path, change.value));
        rows.plan(rank, plan_values(*report.question, plan), plan.outcome, set);
    };
    std::uint64_t rank = 0;
    for (const planning::FoundPlan& plan : result.best) add(++rank, plan);
    for (const planning::FoundPlan& plan : result.front)
        if (!among(result.best, plan)) add(0, plan);
    for (const planning::ClusterBest& each : result.clusters)
        if (!among(result.best, each.plan) && !among(result.front, each.plan)) add(0, each.plan);
    for (const auto& [site, problem] : result.impossible) {
        std::vector<std::string> values = report.question->sites.values(site);
        values.resize(plan_keys(*report.question).size());
        rows.problem(values, problem);
    }
    Json data{{"view", "search"},
              {"title", report.question->sites.name()},
              {"subtitle", fmt::format("the best of {} plans", format_grouped(result.plans))},
              {"command", command},
              {"proven", result.proven},
              {"counts",
               {{"enumerated", result.plans},
                {"do_not_fit", result.too_large},
                {"excluded_by_bound", result.excluded},
                {"simulated", result.simulated}}}};
    rows.write(data);
    return page(data);
}

}  // namespace orrery::report
