#include "planning/search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <tuple>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/units.hpp"
#include "planning/fingerprint.hpp"
#include "planning/search/open_plan.hpp"
#include "planning/search/results.hpp"
#include "sim/host_copies.hpp"
#include "sim/session.hpp"

namespace orrery::planning {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t first_kept = 8192;

Weight weight_of(const SearchQuestion& question, const Site& site) {
    return objectives[static_cast<std::size_t>(question.objective)].weight(site, question.prices);
}

void refuse_frozen(const strategies::Training& training) {
    if (training.lora_rank == 0 && training.frozen_layers == 0) return;
    throw Error("", training.lora_rank > 0 ? "/training/lora_rank" : "/training/frozen_layers",
                "a search does not count frozen weights yet", "leave it out, or sweep the plans");
}

struct Fields {
    std::vector<Field> list;
    std::vector<std::uint64_t> site;  ///< of each, the grid's point
    std::vector<std::pair<std::uint64_t, std::string>> impossible;
};

Fields fields_of(const SearchQuestion& question, calibrate::ProfileStore& profiles) {
    Fields fields;
    std::optional<Error> first;
    for (std::uint64_t point = 0; point < question.sites.points(); ++point) {
        try {
            Site site(question.sites.open_scenario(point, open_plan()), question.sites.gpus(point), profiles);
            refuse_frozen(site.scenario.plan.training);
            Space space({site.gpus, question.idle, sim::has_host(site.cluster, 0)});
            for (const auto& [key, values] : question.given) space.give(key, values);
            const Weight weight = weight_of(question, site);
            if (question.sites.points() > 1) (void)hourly(site, question.prices);  // each must have a price
            fields.list.push_back({std::move(site), std::move(space), weight});
            fields.site.push_back(point);
        } catch (const Error& error) {
            const Error seen = of_open_plan(error);
            if (!first) first = seen;
            fields.impossible.emplace_back(point, seen.what());
        }
    }
    if (fields.list.empty()) throw *first;
    return fields;
}

/// Simulates plans on these sites.
Simulate simulate_on(std::shared_ptr<const Fields> fields, calibrate::ProfileStore& profiles) {
    return [fields = std::move(fields), &profiles, session = std::make_shared<sim::Session>()](const Work& work) {
        const auto at = std::ranges::lower_bound(fields->site, work.point);
        if (at == fields->site.end() || *at != work.point || !work.plan)
            throw Error(fmt::format("no plan can be made for cluster {} here", work.point));
        const Site& site = fields->list[static_cast<std::size_t>(at - fields->site.begin())].site;
        const scenarios::Scenario scenario = site.under(work.plan->strategy, work.plan->micro_batch);
        return Answer{evaluate(scenario, profiles, false, session.get()), {}};
    };
}

class Search {
public:
    Search(const SearchQuestion& question, calibrate::ProfileStore& profiles, Journal& journal,
           const SearchOptions& options)
        : question_(question),
          journal_(journal),
          options_(options),
          sites_(std::make_shared<const Fields>(fields_of(question, profiles))),
          fields_(*sites_),
          hands_((options.crew ? options.crew : crew_of(options.threads))(simulate_on(sites_, profiles))),
          results_(question.top) {}

    SearchResult run() {
        const Part all{0, fields_.list, 0};
        const Candidates candidates = settle(all, find(all, first_kept, infinity), results_);
        if (candidates.plans == 0) throw no_plan();
        SearchResult answer = result(candidates);
        if (fields_.list.size() > 1) answer.clusters = clusters(candidates);
        return answer;
    }

private:
    /// Fields that are searched together: the first of them, and the number of its first plan.
    struct Part {
        std::uint32_t field;
        std::span<const Field> list;
        std::uint64_t plan;
    };

    /// Bounds of all plans of these fields.
    Candidates find(const Part& part, std::size_t keep, double most) {
        Candidates candidates = find_candidates(
            part.list, keep, most, options_.threads, [&](std::size_t parts) { options_.begin("bounds", parts); },
            options_.done);
        for (Candidate& each : candidates.best) {
            each.field += part.field;
            each.number += part.plan;
        }
        return candidates;
    }

    /// Simulates plans of these fields, from those candidates on, until the best of `results` are proven or it may not
    /// simulate more.
    Candidates settle(const Part& part, Candidates candidates, Results& results) {
        for (std::size_t keep = first_kept;;) {
            simulate(candidates.best, results);
            const double cutoff = results.cutoff();
            if (candidates.others > cutoff || candidates.others == infinity || results.exhausted()) return candidates;
            if (cutoff < infinity)  // all that can still be better
                candidates = find(part, std::numeric_limits<std::size_t>::max(), cutoff);
            else
                candidates = find(part, keep *= 16, infinity);
        }
    }

    void simulate(const std::vector<Candidate>& list, Results& results) {
        options_.begin("plans", list.size());
        for_each_with(hands_, list.size(), [&](const Simulate& simulate, std::size_t i) {
            if (list[i].least <= results.cutoff() && !results.knows(list[i].number)) {
                if (results.size() < options_.most_simulated)
                    results.add(list[i].least, found(list[i], simulate));
                else
                    results.exhaust();
            }
            options_.done();
        });
    }

    /// Each field by itself, from what was found for all of them on: its bounds are asked for again only where that
    /// does not prove its best.
    std::vector<ClusterBest> clusters(const Candidates& all) {
        std::vector<ClusterBest> list;
        for (std::uint32_t field = 0; field < fields_.list.size(); ++field) {
            Results results(1);
            for (const auto& [number, entry] : results_.all())
                if (entry.plan.site == fields_.site[field]) results.add(entry.least, entry.plan);
            Candidates own;
            own.others = all.others;
            std::ranges::copy_if(all.best, std::back_inserter(own.best),
                                 [&](const Candidate& each) { return each.field == field; });
            settle({field, std::span(fields_.list).subspan(field, 1), all.first[field]}, std::move(own), results);
            if (const auto best = results.best()) list.push_back(cluster(fields_.list[field].site, *best, results));
        }
        mark_front(list);
        return list;
    }

    [[nodiscard]] ClusterBest cluster(const Site& site, const FoundPlan& plan, const Results& results) const {
        constexpr double unit = 1e9;
        const double budget = site.scenario.outputs.token_budget, tokens = budget > 0 ? budget : unit;
        const bool whole = plan.outcome.wall_clock_s > 0;
        const double time = whole ? plan.outcome.wall_clock_s : plan.outcome.step_s * tokens / detail::tokens(site);
        return {.plan = plan,
                .gpus = static_cast<double>(site.gpus),
                .tokens = tokens,
                .time_s = time,
                .cost = time / 3600 * hourly(site, question_.prices) * site.held(plan.outcome.gpus),
                .proven = results.proven()};
    }

    /// Sorts by time.
    static void mark_front(std::vector<ClusterBest>& list) {
        std::ranges::sort(list, {}, [](const ClusterBest& c) { return std::tuple(c.time_s, c.cost, c.plan.number); });
        double least = infinity;
        for (ClusterBest& each : list) {
            each.on_front = each.cost < least;
            least = std::min(least, each.cost);
        }
    }

    [[nodiscard]] FoundPlan found(const Candidate& candidate, const Simulate& simulate) {
        FoundPlan plan{
            candidate.number, fields_.site[candidate.field], candidate.strategy, candidate.micro_batch, {}, 0};
        const auto known = journal_.found().find(candidate.number);
        if (known != journal_.found().end()) {
            plan.outcome = known->second.outcome;
        } else {
            const Work work{plan.site, Work::Plan{candidate.strategy, candidate.micro_batch}};
            plan.outcome = simulate(work).outcome;
            journal_.append(candidate.number, {plan.outcome, {}});
        }
        plan.counts = fields_.list[candidate.field].count(plan.outcome.step_s, plan.outcome.gpus);
        return plan;
    }

    [[nodiscard]] static NoPlan no_plan() {
        return {"", "/strategy", "no plan can be made for any of these clusters",
                "hold fewer keys to given values (--fix, --vary), or let more GPUs be idle: --idle 0.5"};
    }

    [[nodiscard]] SearchResult result(const Candidates& candidates) const {
        SearchResult result;
        const double cutoff = results_.cutoff();
        result.plans = candidates.plans;
        result.too_large = candidates.too_large;
        result.impossible = fields_.impossible;
        result.proven = results_.proven();
        result.limited = results_.exhausted();
        for (const auto& [number, entry] : results_.all()) {
            if (entry.least > cutoff) continue;  // simulated before the cutoff was known
            if (!entry.plan.outcome.fits) {
                ++result.too_large;
                continue;
            }
            ++result.simulated;
            result.best.push_back(entry.plan);
        }
        if (result.best.empty()) throw none_fits(candidates.plans);
        result.excluded = result.plans - result.too_large - result.simulated;
        const auto order = [](const FoundPlan& plan) { return std::tuple(plan.counts, plan.number); };
        std::ranges::sort(result.best, {}, order);
        result.front = front(result.best);
        if (result.best.size() > question_.top) result.best.resize(question_.top);
        return result;
    }

    /// plans: the best first.
    static std::vector<FoundPlan> front(const std::vector<FoundPlan>& plans) {
        std::vector<FoundPlan> list;
        for (const FoundPlan& plan : plans)
            if (list.empty() || plan.outcome.headroom() > list.back().outcome.headroom()) list.push_back(plan);
        return list;
    }

    [[nodiscard]] NoPlan none_fits(std::uint64_t plans) const {
        return {"", "/cluster/nodes",
                fmt::format("none of {} plans fits into {} of memory", plans,
                            format_bytes(static_cast<double>(fields_.list.front().site.most_memory))),
                "name more GPUs, or GPUs with more memory"};
    }

    const SearchQuestion& question_;
    Journal& journal_;
    const SearchOptions& options_;
    std::shared_ptr<const Fields> sites_;
    const Fields& fields_;
    std::vector<Simulate> hands_;
    Results results_;
};

}  // namespace

std::string SearchQuestion::fingerprint() const {
    Fingerprint print;
    print.add(sites.fingerprint());
    for (const auto& [key, values] : given) {
        print.add(key);
        for (const std::string& value : values) print.add(value);
    }
    print.add(fmt::format("{} {:a}", static_cast<int>(objective), idle));
    for (const auto& [gpu, price] : prices) print.add(fmt::format("{} {:a}", gpu, price));
    return print.text();
}

Simulate simulate_plans(const SearchQuestion& question, calibrate::ProfileStore& profiles) {
    return simulate_on(std::make_shared<const Fields>(fields_of(question, profiles)), profiles);
}

SearchResult search(const SearchQuestion& question, calibrate::ProfileStore& profiles, Journal& journal,
                    const SearchOptions& options) {
    return Search(question, profiles, journal, options).run();
}

}  // namespace orrery::planning
