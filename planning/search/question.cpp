#include "planning/search/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"
#include "hardware/gpu.hpp"
#include "planning/search/open_plan.hpp"
#include "planning/sweep/values.hpp"
#include "scenarios/override.hpp"

namespace orrery::planning {

namespace {

/// Splits what is asked for into rows of plans and axes of sites.
struct Asked {
    std::vector<scenarios::Override> set;
    std::vector<Axis> sites;
    std::vector<std::pair<std::string, std::vector<std::string>>> given;

    /// changes: of the scenario's document. said: by options of their own, of which those of plans are held.
    Asked(const SearchWishes& wishes, std::vector<scenarios::Override> changes,
          const std::vector<scenarios::Override>& said)
        : set(std::move(changes)) {
        for (const scenarios::Override& each : said)
            if (Space::has_row(each.path)) given.push_back({each.path, {each.value}});
        if (wishes.gpus) sites.push_back(gpus_axis("--gpus", *wishes.gpus));
        if (wishes.gpu) {
            sites.push_back(parse_axis("cluster.gpu=" + *wishes.gpu));
            set.push_back({"profile", "null"});  // each has its own
        }
        for (const std::string& text : wishes.fix) fix(scenarios::parse_override(text));
        for (const std::string& text : wishes.vary) vary(parse_axis(text));
    }

private:
    void fix(const scenarios::Override& change) {
        scenarios::require_known(change);
        if (Space::has_row(change.path)) {
            hold("--fix", change.path, {change.value});
        } else {
            require_kept("--fix", change.path);
            set.push_back(change);
        }
    }
    void vary(Axis axis) {
        if (Space::has_row(axis.key)) {
            hold("--vary", axis.key, std::move(axis.values));
        } else {
            require_kept("--vary", axis.key);
            sites.push_back(std::move(axis));
        }
    }
    void hold(std::string_view option, const std::string& key, std::vector<std::string> values) {
        if (std::ranges::find(given, key, [](const auto& each) { return each.first; }) != given.end())
            throw Error(fmt::format("{} {}", option, key), "", "is a key that is held already", "hold it once");
        given.emplace_back(key, std::move(values));
    }
    static void require_kept(std::string_view option, const std::string& key) {
        if (opens(key))
            throw Error(fmt::format("{} {}", option, key), "", "is a key of plans that a search leaves at its default",
                        fmt::format("compare plans with it by: orrery sweep SCENARIO --vary {}=A,B", key));
    }
};

Objective objective_of(const std::string& name) {
    for (const ObjectiveRow& row : objectives)
        if (row.name == name) return row.kind;
    throw Error("--objective", "", fmt::format("\"{}\" is unknown", name), "step, time, cost or energy");
}

/// "H100=2.5".
GpuPrices prices_of(const std::vector<std::string>& texts) {
    GpuPrices prices;
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        const hardware::Gpu* const gpu = hardware::find(text.substr(0, equals));
        if (gpu == nullptr)
            throw Error("--price " + text, "", "names no GPU", fmt::format("known: {}", join(hardware::names())));
        double price = 0;
        const char* const end = text.data() + text.size();
        const char* const number = equals == std::string::npos ? end : text.data() + equals + 1;
        const auto read = std::from_chars(number, end, price);
        if (read.ec != std::errc{} || read.ptr != end || !(price > 0) || !std::isfinite(price))
            throw Error("--price " + text, "", "is no price of a GPU-hour", "write a number above 0: H100=2.5");
        if (!prices.try_emplace(gpu->name, price).second)
            throw Error("--price " + text, "", fmt::format("is a second price of {}", gpu->name),
                        "give each kind of GPU one price");
    }
    return prices;
}

}  // namespace

SearchQuestion question_of(const scenarios::Request& request, const SearchWishes& wishes) {
    std::vector<std::pair<std::string_view, std::string>> keys;
    if (wishes.gpus) keys.emplace_back("--gpus", gpus_key);
    for (const std::string& text : wishes.fix) keys.emplace_back("--fix", text.substr(0, text.find('=')));
    for (const std::string& text : wishes.vary) keys.emplace_back("--vary", text.substr(0, text.find('=')));
    require_one_size(request, keys);
    nlohmann::json document = request.document();
    Asked asked(wishes, request.overrides(document), request.keys.said());
    const Objective objective = objective_of(wishes.objective);
    if (!wishes.price.empty() && asked.sites.empty() && objective != Objective::cost)
        throw Error("--price", "", "decides nothing among the plans of one cluster", "add --objective cost");
    return {.sites = Grid(request.source(), std::move(document), std::move(asked.set), std::move(asked.sites)),
            .given = std::move(asked.given),
            .objective = objective,
            .prices = prices_of(wishes.price),
            .top = wishes.top,
            .idle = wishes.idle};
}

Answer own_plan(const SearchQuestion& question, calibrate::ProfileStore& profiles) {
    try {
        return {evaluate(question.sites.scenario(0), profiles), {}};
    } catch (const Error& error) {
        return {{}, error.message()};
    }
}

}  // namespace orrery::planning
