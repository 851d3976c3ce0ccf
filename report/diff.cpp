#include "report/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "base/units.hpp"
#include "report/side.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::json;
using Unit = ChangedNumber::Unit;

/// Less than a step's last printed digit.
constexpr double alike = 5e-5;

double peak(const Side& side) {
    double most = 0;
    for (std::size_t stage = 0; stage < side.size("/peak_memory_bytes"); ++stage)
        most = std::max(most, side.number(fmt::format("/peak_memory_bytes/{}", stage), 0));
    return most;
}

std::vector<ChangedNumber> changed_numbers(const Side& a, const Side& b) {
    std::vector<ChangedNumber> list;
    const auto add = [&](const char* name, const char* pointer, Unit unit) {
        const auto given = [&](const Side& side) -> std::optional<double> {
            if (!side.has(pointer) || side.at(pointer).is_null()) return std::nullopt;
            return side.number(pointer, 0);
        };
        const ChangedNumber number{name, unit, given(a), given(b)};
        if (number.before || number.after) list.push_back(number);
    };
    constexpr const char* step = "/step_time_s";
    list.push_back({"step", Unit::seconds, a.number(step, 0), b.number(step, 0)});
    add("tokens a second", "/tokens_per_s", Unit::rate);
    add("GPUs", "/provenance/gpus", Unit::rate);
    add("MFU", "/mfu", Unit::share);
    add("scale factor", "/scale_factor", Unit::share);
    add("the token budget", "/training_time_s", Unit::seconds);
    add("the whole run", "/whole_run/wall_clock_s", Unit::seconds);
    add("goodput", "/whole_run/goodput", Unit::share);
    add("failures", "/whole_run/failures", Unit::rate);
    add("GPU-hours", "/whole_run/gpu_hours", Unit::rate);
    add("MWh at least", "/whole_run/mwh/0", Unit::rate);
    list.push_back({"peak memory", Unit::bytes, peak(a), peak(b)});
    return list;
}

std::vector<ChangedNumber> changed_breakdown(const Side& a, const Side& b) {
    std::vector<ChangedNumber> list;
    for (const auto& [category, value] : a.at("/breakdown_s").items()) {
        const std::string pointer = "/breakdown_s/" + category;
        list.push_back({category, Unit::seconds, a.number(pointer, 0), b.number(pointer, 0)});
    }
    return list;
}

std::string printed(Unit unit, std::optional<double> value) {
    if (!value) return "-";
    switch (unit) {
        case Unit::seconds: return *value > 0 ? format_seconds(*value) : "0";
        case Unit::bytes: return format_bytes(*value);
        case Unit::share: return fmt::format("{:.1f}%", 100 * *value);
        case Unit::rate: return format_count(*value);
    }
    return "";
}

/// Of shares the difference in points.
std::string change(const ChangedNumber& number) {
    if (!number.is_of_both()) return number.before ? "gone" : "new";
    if (number.unit == Unit::share) return fmt::format("{:+.1f} points", 100 * (*number.after - *number.before));
    if (number.before == 0.0) return number.after == 0.0 ? "" : "new";
    return std::abs(number.relative()) < alike ? "=" : format_relative(number.relative());
}

std::string verdict(const Difference& d) {
    const ChangedNumber& step = d.numbers.front();
    const double share = step.relative();
    std::string text = std::abs(share) < alike ? "The steps take as long"
                                               : fmt::format("The step takes {:.1f}% {}", 100 * std::abs(share),
                                                             share < 0 ? "less" : "more");
    if (d.fitted != d.fits) text += d.fits ? ", and now it fits" : ", and it no longer fits";
    return text + fmt::format("; {} key{} of the scenario differ{}\n", d.keys.size(), d.keys.size() == 1 ? "" : "s",
                              d.keys.size() == 1 ? "s" : "");
}

std::string table_of(const std::string& title, const std::vector<ChangedNumber>& numbers) {
    Table table({{title, Table::Align::left}, {"before"}, {"after"}, {"change"}});
    for (const ChangedNumber& number : numbers)
        if (number.before.value_or(0) > 0 || number.after.value_or(0) > 0)
            table.row(
                {number.name, printed(number.unit, number.before), printed(number.unit, number.after), change(number)});
    return table.to_text();
}

nlohmann::ordered_json numbers_json(const std::vector<ChangedNumber>& numbers) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    const auto or_null = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
    for (const ChangedNumber& number : numbers)
        list.push_back({{"name", number.name}, {"before", or_null(number.before)}, {"after", or_null(number.after)}});
    return list;
}

}  // namespace

Difference difference(const Json& before, const std::string& before_file, const Json& after,
                      const std::string& after_file) {
    const Side a{before, before_file}, b{after, after_file};
    for (const Side* side : {&a, &b}) side->check_version();
    Difference d{.before = a.text("/scenario/name"), .after = b.text("/scenario/name")};
    d.keys = changed_keys(a, b);
    d.numbers = changed_numbers(a, b);
    d.breakdown = changed_breakdown(a, b);
    d.fitted = a.at("/fits") != false;
    d.fits = b.at("/fits") != false;
    return d;
}

std::string to_text(const Difference& d, Style style) {
    std::string text = paint(style, Ink::bold, verdict(d));
    if (d.before != d.after) text += fmt::format("before: {}\nafter:  {}\n", d.before, d.after);
    if (!d.keys.empty()) {
        Table table({{"key", Table::Align::left}, {"before"}, {"after"}});
        for (const ChangedKey& key : d.keys) table.row({key.pointer, key.before, key.after});
        text += "\n" + table.to_text();
    }
    return text + "\n" + table_of("", d.numbers) + "\n" + table_of("of the step", d.breakdown);
}

nlohmann::ordered_json to_json(const Difference& d) {
    nlohmann::ordered_json keys = nlohmann::ordered_json::array();
    for (const ChangedKey& key : d.keys)
        keys.push_back({{"pointer", key.pointer}, {"before", key.before}, {"after", key.after}});
    return {{"before", d.before},
            {"after", d.after},
            {"scenario", std::move(keys)},
            {"results", numbers_json(d.numbers)},
            {"breakdown_s", numbers_json(d.breakdown)},
            {"fitted", d.fitted},
            {"fits", d.fits}};
}

Records records(const Difference& d) {
    Records all({{"part"}, {"name"}, {"before"}, {"after"}});
    for (const ChangedKey& key : d.keys) all.row({"scenario", key.pointer, key.before, key.after});
    const auto or_none = [](const std::optional<double>& value) { return value ? Value(*value) : Value(); };
    const auto add = [&](const char* part, const std::vector<ChangedNumber>& numbers) {
        for (const ChangedNumber& number : numbers)
            all.row({part, number.name, or_none(number.before), or_none(number.after)});
    };
    add("result", d.numbers);
    add("breakdown", d.breakdown);
    return all;
}

}  // namespace orrery::report
