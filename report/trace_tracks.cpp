#include "report/trace_tracks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace orrery::report {

namespace {

constexpr std::size_t most_stragglers = 8;

std::uint32_t stage_of(const sim::Step& p, const sim::RankClass& ranks) {
    return p.program.mesh.coordinate(ranks.representative, strategies::Axis::pipeline);
}

std::uint32_t first_rank(const sim::Step& p, std::size_t rank_class) { return p.trace[rank_class].representative; }

/// Keeps the class with the lowest rank under each key.
template <class Key>
void keep_first(std::map<Key, std::size_t>& first, const Key& key, std::size_t rank_class, const sim::Step& p) {
    const auto [place, is_new] = first.emplace(key, rank_class);
    if (!is_new && first_rank(p, rank_class) < first_rank(p, place->second)) place->second = rank_class;
}

/// ", x 1.2"
std::string slowed(const std::vector<scenarios::Straggler>& stragglers, std::uint32_t rank) {
    std::string text;
    for (const scenarios::Straggler& each : stragglers)
        if (rank >= each.first_rank && rank <= each.last_rank) text += fmt::format(", x {}", each.factor);
    return text;
}

Track track_of(const sim::Step& p, std::size_t rank_class, const std::vector<scenarios::Straggler>& stragglers) {
    const std::uint32_t stage = stage_of(p, p.trace[rank_class]), rank = first_rank(p, rank_class);
    return {rank_class, stage, fmt::format("stage {}: rank {}{}", stage, rank, slowed(stragglers, rank))};
}

}  // namespace

Tracks tracks_of(const std::vector<std::uint32_t>& ranks, const std::vector<scenarios::Straggler>& stragglers,
                 const sim::Step& p) {
    Tracks tracks{{}, 0};
    for (const std::uint32_t rank : ranks) {
        const auto found = std::ranges::find(p.trace, rank, &sim::RankClass::representative);
        if (found == p.trace.end()) throw std::invalid_argument(fmt::format("rank {} was not traced by itself", rank));
        tracks.shown.push_back(track_of(p, static_cast<std::size_t>(found - p.trace.begin()), stragglers));
    }
    return tracks;
}

Tracks trace_tracks(const std::vector<scenarios::Straggler>& stragglers, const sim::Step& p) {
    std::map<std::uint32_t, std::size_t> of_stage;
    std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> of_entry;  // of each straggler and stage
    for (std::size_t i = 0; i < p.trace.size(); ++i) {
        const std::uint32_t stage = stage_of(p, p.trace[i]), rank = first_rank(p, i);
        keep_first(of_stage, stage, i, p);
        for (std::size_t entry = 0; entry < stragglers.size(); ++entry)
            if (rank >= stragglers[entry].first_rank && rank <= stragglers[entry].last_rank)
                keep_first(of_entry, {entry, stage}, i, p);
    }
    std::set<std::size_t> slow, shown;
    for (const auto& [stage, rank_class] : of_stage) shown.insert(rank_class);
    for (const auto& [entry, rank_class] : of_entry)
        if (!shown.contains(rank_class)) slow.insert(rank_class);
    const std::size_t taken = std::min(most_stragglers, slow.size());
    const auto end = std::next(slow.begin(), static_cast<std::ptrdiff_t>(taken));
    shown.insert(slow.begin(), end);

    Tracks tracks{{}, slow.size() - taken};
    for (const std::size_t i : shown) tracks.shown.push_back(track_of(p, i, stragglers));
    std::ranges::sort(tracks.shown, {},
                      [&](const Track& track) { return std::pair(track.stage, first_rank(p, track.rank_class)); });
    return tracks;
}

}  // namespace orrery::report
