#include "tests/property/more.hpp"

#include <array>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "calibrate/roofline.hpp"
#include "sim/perturbed.hpp"
#include "sim/run_step.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::laws {

namespace {

using nlohmann::json;

/// Schedules that split backwards neither recompute nor offload.
void with_whole_backwards(json& s) {
    json& strategy = s["strategy"];
    const std::string schedule = strategy["schedule"];
    if (!schedule.starts_with("zb-") && !schedule.starts_with("dualpipe")) return;
    strategy["schedule"] = "1f1b";
    strategy.erase("virtual_pipeline");
}

/// Layers of a chunk; where there is no more than one all of them.
void offload(json& s, bool all) {
    with_equal_stages(s);
    with_whole_backwards(s);
    const auto of = [&](const char* key) {
        return s["strategy"].contains(key) ? s["strategy"][key].get<std::uint32_t>() : 1;
    };
    const std::uint32_t chunk =
        s["model"]["num_hidden_layers"].get<std::uint32_t>() / (of("pipeline") * of("virtual_pipeline"));
    s["strategy"]["cpu_offloading_num_layers"] = all ? chunk : (chunk + 1) / 2;
    s["strategy"].erase("synchronize_checkpoint_boundary");
}

void twice(json& value) { value = 2 * value.get<std::uint64_t>(); }

void larger_batch(json& s) { twice(s["training"]["global_batch_size"]); }
void more_layers(json& s) { twice(s["model"]["num_hidden_layers"]); }
void wider(json& s) { twice(s["model"]["intermediate_size"]); }
void longer(json& s) {
    twice(s["training"]["seq_length"]);
    twice(s["model"]["max_position_embeddings"]);
}
void recomputed(json& s) { s["strategy"]["recompute"] = "full"; }

/// Wider layers fill gradient buckets sooner, which may then leave sooner.
void without_buckets(json& s) {
    s["strategy"].erase("overlap_param_gather");
    s["strategy"]["overlap_grad_reduce"] = false;
}

/// Of what is compressed each rank takes a part of eights: a wider model may need no padding. Muon's matrices are dealt
/// as a whole: wider ones may be more even.
void without_buckets_or_padding(json& s) {
    without_buckets(s);
    if (s["training"].value("optimizer", "") == "muon") s["strategy"]["sharding"] = "none";
    for (const char* key : {"compression", "freeze_step", "powersgd_rank", "compression_ratio", "compression_passes"})
        s["strategy"].erase(key);
}

/// Layers that are recomputed leave less to copy.
void neither_recomputed_nor_offloaded(json& s) {
    without_recomputation(s);
    without_offloading(s);
}

/// All of a chunk's layers offloaded, and one micro-batch where the schedule allows that.
void one_offloaded_micro_batch(json& s) {
    offload_all(s);
    with_equal_replicas(s);
    if (s["strategy"].contains("virtual_pipeline") || s["strategy"]["schedule"] == "chimera") return;
    s["training"]["global_batch_size"] =
        s["training"]["micro_batch_size"].get<std::uint64_t>() * s["strategy"]["data"].get<std::uint64_t>();
}

/// Of the shipped tables of products one row each stays, at its roofline, from which all others follow.
calibrate::Profile smooth_products(calibrate::Profile profile) {
    constexpr std::uint32_t side = 4096;
    profile.constants.erase("tile_waves");  // splits of k make a longer product faster
    profile.batched_gemm.clear();
    const calibrate::Machine machine(profile.constants);
    for (calibrate::GemmTable& table : profile.gemm) {
        const double seconds = calibrate::gemm_roofline({table.dtype, 1, side, side, side, table.pass}, machine);
        table.points = {{side, side, side, static_cast<float>(seconds)}};
        table.scatter.reset();
    }
    return profile;
}

/// A predictor and the profile that it refers to.
struct Smooth {
    explicit Smooth(const calibrate::Profile& shipped) : profile(smooth_products(shipped)), predictor(profile) {}

    calibrate::Profile profile;
    calibrate::Predictor predictor;
};

constexpr std::array table{
    Growth{"a larger batch", with_equal_replicas, larger_batch},
    Growth{"a second micro-batch", one_offloaded_micro_batch, larger_batch},
    Growth{"more layers", without_offloading, more_layers},
    Growth{"a wider model", without_buckets_or_padding, wider, true},
    Growth{"longer sequences", with_large_kernels, longer},
    Growth{"recomputing", neither_recomputed_nor_offloaded, recomputed},
    Growth{"offloading half", without_offloading, offload_half},
    Growth{"offloading all", offload_half, offload_all},
};

}  // namespace

std::span<const Growth> growths() { return table; }

void unchanged(json&) {}

void with_equal_replicas(json& s) { s["strategy"].erase("replica_micro_batches"); }

void with_equal_stages(json& s) { s["strategy"].erase("pipeline_layers"); }

void without_offloading(json& s) {
    with_equal_stages(s);
    with_whole_backwards(s);
    s["strategy"].erase("cpu_offloading_num_layers");
    s["strategy"].erase("synchronize_checkpoint_boundary");  // which nothing is offloaded beside
}

void without_recomputation(json& s) {
    s["strategy"]["recompute"] = "none";
    s["strategy"].erase("recompute_num_layers");
    s["strategy"].erase("recompute_modules");
    s["strategy"].erase("synchronize_checkpoint_boundary");
}

void with_large_kernels(json& s) {
    s["training"]["seq_length"] = s["model"]["max_position_embeddings"] = 1024;
    s["model"]["intermediate_size"] = 4096;
}

void offload_half(json& s) { offload(s, false); }
void offload_all(json& s) { offload(s, true); }

const calibrate::Predictor& predictor_of(const Growth& growth, const scenarios::Scenario& scenario) {
    const calibrate::Predictor& shipped = sim::profiles().find(scenario.profile);
    if (!growth.larger_products) return shipped;
    static std::mutex mutex;
    static std::map<std::string, Smooth> made;
    const std::scoped_lock lock(mutex);
    return made.try_emplace(scenario.profile, shipped.profile()).first->second.predictor;
}

double step_seconds(const scenarios::Scenario& scenario, const calibrate::Predictor& predictor) {
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const sim::Perturbed perturbed(scenario.perturbations, scenario.seed, cluster, scenario.plan);
    const sim::Perturbed* const how = scenario.perturbations.none() ? nullptr : &perturbed;
    return sim::RanStep(scenario.plan, cluster, predictor, {.perturbed = how}).seconds();
}

double uncontended_seconds(const scenarios::Scenario& scenario, const calibrate::Predictor& predictor) {
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const sim::Perturbed perturbed(scenario.perturbations, scenario.seed, cluster, scenario.plan);
    const sim::Perturbed* const how = scenario.perturbations.none() ? nullptr : &perturbed;
    const sim::RanStep ran(scenario.plan, cluster, predictor, {.fold = false, .perturbed = how});
    const auto engine = sim::make_uncontended_engine(ran.folding->capacities);
    const sim::ReplayJob job{&ran.program, &ran.costs, ran.folding.get()};
    return replay(std::span(&job, 1), ran.network, *engine, how).jobs.front().end / ran.program.steps;
}

double uncontended_seconds(const scenarios::Scenario& scenario) {
    return uncontended_seconds(scenario, sim::profiles().find(scenario.profile));
}

}  // namespace orrery::laws
