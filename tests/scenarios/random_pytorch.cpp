#include "tests/scenarios/random_pytorch.hpp"

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "tests/scenarios/dice.hpp"

namespace orrery::scenarios {

namespace {

using nlohmann::json;

/// Products apart and copies of keys and values, each in one scenario of four.
void draw_products(Dice dice, json& training) {
    for (const char* key : {"fuse_attention_qkv", "fuse_attention_ffn", "enable_gqa"})
        if (dice.between(0, 3) == 0) training[key] = false;
    if (dice.between(0, 3) == 0) training["complex_rope"] = true;
    if (training.contains("lora_rank")) training["autocast_adapter_dtype"] = dice.coin();
}

/// What PyTorch's tensor and context ranks do, each in one scenario of four that has such.
void draw_ranks(Dice dice, const json& model, const json& training, json& strategy) {
    const bool first = dice.between(0, 3) == 0, ring = dice.between(0, 3) == 0;
    const bool each = dice.between(0, 3) == 0, whole = dice.between(0, 3) == 0;
    if (strategy.value("sequence_parallel", false)) strategy["batch_first"] = first;
    if (!strategy.contains("tensor_mode")) {
        const bool apart = !training.value("fuse_attention_qkv", true) && !model.contains("kv_lora_rank") &&
                           !strategy.value("tp_comm_overlap", false);
        if (apart && each) strategy["tp_prepare_module_input"] = false;
        if (whole) strategy["loss_parallel"] = false;
    }
    const std::string exchange = strategy.value("cp_comm_type", "");
    if ((exchange == "p2p" || exchange == "all_gather") && !model.contains("sliding_window"))
        strategy["templated_ring_attention"] = ring;
}

}  // namespace

void draw_pytorch(std::uint64_t seed, json& scenario) {
    std::mt19937_64 of_products(seed), of_ranks(seed + 1);
    draw_products(Dice(of_products), scenario["training"]);
    draw_ranks(Dice(of_ranks), scenario["model"], scenario["training"], scenario["strategy"]);
}

}  // namespace orrery::scenarios
