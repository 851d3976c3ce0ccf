#include "strategies/reruns.hpp"

#include <algorithm>

namespace orrery::strategies {

namespace {

/// One module's pieces that stand together, and those behind it that take what it leaves and does not keep.
struct Run {
    std::size_t first, last;
    std::vector<std::size_t> takers = {};
    std::size_t before = 0;  ///< the piece whose backward needs it first

    [[nodiscard]] bool holds(std::size_t piece) const { return piece >= first && piece < last; }
    [[nodiscard]] bool brings(std::size_t piece) const {
        return holds(piece) || std::ranges::find(takers, piece) != takers.end();
    }
};

void add_runs(const std::vector<Piece>& pieces, Module module, std::vector<Run>& runs) {
    for (std::size_t i = 0; i < pieces.size();) {
        if (!pieces[i].part_of.has(module)) {
            ++i;
            continue;
        }
        Run run{i, i};
        while (run.last < pieces.size() && pieces[run.last].part_of.has(module)) ++run.last;
        for (i = run.last; i < pieces.size() && !pieces[i].part_of.has(module); ++i)
            if (without_output.has(module) && pieces[i].takes.has(module)) run.takers.push_back(i);
        i = run.last;
        runs.push_back(std::move(run));
    }
}

std::uint64_t dropped_of(const std::vector<Piece>& pieces, const std::vector<Run>& runs, std::size_t i) {
    const Piece& piece = pieces[i];
    std::uint64_t most = 0;
    bool input_goes = false;
    for (const Run& run : runs) {
        if (run.holds(i)) most = std::max(most, piece.saved_bytes - (i == run.first ? piece.input_bytes : 0));
        input_goes = input_goes || std::ranges::find(run.takers, i) != run.takers.end();
    }
    return input_goes ? std::min(piece.saved_bytes, most + piece.input_bytes) : most;
}

/// Up to which of the pieces [first, last) something is left that their backward needs.
std::size_t needed_until(const std::vector<Piece>& pieces, std::size_t first, std::size_t last) {
    std::size_t needed = first;
    for (std::size_t i = first; i < last; ++i)
        if (pieces[i].saved_bytes > 0) needed = pieces[i].saved_bytes > pieces[i].input_bytes ? i + 1 : i;
    return needed;
}

/// A run is needed where the backward first comes to one of its pieces or takers, or to another run that holds a taker.
std::size_t needed_at(const std::vector<Run>& runs, const Run& run) {
    std::size_t at = std::max(run.last - 1, run.takers.empty() ? 0 : run.takers.back());
    for (const Run& other : runs)
        if (other.first > run.first && other.holds(at)) at = std::max(at, other.last - 1);
    return at;
}

}  // namespace

Reruns reruns(const ShardedLayer& layer, ModuleSet modules, bool early) {
    const std::vector<Piece>& pieces = layer.pieces;
    std::vector<Run> runs;
    for (std::size_t module = 0; module < module_names.size(); ++module)
        if (modules.has(static_cast<Module>(module))) add_runs(pieces, static_cast<Module>(module), runs);
    for (Run& run : runs) run.before = needed_at(runs, run);
    std::ranges::stable_sort(runs, [](const Run& a, const Run& b) {
        return a.before != b.before ? a.before > b.before : a.first < b.first;
    });
    Reruns result;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        result.dropped.push_back(dropped_of(pieces, runs, i));
        result.for_weights.push_back(std::min(result.dropped.back(), pieces[i].weight_saved_bytes));
    }
    std::vector<bool> brought(pieces.size());
    for (const Run& run : runs) {
        const bool stops = early && run.takers.empty();
        const std::size_t to = stops ? needed_until(pieces, run.first, run.last) : run.last;
        if (to == run.first) continue;
        Rerun& rerun = result.list.emplace_back(Rerun{run.first, to, run.before});
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            if (brought[i] || result.dropped[i] == 0 || !run.brings(i)) continue;
            brought[i] = true;
            rerun.brings.push_back(i);
        }
    }
    return result;
}

std::size_t pieces_needed(const ShardedLayer& layer) { return needed_until(layer.pieces, 0, layer.pieces.size()); }

}  // namespace orrery::strategies
