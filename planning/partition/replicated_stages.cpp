#include "planning/partition/replicated_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"

namespace orrery::planning {

namespace {

/// Layers [first, end) on some units.
struct Piece {
    std::uint32_t first = 0, end = 0, units = 0;
};

/// m units of a level, each of which takes a micro-batch in `unit` seconds and all of which sum so many bytes of
/// gradients: T_k, for each micro-batch.
double replicated(double unit, double gradients, double m, const WorkerLevel& level) {
    return std::max(unit, 2 * (m - 1) / m * gradients / level.bytes_per_second) / m;
}

/// The best pipelines on the units of one level; layers on one unit take `unit(first, end)`.
class Level {
public:
    Level(const Chain& chain, const WorkerLevel& level, std::vector<std::vector<double>> unit)
        : chain_(chain), level_(level), unit_(std::move(unit)) {}

    [[nodiscard]] double stage(const Piece& piece) const {
        return replicated(unit_[piece.first][piece.end], chain_.gradients(piece.first, piece.end), piece.units, level_);
    }

    /// A_k of layers [first, end) for every end.
    [[nodiscard]] std::vector<double> seconds_from(std::uint32_t first) const {
        std::vector<double> all(chain_.size() + 1, 0);
        const Prefixes prefixes(*this, first);
        for (std::uint32_t end = first + 1; end <= chain_.size(); ++end) all[end] = prefixes.last(end).seconds;
        return all;
    }

    /// The best pipeline of layers [first, end), and its time.
    [[nodiscard]] std::pair<std::vector<Piece>, double> pipeline(std::uint32_t first, std::uint32_t end) const {
        const Prefixes prefixes(*this, first);
        std::vector<Piece> pieces;
        Choice choice = prefixes.last(end);
        const double seconds = choice.seconds;
        std::uint32_t units = level_.units;
        while (true) {
            pieces.push_back({choice.begin, end, choice.units});
            if (choice.begin == first) break;
            end = choice.begin;
            units -= choice.units;
            choice = prefixes.of(end, units);
        }
        std::ranges::reverse(pieces);
        return {std::move(pieces), seconds};
    }

private:
    /// The last stage of the best pipeline, and that pipeline's time.
    struct Choice {
        double seconds = std::numeric_limits<double>::infinity();
        std::uint32_t begin = 0, units = 0;
    };

    /// Best pipelines of the layers from `first` on, behind which others follow.
    class Prefixes {
    public:
        Prefixes(const Level& level, std::uint32_t first) : level_(level), first_(first) {
            const std::uint32_t layers = level.chain_.size(), units = level.level_.units;
            best_.resize(layers + 1, std::vector<Choice>(units + 1));
            for (std::uint32_t end = first + 1; end < layers; ++end)
                for (std::uint32_t m = 1; m < units; ++m) best_[end][m] = choose(end, m, true);
        }
        [[nodiscard]] const Choice& of(std::uint32_t end, std::uint32_t units) const { return best_[end][units]; }
        /// Of all units, behind which nothing follows.
        [[nodiscard]] Choice last(std::uint32_t end) const { return choose(end, level_.level_.units, false); }

    private:
        /// One stage, unless more are faster.
        [[nodiscard]] Choice choose(std::uint32_t end, std::uint32_t units, bool followed) const {
            Choice best{seconds({first_, end, units}, followed), first_, units};
            for (std::uint32_t begin = first_ + 1; begin < end; ++begin)
                for (std::uint32_t m = 1; m < units; ++m) {
                    const double before = best_[begin][units - m].seconds;
                    if (before >= best.seconds) continue;
                    const double all = std::max(before, seconds({begin, end, m}, followed));
                    if (all < best.seconds) best = {all, begin, m};
                }
            return best;
        }
        /// Of a stage with the tensors that it takes and hands on.
        [[nodiscard]] double seconds(const Piece& piece, bool followed) const {
            const Chain& chain = level_.chain_;
            const double taken = piece.first > first_ ? chain[piece.first - 1].sent : 0;
            const double handed = followed ? chain[piece.end - 1].sent : 0;
            return std::max(level_.stage(piece),
                            std::max(taken, handed) / piece.units / level_.level_.bytes_per_second);
        }

        const Level& level_;
        std::uint32_t first_;
        std::vector<std::vector<Choice>> best_;  // by end and units
    };

    const Chain& chain_;
    WorkerLevel level_;
    std::vector<std::vector<double>> unit_;
};

/// Levels of more than one unit, from the innermost.
std::vector<WorkerLevel> real_levels(std::span<const WorkerLevel> levels) {
    std::vector<WorkerLevel> real;
    for (const WorkerLevel& level : levels) {
        if (level.units > most_units)
            throw Error("", "/cluster", fmt::format("{} units of workers in one level", level.units),
                        fmt::format("ask for a cluster of at most {} nodes", most_units));
        if (level.units > 1) real.push_back(level);
    }
    return real;
}

std::vector<std::vector<double>> one_worker(const Chain& chain) {
    std::vector<std::vector<double>> unit(chain.size(), std::vector<double>(chain.size() + 1, 0));
    for (std::uint32_t first = 0; first < chain.size(); ++first)
        for (std::uint32_t end = first + 1; end <= chain.size(); ++end) unit[first][end] = chain.seconds(first, end);
    return unit;
}

std::vector<Level> solve(const Chain& chain, std::span<const WorkerLevel> levels) {
    std::vector<Level> solved;
    std::vector<std::vector<double>> unit = one_worker(chain);
    for (const WorkerLevel& level : levels) {
        solved.emplace_back(chain, level, unit);
        if (solved.size() == levels.size()) break;
        for (std::uint32_t first = 0; first < chain.size(); ++first) unit[first] = solved.back().seconds_from(first);
    }
    return solved;
}

/// Pieces of one level as those of the one inside it.
std::vector<ReplicatedStage> inner(const std::vector<Level>& levels, std::size_t level, const Piece& piece,
                                   std::uint32_t copies, double seconds) {
    const std::uint32_t all = copies * piece.units;
    if (level == 0) return {{piece.first, piece.end, all, seconds}};
    std::vector<ReplicatedStage> stages;
    const std::vector<Piece> pieces = levels[level - 1].pipeline(piece.first, piece.end).first;
    for (const Piece& part : pieces) {
        // A node's pipeline of one stage sums over nodes as well, which may be what binds it.
        const double own = pieces.size() == 1 ? seconds : levels[level - 1].stage(part) / all;
        for (const ReplicatedStage& stage : inner(levels, level - 1, part, all, own)) stages.push_back(stage);
    }
    return stages;
}

}  // namespace

ReplicatedStages replicated_stages(const Chain& chain, std::span<const WorkerLevel> given) {
    const std::vector<WorkerLevel> real = real_levels(given);
    if (real.empty()) return {{{0, chain.size(), 1, chain.seconds(0, chain.size())}}, chain.seconds(0, chain.size())};
    const std::vector<Level> levels = solve(chain, real);
    ReplicatedStages result;
    const auto [pieces, seconds] = levels.back().pipeline(0, chain.size());
    result.seconds = seconds;
    for (const Piece& piece : pieces)
        for (const ReplicatedStage& stage : inner(levels, levels.size() - 1, piece, 1, levels.back().stage(piece)))
            result.stages.push_back(stage);
    return result;
}

double data_parallel_seconds(const Chain& chain, std::span<const WorkerLevel> given) {
    double seconds = chain.seconds(0, chain.size());
    for (const WorkerLevel& level : real_levels(given))
        seconds = replicated(seconds, chain.gradients(0, chain.size()), level.units, level);
    return seconds;
}

}  // namespace orrery::planning
