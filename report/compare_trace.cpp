#include "report/compare_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/statistics.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::json;

/// What the device does, and the keys of a breakdown (breakdown.hpp) that are it.
struct Use {
    const char* title;
    const char* traced;
    std::vector<const char*> predicted;
};

const std::vector<Use>& uses() {
    static const std::vector<Use> all{
        {"GEMM", "gemm", {"gemm"}},
        {"attention", "attention", {"attention"}},
        {"memory-bound", "memory_bound", {"memory_bound"}},
        {"optimizer", "optimizer", {"optimizer"}},
        {"communication exposed", "communication", {"tensor_comm", "expert_comm", "pipeline_comm", "data_comm"}},
        {"copies exposed", "copies", {"offload"}},
        {"idle", "idle", {"launch", "bubble"}},
    };
    return all;
}

constexpr double positive = 1e-12;

/// The rank that was traced; the first where the trace does not say.
std::size_t traced_rank(const Side& m) {
    return m.has("/trace/rank") && !m.at("/trace/rank").is_null() ? m.index("/trace/rank") : 0;
}

void require_same_size(const Side& p, const Side& m) {
    if (!m.has("/trace/ranks") || m.at("/trace/ranks").is_null()) return;
    const std::size_t traced = m.index("/trace/ranks"), predicted = p.index("/provenance/gpus");
    if (traced != predicted)
        throw Error(m.file, "/trace/ranks", fmt::format("{} ranks, where {} has {}", traced, p.file, predicted),
                    "predict the job that was traced");
    if (traced_rank(m) >= traced)
        throw Error(m.file, "/trace/rank", fmt::format("{} of {} ranks", traced_rank(m), traced),
                    "the file is damaged");
}

/// Ranks of one pipeline stage follow each other (strategies/mesh.hpp).
std::size_t stage_of(std::size_t rank, const Side& p) {
    const std::size_t stages = p.size("/stages"), ranks = p.index("/provenance/gpus");
    if (stages == 0 || ranks == 0) throw Error(p.file, "/stages", "has none", "the file is damaged");
    return std::min(rank, ranks - 1) * stages / ranks;
}

void compare_uses(const Side& p, const Side& m, Comparison& out) {
    const std::size_t stage = stage_of(traced_rank(m), p);
    for (const Use& use : uses()) {
        Pair pair{use.title, 0, m.number(fmt::format("/trace/breakdown_s/{}", use.traced), -1)};
        for (const char* key : use.predicted)
            pair.predicted += p.number(fmt::format("/stages/{}/breakdown_s/{}", stage, key), -1);
        out.categories.push_back(std::move(pair));
    }
}

struct Key {
    std::optional<std::int64_t> layer;
    std::string phase, kind;
    auto operator<=>(const Key&) const = default;
};
struct Sum {
    double seconds = 0, count = 0;
};
using Groups = std::map<Key, Sum>;

Groups traced_groups(const Side& m) {
    Groups groups;
    for (std::size_t i = 0; i < m.size("/trace/groups"); ++i) {
        const std::string at = fmt::format("/trace/groups/{}", i);
        Key key{std::nullopt, m.text(at + "/phase"), m.text(at + "/kind")};
        if (!m.at(at + "/layer").is_null()) key.layer = static_cast<std::int64_t>(m.index(at + "/layer"));
        Sum& sum = groups[key];
        sum.seconds += m.number(at + "/seconds", 0);
        sum.count += m.number(at + "/count", 0);
    }
    return groups;
}

std::optional<std::string> place_of(const Side& p, std::size_t rank) {
    for (std::size_t r = 0; r < p.size("/operations/ranks"); ++r)
        if (p.index(fmt::format("/operations/ranks/{}/rank", r)) == rank) return fmt::format("/operations/ranks/{}", r);
    return std::nullopt;
}

/// Communication and copies have no phase, as in a trace; what is done to gradients is done in the backward pass. The
/// head, which a program counts as one layer more, is outside of them.
Key key_of(const Side& p, const std::string& role, std::size_t op, std::size_t layers) {
    const auto text = [&](const char* column) { return p.text(fmt::format("{}/{}/{}", role, column, op)); };
    Key key{std::nullopt, text("phase"), text("kind")};
    if (key.kind == "communication" || key.kind == "copy") {
        key.phase.clear();
        return key;
    }
    if (key.phase == "gradient") key.phase = "backward";
    const Json& layer = p.at(fmt::format("{}/layer/{}", role, op));
    const std::int64_t number = layer.is_number_integer() ? layer.get<std::int64_t>() : -1;
    if (number >= 0 && std::cmp_less(number, layers)) key.layer = number;
    return key;
}

Groups predicted_groups(const Side& p, std::size_t rank) {
    const auto at = place_of(p, rank);
    if (!at)
        throw Error(p.file, "/operations/ranks", fmt::format("has no rank {}, which was traced", rank),
                    "predict the job that was traced");
    const std::string role = fmt::format("/operations/roles/{}", p.index(*at + "/role"));
    const std::size_t layers = p.index("/scenario/model/num_hidden_layers");
    Groups groups;
    for (std::size_t op = 0; op < p.size(role + "/name"); ++op) {
        const Key key = key_of(p, role, op, layers);
        if (key.kind == "host") continue;
        const auto time = [&](const char* column) { return p.number(fmt::format("{}/{}/{}", *at, column, op), 0); };
        Sum& sum = groups[key];
        sum.seconds += std::max(0.0, time("end_s") - time("begin_s"));
        ++sum.count;
    }
    return groups;
}

std::vector<std::int64_t> layers_of(const Groups& groups) {
    std::set<std::int64_t> layers;
    for (const auto& [key, sum] : groups)
        if (key.layer) layers.insert(*key.layer);
    return {layers.begin(), layers.end()};
}

/// Of the time of products and attention, the share that lies in layers.
double share_in_layers(const Groups& groups) {
    double all = 0, inside = 0;
    for (const auto& [key, sum] : groups) {
        if (key.kind != "gemm" && key.kind != "attention") continue;
        all += sum.seconds;
        if (key.layer) inside += sum.seconds;
    }
    return all > 0 ? inside / all : 0;
}

/// The groups with their layers called as `names` has them, in the order of `own`; none where that is empty.
Groups renamed(const Groups& groups, const std::vector<std::int64_t>& own, const std::vector<std::int64_t>& names) {
    Groups out;
    for (const auto& [key, sum] : groups) {
        Key other = key;
        other.layer.reset();
        if (key.layer && !own.empty())
            other.layer = names[static_cast<std::size_t>(std::ranges::lower_bound(own, *key.layer) - own.begin())];
        out[other].seconds += sum.seconds;
        out[other].count += sum.count;
    }
    return out;
}

std::string title(const Key& key, bool by_layer) {
    const bool travels = key.phase.empty();
    const std::string where = key.layer ? fmt::format("layer {}", *key.layer) : "outside of layers";
    if (travels) return key.kind;
    return by_layer ? fmt::format("{} ({})", where, key.phase) : key.phase;
}

void compare_groups(const Side& p, const Side& m, Comparison& out) {
    Groups predicted = predicted_groups(p, traced_rank(m)), traced = traced_groups(m);
    const std::vector<std::int64_t> expected = layers_of(predicted), found = layers_of(traced);
    const bool by_layer =
        !found.empty() && found.size() == expected.size() && share_in_layers(traced) >= share_in_layers(predicted) / 2;
    predicted = renamed(predicted, by_layer ? expected : std::vector<std::int64_t>{}, expected);
    traced = renamed(traced, by_layer ? found : std::vector<std::int64_t>{}, expected);
    std::set<Key> keys;
    for (const Groups* side : {&predicted, &traced})
        for (const auto& [key, sum] : *side) keys.insert(key);
    std::vector<double> errors;
    for (const Key& key : keys) {
        const Sum ours = predicted[key], theirs = traced[key];
        OpGroup group{{title(key, by_layer), ours.seconds, theirs.seconds}, key.kind, ours.count, 0, 0};
        if (ours.seconds > 0 && theirs.seconds > 0) {
            group.median_error = std::abs(group.seconds.error());
            errors.push_back(group.median_error);
        }
        out.groups.push_back(std::move(group));
    }
    std::ranges::stable_sort(out.groups, std::ranges::greater{},
                             [](const OpGroup& group) { return std::abs(group.seconds.difference()); });
    out.median_op_error = median(errors);
}

}  // namespace

bool is_traced(const Json& measured) { return measured.is_object() && measured.contains("trace"); }

Comparison compare_traced(const Side& p, const Side& m) {
    Comparison out;
    out.traced = true;
    out.step = {"step", p.number("/step_time_s", positive), m.number("/step_time_s", positive)};
    if (m.has("/trace/step_spread_s")) out.step_spread = m.number("/trace/step_spread_s", 0) / out.step.measured;
    require_same_size(p, m);
    compare_uses(p, m, out);
    if (p.has("/operations")) compare_groups(p, m, out);
    return out;
}

}  // namespace orrery::report
