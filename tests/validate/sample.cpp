#include "tests/validate/sample.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "validate/rows.hpp"

namespace orrery::validate::test {

using nlohmann::json;

json megatron() {
    return json::parse(R"json({
        "id": "sample/1", "kind": "training_step",
        "source": {"paper": "SC'21", "address": "https://arxiv.org/abs/2104.04473"},
        "model": {"name": "gpt sample", "layers": 4, "hidden": 1024, "heads": 16, "ffn": 4096, "seq": 512,
                  "vocab": 51200, "gated": false},
        "precision": "fp16 mixed", "gpu": "A100-SXM4-80GB", "node": "DGX A100 (8 GPUs, NVLink3)",
        "gpus": 16, "nodes": 2, "network": "8x HDR InfiniBand 200 Gb/s per node",
        "tp": 2, "pp": 1, "vpp": 1, "dp": 8, "sp": false, "sharding": "none", "mbs": 2, "gbs": 64,
        "recompute": "none", "switches": {"framework": "Megatron-LM"}, "measured": {"step_time_s": 4.0}})json");
}

Row row_of(const json& fields) { return {"sample", 0, fields}; }

json with(json base, const json& patch) {
    if (!patch.is_null()) base.update(patch, true);
    return base;
}

Row row_with(const json& patch) { return row_of(with(megatron(), patch)); }

bool any_profile(const std::string&) { return true; }

scenarios::Scenario mapped(const json& patch) { return map_row(row_with(patch), any_profile); }

std::string reason_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Skip& skip) {
        return skip.what();
    }
    return "";
}

std::string reason(const json& patch) {
    return reason_of([&] { mapped(patch); });
}

Predictor constant(double seconds) {
    Predictor predictor;
    predictor.step = [seconds](const scenarios::Scenario& scenario) {
        sim::Prediction prediction;
        prediction.step_time_s = seconds;
        prediction.memory.resize(scenario.plan.strategy.pipeline);
        for (sim::StageMemory& stage : prediction.memory) stage.peak = 1ULL << 30;
        prediction.memory.back().peak = 2ULL << 30;
        return prediction;
    };
    predictor.collective = [](const topology::ClusterSpec&, const std::string&, kernels::CollectiveKind, std::uint32_t,
                              double bytes) { return bytes / 100e9; };
    predictor.has_profile = any_profile;
    return predictor;
}

Row carried_row(const std::string& file, const std::string& id) {
    for (const Row& row : load_rows("scenarios/validation/" + file + ".json").rows)
        if (row.id() == id) return row;
    ADD_FAILURE() << file << " carries no row " << id;
    return row_of(json::object());
}

Folder::Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "orrery-validate-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
}

Folder::~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path Folder::write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
}

}  // namespace orrery::validate::test
