#include "validate/ratios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace orrery::validate {

namespace {

double measured_value(const Row& row) {
    const double value = row.number("measured.value").value_or(0);
    if (!(value > 0)) throw Skip("measured value is not positive");
    return value;
}

/// "x", "speedup over 1 GPU": a throughput over another.
bool compares(const std::string& unit) { return unit == "x" || unit.starts_with("speedup"); }

/// Throws Skip for a share of a step, days, GPUs.
void check_unit(const Row& row) {
    const std::string unit = row.words("measured.unit");
    if (!compares(unit) && unit != "samples/s") throw Skip("no ratio of throughputs");
}

/// What the row says against itself.
void check_words(const Row& row) {
    if (const nlohmann::json* flags = row.find("flags"); flags != nullptr && !flags->empty())
        throw Skip("row contradicts itself (flags)");
    if (const auto unmodelled = row.text("unmodelled")) throw Skip(fmt::format("not modelled: {}", *unmodelled));
}

scenarios::Scenario scenario_of(const nlohmann::json& document, const Row& row) {
    try {
        return scenarios::from_json(document, row.id());
    } catch (const Error& error) {
        throw Skip(fmt::format("scenario refused at {}", error.pointer()));
    }
}

const nlohmann::json& document_of(const Row& row) {
    const nlohmann::json* document = row.find("scenario");
    if (document == nullptr) throw Skip("plan not published");
    if (!document->is_object()) throw Skip("field of a wrong type: scenario");
    return *document;
}

const Row& named(const std::string& id, const std::vector<Row>& file) {
    const auto found = std::ranges::find(file, id, &Row::id);
    if (found == file.end()) throw Skip("base is no row of its file");
    return *found;
}

}  // namespace

Ratio read_ratio(const Row& row, const std::vector<Row>& file) {
    check_words(row);
    check_unit(row);
    const nlohmann::json& document = document_of(row);
    const nlohmann::json* base = row.find("base");
    if (base == nullptr) throw Skip("base of other ratios");
    if (base->is_string()) {
        const Row& other = named(base->get<std::string>(), file);
        if (other.words("measured.unit") != row.words("measured.unit")) throw Skip("base measured in another unit");
        return {scenario_of(document, row), scenario_of(document_of(other), other),
                measured_value(row) / measured_value(other)};
    }
    if (!base->is_object()) throw Skip("field of a wrong type: base");
    if (!compares(row.words("measured.unit"))) throw Skip("base is no row of its file");
    nlohmann::json changed = document;
    changed.merge_patch(*base);
    return {scenario_of(document, row), scenario_of(changed, row), measured_value(row)};
}

double throughput_ratio(const Ratio& ratio, const std::function<double(const scenarios::Scenario&)>& seconds) {
    const auto throughput = [&](const scenarios::Scenario& scenario) {
        return static_cast<double>(scenario.plan.training.global_batch) / seconds(scenario);
    };
    return throughput(ratio.plan) / throughput(ratio.base);
}

}  // namespace orrery::validate
