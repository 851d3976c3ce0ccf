#include "validate/training_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/enum_table.hpp"
#include "base/error.hpp"
#include "documents/reader.hpp"
#include "hardware/power.hpp"
#include "reliability/goodput.hpp"
#include "scenarios/keys.hpp"
#include "topology/catalog.hpp"

namespace orrery::validate {

namespace {

constexpr double hour = 3600;

constexpr EnumNames<Quantity> names{"GPU-hours", "goodput", "MTTF", "energy"};

double positive(const Row& row, const char* path) {
    const auto value = row.number(path);
    if (!value) throw Skip(fmt::format("not published: {}", path));
    if (!(*value > 0)) throw Skip("measured value is not positive");
    return *value;
}

/// Of the failures, checkpoints and storage that the row states, and defaults for the rest.
reliability::Options options(const Row& row) {
    const nlohmann::json* scenario = row.find("scenario");
    if (scenario == nullptr || !scenario->is_object()) throw Skip("no scenario");
    const auto object = [&](const char* key) {
        const auto found = scenario->find(key);
        return found == scenario->end() ? nlohmann::json::object() : *found;
    };
    using documents::Reader;
    reliability::Options all;
    const nlohmann::json failures = object("reliability"), checkpoint = object("checkpoint"),
                         storage = object("storage");
    documents::read_fields(Reader(failures, section(scenarios::Place::reliability), row.id()),
                           reliability::failures_fields(), all.failures);
    documents::read_fields(Reader(checkpoint, section(scenarios::Place::checkpoint), row.id()),
                           reliability::checkpoint_fields(), all.checkpoint);
    documents::read_fields(Reader(storage, section(scenarios::Place::storage), row.id()), reliability::storage_fields(),
                           all.storage);
    return all;
}

/// Seconds between failures of a job, which take no plan.
double mttf_seconds(const Row& row) {
    const double gpus = positive(row, "gpus"), per_node = row.number("gpus_per_node").value_or(8);
    return 1 / (gpus / per_node * reliability::node_failure_rate(options(row).failures, per_node));
}

double measured_gpu_hours(const Row& row) {
    if (row.has("measured.gpu_hours")) return positive(row, "measured.gpu_hours");
    return positive(row, "measured.days") * 24 * positive(row, "gpus");
}

/// Throws Skip for what says of itself that no score may count it.
void check_scored(const Row& row, Quantity quantity) {
    const std::string what(name(quantity));
    if (const nlohmann::json* origin = row.find("origin_of"); origin != nullptr && origin->is_array())
        for (const nlohmann::json& entry : *origin)
            if (entry == what) throw Skip("a constant comes from it");
    if (const nlohmann::json* doubts = row.find("doubtful"); doubts != nullptr && doubts->is_object())
        if (doubts->contains(what)) throw Skip("doubtful: its source says that other things are in it");
}

/// By thermal design power and the row's PUE: what publications reckon with, where nothing was measured.
double predicted_mwh(const Row& row, const scenarios::Scenario& scenario, double gpu_hours) {
    const std::string gpu = topology::build(scenario.cluster).gpu().name;
    const hardware::Power watts = hardware::power_of(gpu);
    if (watts.gpu == 0) throw Skip("power not known");
    return gpu_hours * watts.gpu * row.number("measured.pue").value_or(1) / 1e6;
}

}  // namespace

std::string_view name(Quantity quantity) { return names[quantity]; }

std::string score_of(const Row& row, Quantity quantity) {
    const bool of_plan = quantity == Quantity::gpu_hours || quantity == Quantity::energy;
    const nlohmann::json* plan = row.find("plan");
    if (of_plan && plan != nullptr && *plan == "assumed") return fmt::format("{}, plan assumed", name(quantity));
    if (quantity == Quantity::mttf && !row.has("rate_of")) return fmt::format("{}, rate of others", name(quantity));
    return std::string(name(quantity));
}

std::vector<Quantity> measured_quantities(const Row& row) {
    std::vector<Quantity> all;
    if (row.has("measured.gpu_hours") || row.has("measured.days")) all.push_back(Quantity::gpu_hours);
    if (row.has("measured.goodput") || row.has("measured.goodput_at_least")) all.push_back(Quantity::goodput);
    if (row.has("measured.mttf_hours")) all.push_back(Quantity::mttf);
    if (row.has("measured.energy_mwh")) all.push_back(Quantity::energy);
    return all;
}

scenarios::Scenario training_run_scenario(const Row& row) {
    const nlohmann::json* document = row.find("scenario");
    if (document == nullptr || !document->is_object() || !document->contains("model")) throw Skip("plan not published");
    try {
        scenarios::Scenario scenario = scenarios::from_json(*document, row.id());
        if (scenario.outputs.token_budget == 0) throw Skip("tokens not published");
        scenario.whole_run = options(row);
        return scenario;
    } catch (const Error& error) {
        throw Skip(fmt::format("scenario refused at {}", error.pointer()));
    }
}

TrainingRunValues compare_training_run(const Row& row, Quantity quantity,
                                       const std::function<sim::Prediction(const scenarios::Scenario&)>& predict) {
    check_scored(row, quantity);
    TrainingRunValues values;
    if (quantity == Quantity::mttf) {
        values = {positive(row, "measured.mttf_hours"), mttf_seconds(row) / hour, 0};
        values.error = values.predicted / values.measured - 1;
        return values;
    }
    const scenarios::Scenario scenario = training_run_scenario(row);
    const sim::Prediction prediction = predict(scenario);
    if (!prediction.whole_run) throw Skip("no whole run was predicted");
    const reliability::Forecast& forecast = *prediction.whole_run;
    const double gpu_hours = prediction.gpus * forecast.seconds() / hour;
    switch (quantity) {
        case Quantity::gpu_hours: values = {measured_gpu_hours(row), gpu_hours, 0}; break;
        case Quantity::energy:
            values = {positive(row, "measured.energy_mwh"), predicted_mwh(row, scenario, gpu_hours), 0};
            break;
        case Quantity::goodput: {
            const bool bound = row.has("measured.goodput_at_least");
            const double share = positive(row, bound ? "measured.goodput_at_least" : "measured.goodput");
            const double points = forecast.goodput() - share;
            return {share, forecast.goodput(), bound ? std::min(0.0, points) : points};
        }
        case Quantity::mttf: break;
    }
    values.error = values.predicted / values.measured - 1;
    return values;
}

}  // namespace orrery::validate
