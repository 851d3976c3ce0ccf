#include "planning/search/candidates.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "planning/search/bounds.hpp"

namespace orrery::planning {

namespace {

/// Rows whose values make the branches that threads share out.
constexpr std::size_t branching_rows = 9;

struct Branch {
    std::uint32_t field = 0, micro_batch = 1;
    strategies::Strategy strategy;
    std::uint64_t plans = 0, too_large = 0;
};

std::vector<Branch> branches_of(std::span<const Field> fields) {
    std::vector<Branch> branches;
    for (std::uint32_t number = 0; number < fields.size(); ++number) {
        strategies::Plan plan = fields[number].site.scenario.plan;
        fields[number].space.each_prefix(plan, branching_rows, [&] {
            branches.push_back({number, plan.training.micro_batch, plan.strategy, 0, 0});
        });
    }
    return branches;
}

/// Of candidates the best so many; numbers are within their branch until all branches are counted.
class Best {
public:
    explicit Best(std::size_t keep) : keep_(keep) {}

    struct Entry {
        std::size_t branch;
        Candidate candidate;
    };
    [[nodiscard]] bool takes(double least) const { return !full() || least <= entries_.front().candidate.least; }
    [[nodiscard]] double worst() const { return full() ? entries_.front().candidate.least : infinity; }
    void add(Entry entry) {
        if (full()) {
            const double out = std::max(entry.candidate.least, entries_.front().candidate.least);
            dropped_ = std::min(dropped_, out);
            if (!before(entry, entries_.front())) return;
            std::ranges::pop_heap(entries_, before);
            entries_.pop_back();
        }
        entries_.push_back(std::move(entry));
        std::ranges::push_heap(entries_, before);
    }
    [[nodiscard]] double dropped() const { return dropped_; }
    [[nodiscard]] std::vector<Entry>& entries() { return entries_; }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    [[nodiscard]] bool full() const { return entries_.size() >= keep_; }
    static bool before(const Entry& a, const Entry& b) {
        return std::tuple(a.candidate.least, a.branch, a.candidate.number) <
               std::tuple(b.candidate.least, b.branch, b.candidate.number);
    }

    std::size_t keep_;
    std::vector<Entry> entries_;  // a heap, the worst first
    double dropped_ = infinity;
};

/// What one thread works with.
class Worker {
public:
    Worker(std::span<const Field> fields, std::vector<LayerTables>& tables, std::size_t keep, double most)
        : fields_(fields), tables_(tables), bounds_(fields.size()), best_(keep), most_(most) {}

    void search(std::vector<Branch>& branches, std::size_t number) {
        Branch& branch = branches[number];
        const Field& field = fields_[branch.field];
        auto& bounds = bounds_[branch.field];
        if (!bounds) bounds = std::make_unique<Bounds>(field.site, tables_[branch.field]);
        strategies::Plan plan = field.site.scenario.plan;
        plan.strategy = branch.strategy;
        plan.training.micro_batch = branch.micro_batch;
        field.space.each(plan, branching_rows, [&] {
            const std::uint64_t leaf = branch.plans++;
            const std::optional<Bound> found = bound_of(*bounds, field.space, plan);
            if (!found) return;
            const Bound& bound = *found;
            if (bound.bytes > field.site.most_memory) {
                ++branch.too_large;
                return;
            }
            const double least = field.count(bound.seconds, plan.ranks());
            if (least > most_) {
                above_ = std::min(above_, least);
                return;
            }
            if (best_.takes(least) && !field.space.legal(plan)) return;
            best_.add({number, {least, bound.bytes, leaf, branch.field, branch.micro_batch, plan.strategy}});
        });
    }
    [[nodiscard]] Best& best() { return best_; }
    [[nodiscard]] double others() const { return std::min(above_, best_.dropped()); }

private:
    /// Nothing of a plan that is not legal and has none.
    static std::optional<Bound> bound_of(Bounds& bounds, const Space& space, const strategies::Plan& plan) {
        try {
            return bounds.of(plan);
        } catch (const Error&) {
            if (space.legal(plan)) throw;
            return std::nullopt;
        }
    }

    std::span<const Field> fields_;
    std::vector<LayerTables>& tables_;
    std::vector<std::unique_ptr<Bounds>> bounds_;
    Best best_;
    double most_, above_ = std::numeric_limits<double>::infinity();
};

}  // namespace

Candidates find_candidates(std::span<const Field> fields, std::size_t keep, double most, unsigned threads,
                           const std::function<void(std::size_t)>& begin, const std::function<void()>& done) {
    std::vector<Branch> branches = branches_of(fields);
    begin(branches.size());
    std::vector<LayerTables> tables(fields.size());
    std::vector<std::unique_ptr<Worker>> workers;
    for (unsigned t = 0; t < threads; ++t) workers.push_back(std::make_unique<Worker>(fields, tables, keep, most));
    for_each_with(workers, branches.size(), [&](const std::unique_ptr<Worker>& worker, std::size_t i) {
        worker->search(branches, i);
        done();
    });
    Candidates result;
    std::vector<std::uint64_t> first;
    for (const Branch& branch : branches) {
        while (result.first.size() <= branch.field) result.first.push_back(result.plans);
        first.push_back(result.plans);
        result.plans += branch.plans;
        result.too_large += branch.too_large;
    }
    result.first.resize(fields.size(), result.plans);
    for (const auto& worker : workers) {
        result.others = std::min(result.others, worker->others());
        for (Best::Entry& entry : worker->best().entries()) {
            entry.candidate.number += first[entry.branch];
            result.best.push_back(std::move(entry.candidate));
        }
    }
    std::ranges::sort(result.best, [](const Candidate& a, const Candidate& b) {
        return std::tie(a.least, a.number) < std::tie(b.least, b.number);
    });
    return result;
}

}  // namespace orrery::planning
