#include "validate/scenario_key.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <type_traits>

#include "base/text.hpp"
#include "models/model_fields.hpp"
#include "strategies/plan_fields.hpp"
#include "topology/cluster_key.hpp"

namespace orrery::validate {

namespace {

template <class T>
std::string text(const T& value) {
    if constexpr (std::is_enum_v<T>) {
        return fmt::format("{}", static_cast<int>(value));
    } else {
        return fmt::format("{}", value);
    }
}

template <class... T>
std::string list(const T&... values) {
    std::string result;
    ((result += text(values) + ","), ...);
    return result + ";";
}

/// The values of all fields; the name of a model, a label, is none of what is predicted.
template <class Struct>
std::string text(std::span<const documents::Field<Struct>> fields, const Struct& of) {
    std::string result;
    for (const auto& field : fields) {
        if (field.key.name == "name") continue;
        result += std::visit([](const auto& value) { return fmt::format("{},", value); }, field.get(of));
    }
    return result + ";";
}

// Structured bindings name every member, so that a new one does not compile until it is part of the key.

std::string key(const scenarios::Perturbations& perturbations) {
    const auto& [stragglers, links, jitter, background, imbalance, loads, zipf] = perturbations;
    std::string text = list(jitter, imbalance, zipf);
    for (const scenarios::ExpertLoad& load : loads) text += to_text(load) + ";";
    for (const scenarios::Straggler& straggler : stragglers) text += to_text(straggler) + ";";
    for (const scenarios::SlowLink& link : links) text += to_text(link) + ";";
    for (const scenarios::Background& traffic : background) text += to_text(traffic) + ";";
    return text;
}

std::string key(const scenarios::OtherJob& job) {
    const auto& [scenario, set, first_gpu, starts_at, name, plan] = job;  // name and plan follow from these
    return list(scenario, join(set), first_gpu.value_or(~0U), starts_at);
}

}  // namespace

std::string scenario_key(const scenarios::Scenario& scenario) {
    const auto& [name, plan, cluster, gpus, profile, more_profiles, seed, outputs, perturbations, other_jobs, whole_run,
                 synchrony] = scenario;
    // placement and either_order follow, a window and a rank's own micro-batches have no key
    const auto& [model, strategy, training, placement, drives, either_order, window, own] = plan;
    const auto& [token_budget] = outputs;
    std::string profiles = list(profile), others;
    for (const auto& [gpu, each] : more_profiles) profiles += list(gpu, each);
    for (const scenarios::OtherJob& job : other_jobs) others += key(job);
    if (whole_run)
        others += text(reliability::failures_fields(), whole_run->failures) +
                  text(reliability::checkpoint_fields(), whole_run->checkpoint) +
                  text(reliability::storage_fields(), whole_run->storage);
    if (synchrony) others += text(synchrony::options_fields(), *synchrony);
    return text(models::model_fields(), model) + text(strategies::strategy_fields(), strategy) +
           text(strategies::training_fields(), training) + topology::cluster_key(cluster) +
           list(gpus, profiles, seed, token_budget, drives.read, drives.write) + key(perturbations) + others;
}

}  // namespace orrery::validate
