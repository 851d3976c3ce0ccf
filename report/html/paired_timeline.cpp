#include "report/html/paired_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;
using Document = nlohmann::json;

constexpr std::size_t most_slices = 16'000;  ///< of the page: a browser draws them at once
constexpr std::size_t most_ranks = 6;

/// How much of a program is one slice.
enum class Detail : std::uint8_t { operation, layer, pass };

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

/// A column of a document, as long as the others. Throws Error for a damaged one.
template <class Value>
std::vector<Value> column(const Side& side, const std::string& pointer, std::size_t count) {
    try {
        auto values = side.at(pointer).get<std::vector<Value>>();
        if (values.size() == count) return values;
    } catch (const Document::exception&) {  // said below
    }
    throw Error(side.file, pointer, fmt::format("is no list of {} such values", count), "the file is damaged");
}

/// The program of a role as the documents have it: columns.
struct Program {
    Program(const Side& side, const std::string& role)
        : names(column<std::size_t>(side, role + "/name", side.size(role + "/name"))),
          phases(column<std::string>(side, role + "/phase", names.size())),
          kinds(column<std::string>(side, role + "/kind", names.size())),
          lanes(column<std::string>(side, role + "/lane", names.size())),
          micro_batches(column<int>(side, role + "/micro_batch", names.size())),
          layers(column<int>(side, role + "/layer", names.size())) {}

    std::vector<std::size_t> names;
    std::vector<std::string> phases, kinds, lanes;
    std::vector<int> micro_batches, layers;
};

/// One slice: operations of a lane that follow each other, by their numbers.
struct Slice {
    std::string lane;
    std::vector<std::size_t> ops;
};

std::vector<Slice> slices_of(const Program& program, Detail detail) {
    std::vector<Slice> slices;
    std::map<std::string, std::size_t> open;  // of each lane
    const auto together = [&](std::size_t a, std::size_t b) {
        const auto key = [&](std::size_t i) {
            return std::tuple(program.phases[i], program.micro_batches[i], program.kinds[i] == "communication",
                              detail == Detail::layer ? program.layers[i] : 0);
        };
        return detail != Detail::operation && key(a) == key(b);
    };
    for (std::size_t i = 0; i < program.names.size(); ++i) {
        if (program.kinds[i] == "host") continue;  // it waits
        const auto [last, fresh] = open.try_emplace(program.lanes[i], 0);
        if (!fresh && together(slices[last->second].ops.back(), i)) {
            slices[last->second].ops.push_back(i);
        } else {
            last->second = slices.size();
            slices.push_back({program.lanes[i], {i}});
        }
    }
    return slices;
}

/// Labels of slices, each once.
class Labels {
public:
    explicit Labels(std::vector<std::string> names) : names_(std::move(names)) {}

    std::size_t number(const Program& program, const Slice& slice, Detail detail) {
        const std::size_t first = slice.ops.front();
        const std::string& kind = program.kinds[first];
        std::string text = names_.at(program.names[first]);
        if (slice.ops.size() > 1)
            text = detail == Detail::layer && program.layers[first] >= 0
                       ? fmt::format("layer {} {}", program.layers[first], program.phases[first])
                       : program.phases[first];
        const bool moves = kind == "communication" || kind == "copy";
        const Json entry{{"text", text},
                         {"colour", moves ? kind : program.phases[first]},
                         {"what", slice.ops.size() > 1 ? fmt::format("{} operations", slice.ops.size())
                                                       : fmt::format("{}, {}", kind, program.phases[first])},
                         {"named", true}};
        const auto [at, fresh] = known_.emplace(entry.dump(), list.size());
        if (fresh) list.push_back(entry);
        return at->second;
    }

    Json list = Json::array();

private:
    std::vector<std::string> names_;
    std::map<std::string, std::size_t> known_;
};

/// A row of the page: one rank on one side. at: its pointer.
Json track(const Side& side, const std::string& at, const char* which, const Program& program,
           const std::vector<Slice>& slices, Labels& labels, Detail detail) {
    const auto begin = column<double>(side, at + "/begin_s", program.names.size()),
               end = column<double>(side, at + "/end_s", program.names.size());
    std::map<std::string, Json> lanes;
    for (const Slice& slice : slices) {
        double from = begin[slice.ops.front()], to = end[slice.ops.front()];
        for (const std::size_t i : slice.ops) {
            from = std::min(from, begin[i]);
            to = std::max(to, end[i]);
        }
        Json& passes = lanes.try_emplace(slice.lane, Json::array()).first->second;
        passes.push_back(nanoseconds(from));
        passes.push_back(nanoseconds(to) - nanoseconds(from));
        passes.push_back(labels.number(program, slice, detail));
        passes.push_back(program.micro_batches[slice.ops.front()]);
        passes.push_back(-1);
    }
    Json list = Json::array();
    if (const auto compute = lanes.find("compute"); compute != lanes.end())
        list.push_back({{"name", "compute"}, {"passes", compute->second}});
    for (const auto& [name, passes] : lanes)
        if (name != "compute") list.push_back({{"name", name}, {"passes", passes}});
    return {{"title", fmt::format("rank {} {}", side.index(at + "/rank"), which)}, {"lanes", std::move(list)}};
}

/// Pointers of the first rank of each role, and of too many roles of some, evenly spaced.
std::vector<std::string> shown_ranks(const Side& side) {
    std::map<std::size_t, std::string> first;
    for (std::size_t i = 0; i < side.size("/operations/ranks"); ++i) {
        const std::string at = fmt::format("/operations/ranks/{}", i);
        first.try_emplace(side.index(at + "/role"), at);
    }
    std::vector<std::string> all;
    for (const auto& [role, rank] : first) all.push_back(rank);
    if (all.size() <= most_ranks) return all;
    std::vector<std::string> some;
    for (std::size_t i = 0; i < most_ranks; ++i) some.push_back(all[i * (all.size() - 1) / (most_ranks - 1)]);
    return some;
}

struct Shown {
    std::string rank;  ///< pointer
    Program program;
};

std::size_t slices(const std::vector<Shown>& ranks, Detail detail) {
    std::size_t sum = 0;
    for (const Shown& rank : ranks) sum += 2 * slices_of(rank.program, detail).size();
    return sum;
}

/// As much detail as a page holds; ranks that are too many at any are left out.
Detail fitting(std::vector<Shown>& ranks) {
    for (const Detail detail : {Detail::operation, Detail::layer})
        if (slices(ranks, detail) <= most_slices) return detail;
    while (ranks.size() > 1 && slices(ranks, Detail::pass) > most_slices) ranks.pop_back();
    return Detail::pass;
}

}  // namespace

Json paired_timeline(const Side& predicted, const Side& measured) {
    std::vector<Shown> ranks;
    for (const std::string& rank : shown_ranks(predicted))
        ranks.push_back(
            {rank, Program(predicted, fmt::format("/operations/roles/{}", predicted.index(rank + "/role")))});
    const Detail detail = fitting(ranks);
    Labels labels(column<std::string>(predicted, "/operations/names", predicted.size("/operations/names")));
    Json tracks = Json::array();
    for (const auto& [rank, program] : ranks) {
        const std::vector<Slice> slices = slices_of(program, detail);
        tracks.push_back(track(predicted, rank, "predicted", program, slices, labels, detail));
        tracks.push_back(track(measured, rank, "measured", program, slices, labels, detail));
    }
    const double step = std::max(predicted.number("/step_time_s", 0), measured.number("/step_time_s", 0));
    const std::size_t all = predicted.size("/operations/ranks");
    return {{"step_ns", nanoseconds(step)},
            {"tracks", std::move(tracks)},
            {"labels", std::move(labels.list)},
            {"patterns", Json::array()},
            {"blocks", Json::object()},
            {"left_out", ranks.size() < all ? fmt::format("{} of {} ranks", all - ranks.size(), all) : ""}};
}

}  // namespace orrery::report
