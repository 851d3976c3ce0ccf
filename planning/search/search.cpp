#include "planning/search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "base/units.hpp"
#include "planning/fingerprint.hpp"
#include "planning/parallel.hpp"
#include "sim/session.hpp"

namespace orrery::planning {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t first_kept = 8192;

/// A plan that is legal for any model, whatever the scenario says of its own: rows set the rest.
std::vector<scenarios::Override> open_plan() {
    std::vector<scenarios::Override> changes;
    for (const char* key : {"tensor", "pipeline", "data"}) changes.push_back({std::string("strategy.") + key, "1"});
    changes.push_back({"training.micro_batch_size", "1"});
    for (const char* key : {"virtual_pipeline",
                            "expert",
                            "expert_tensor",
                            "sequence_parallel",
                            "schedule",
                            "sharding",
                            "recompute",
                            "recompute_num_layers",
                            "cpu_offloading_num_layers",
                            "optimizer_cpu_offload",
                            "optimizer_offload_fraction",
                            "overlap_cpu_optimizer_d2h_h2d",
                            "overlap_grad_reduce",
                            "overlap_param_gather",
                            "overlap_p2p",
                            "scatter_gather",
                            "async_tensor_allreduce",
                            "placement",
                            "placement_file",
                            "num_distributed_optimizer_instances",
                            "num_layers_in_first_pipeline_stage",
                            "num_layers_in_last_pipeline_stage",
                            "account_for_embedding_in_pipeline_split",
                            "account_for_loss_in_pipeline_split",
                            "pipeline_layers"})
        changes.push_back({std::string("strategy.") + key, "null"});
    return changes;
}

double weight_of(const SearchQuestion& question, const Site& site) {
    return objectives[static_cast<std::size_t>(question.objective)].weight(site, question.prices);
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
            if (site.scenario.plan.training.lora_rank > 0)
                throw Error("", "/training/lora_rank", "a search does not count frozen weights yet",
                            "leave it out, or sweep the plans");
            Space space({site.gpus, question.idle});
            for (const auto& [key, values] : question.given) space.give(key, values);
            const double weight = weight_of(question, site);
            fields.list.push_back({std::move(site), std::move(space), weight});
            fields.site.push_back(point);
        } catch (const Error& error) {
            if (!first) first = error;
            fields.impossible.emplace_back(point, error.what());
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

/// What has been simulated, and how good the K-th best of it is.
class Results {
public:
    explicit Results(std::size_t top) : top_(top) {}

    [[nodiscard]] double cutoff() const {
        const std::lock_guard lock(mutex_);
        return best_.size() < top_ ? infinity : *best_.rbegin();
    }
    [[nodiscard]] bool knows(std::uint64_t number) const {
        const std::lock_guard lock(mutex_);
        return all_.contains(number);
    }
    void add(const Candidate& candidate, FoundPlan plan) {
        const std::lock_guard lock(mutex_);
        if (!all_.try_emplace(plan.number, candidate.least, plan).second || !plan.outcome.fits) return;
        best_.insert(plan.counts);
        if (best_.size() > top_) best_.erase(std::prev(best_.end()));
    }
    [[nodiscard]] std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return all_.size();
    }
    struct Entry {
        double least = 0;  ///< what its bound said
        FoundPlan plan;
    };
    /// By number.
    [[nodiscard]] const std::map<std::uint64_t, Entry>& all() const { return all_; }

private:
    std::size_t top_;
    mutable std::mutex mutex_;
    std::multiset<double> best_;
    std::map<std::uint64_t, Entry> all_;
};

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
        std::size_t keep = first_kept;
        double most = infinity;
        for (;;) {
            candidates_ = find_candidates(
                fields_.list, keep, most, options_.threads, [&](std::size_t parts) { options_.begin("bounds", parts); },
                options_.done);
            if (candidates_.plans == 0) throw no_plan();
            simulate();
            const double cutoff = results_.cutoff();
            if (candidates_.others > cutoff || candidates_.others == infinity || exhausted_) break;
            if (cutoff < infinity) {  // all that can still be better
                most = cutoff;
                keep = std::numeric_limits<std::size_t>::max();
            } else {
                keep *= 16;
            }
        }
        return result();
    }

private:
    void simulate() {
        const std::vector<Candidate>& list = candidates_.best;
        options_.begin("plans", list.size());
        for_each_with(hands_, list.size(), [&](const Simulate& simulate, std::size_t i) {
            if (list[i].least <= results_.cutoff() && !results_.knows(list[i].number)) {
                if (results_.size() < options_.most_simulated)
                    results_.add(list[i], found(list[i], simulate));
                else
                    exhausted_ = true;
            }
            options_.done();
        });
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
        plan.counts = plan.outcome.step_s * fields_.list[candidate.field].weight;
        return plan;
    }

    [[nodiscard]] Error no_plan() const {
        return {"", "/strategy", "no plan can be made for any of these clusters",
                "hold fewer keys to given values (--fix, --vary), or let more GPUs be idle: --idle 0.5"};
    }

    [[nodiscard]] SearchResult result() const {
        SearchResult result;
        const double cutoff = results_.cutoff();
        result.plans = candidates_.plans;
        result.too_large = candidates_.too_large;
        result.impossible = fields_.impossible;
        result.proven = !exhausted_;
        for (const auto& [number, entry] : results_.all()) {
            if (entry.least > cutoff) continue;  // simulated before the cutoff was known
            constexpr double rounding = 1e-9;
            if (entry.plan.counts < entry.least * (1 - rounding)) result.proven = false;
            if (!entry.plan.outcome.fits) {
                ++result.too_large;
                continue;
            }
            ++result.simulated;
            result.best.push_back(entry.plan);
        }
        if (result.best.empty()) throw none_fits();
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

    [[nodiscard]] Error none_fits() const {
        return {"", "/cluster/nodes",
                fmt::format("none of {} plans fits into {} of memory", candidates_.plans,
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
    Candidates candidates_;
    std::atomic<bool> exhausted_ = false;
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
