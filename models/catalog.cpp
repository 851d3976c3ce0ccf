#include "models/catalog.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "models/families.hpp"

namespace orrery::models {

namespace {

std::vector<ModelSpec> all_families() {
    std::vector<ModelSpec> all = gpt_models();
    for (const auto& family : {llama_models(), bert_models()}) all.insert(all.end(), family.begin(), family.end());
    return all;
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return result;
}

/// Insertions, deletions, replacements and swaps of neighbours from a to b (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            cost[i][j] = std::min({replaced, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[a.size()][b.size()];
}

/// The three nearest names, nearest first, in the catalog's order among equals.
std::vector<std::string> nearest(const std::string& name) {
    std::vector<std::pair<std::size_t, std::string>> ranked;
    for (const ModelSpec& spec : catalog()) ranked.emplace_back(edit_distance(name, spec.name), spec.name);
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, ranked.size()); ++i) names.push_back(ranked[i].second);
    return names;
}

}  // namespace

ModelSpec with_derived_widths(ModelSpec spec) {
    if (spec.kv_heads == 0) spec.kv_heads = spec.heads;
    if (spec.head_dim == 0) spec.head_dim = spec.hidden / spec.heads;
    if (spec.ffn == 0) spec.ffn = 4 * spec.hidden;
    return spec;
}

std::span<const ModelSpec> catalog() {
    static const std::vector<ModelSpec> all = all_families();
    return all;
}

const ModelSpec& find(std::string_view name) {
    const std::string wanted = lower(name);
    for (const ModelSpec& spec : catalog())
        if (spec.name == wanted) return spec;
    const std::string shown = wanted.substr(0, 64);  // a name of any length keeps the message and the search short
    throw Error(fmt::format("unknown model \"{}\"", shown),
                fmt::format("nearest names: {}", fmt::join(nearest(shown), ", ")));
}

}  // namespace orrery::models
