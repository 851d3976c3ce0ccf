#include "tests/scenarios/random_scenario.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/scenarios/dice.hpp"
#include "tests/scenarios/random_pytorch.hpp"

namespace orrery::scenarios {

namespace {

using nlohmann::json;

/// The choices that others depend on.
struct Shape {
    std::uint32_t tensor, pipeline, chunks, data, layers, micro_batch, micro_batches, seq;
};

Shape draw_shape(Dice& dice) {
    Shape shape{};
    shape.tensor = dice.one_of<std::uint32_t>({1, 1, 2, 4, 8});
    shape.pipeline = dice.one_of<std::uint32_t>({1, 2, 3, 4});
    shape.chunks = shape.pipeline > 1 ? dice.between(1, 8 / shape.pipeline) : 1;
    shape.data = dice.between(1, 64 / (shape.tensor * shape.pipeline));
    const std::uint32_t slices = shape.pipeline * shape.chunks;
    shape.layers = slices * dice.between(1, 8 / slices);
    shape.micro_batch = dice.between(1, 4);
    shape.micro_batches = shape.chunks > 1 ? shape.pipeline * dice.between(1, 4) : dice.between(1, 16);
    shape.seq = shape.tensor * 8 * dice.between(1, 32);
    return shape;
}

json draw_model(Dice& dice, const Shape& shape) {
    const std::uint32_t groups = shape.tensor * dice.between(1, 2);  // key-value heads
    const std::uint32_t heads = groups * dice.one_of<std::uint32_t>({1, 1, 2, 4});
    const std::uint32_t head_dim = dice.one_of<std::uint32_t>({32, 64, 128});
    const std::string family = dice.one_of<std::string>({"gpt", "llama", "bert"});
    json model{{"name", "random-" + family},
               {"model_type", family},
               {"num_hidden_layers", shape.layers},
               {"hidden_size", heads * head_dim},
               {"num_attention_heads", heads},
               {"num_key_value_heads", groups},
               {"intermediate_size", shape.tensor * 64 * dice.between(1, 16)},
               {"vocab_size", dice.between(100, 60000)},
               {"max_position_embeddings", shape.seq}};
    if (dice.coin()) model["make_vocab_size_divisible_by"] = dice.one_of({1U, 64U, 128U});
    if (dice.coin()) model["swiglu"] = dice.coin();
    if (dice.coin()) model["tie_word_embeddings"] = dice.coin();
    if (dice.coin()) model["add_bias_linear"] = dice.coin();
    if (dice.coin()) model["normalization"] = dice.one_of<std::string>({"layernorm", "rmsnorm"});
    if (family == "gpt" && dice.coin()) model["use_parallel_residual"] = dice.coin();
    if (family == "gpt" && dice.coin()) model["position_embedding_type"] = dice.one_of<std::string>({"rope", "alibi"});
    return model;
}

/// A cluster that holds the ranks, sometimes with GPUs left over.
json draw_cluster(Dice& dice, std::uint32_t ranks) {
    const std::string preset = dice.one_of<std::string>(
        {"superpod-a100", "superpod-h100", "dgx-a100", "dgx-h100", "dgx-1v", "dgx-2", "ethernet"});
    const std::uint32_t gpus_per_node = preset == "dgx-2" ? 16 : preset == "ethernet" ? dice.one_of({4U, 8U}) : 8;
    const std::uint32_t nodes = (ranks + gpus_per_node - 1) / gpus_per_node + (dice.between(0, 3) == 0 ? 1 : 0);
    json cluster{{"preset", preset}, {"nodes", nodes}};
    if (preset == "ethernet") {
        cluster["gpus_per_node"] = gpus_per_node;
        cluster["gpu"] = dice.one_of<std::string>({"A100-40GB", "A100-80GB"});
        cluster["nics_per_node"] = dice.one_of<std::uint32_t>({1, 2, 4});
        cluster["nic_rate"] = dice.one_of<std::string>({"10 Gb/s", "25 Gb/s", "100 Gb/s", "25 GB/s"});
    }
    return cluster;
}

json draw_strategy(Dice& dice, const Shape& shape) {
    json strategy{{"tensor", shape.tensor},
                  {"pipeline", shape.pipeline},
                  {"data", shape.data},
                  {"sequence_parallel", dice.coin()},
                  {"scatter_gather", dice.coin()},
                  {"sharding", dice.one_of<std::string>({"none", "zero1"})},
                  {"recompute", dice.one_of<std::string>({"none", "selective", "full"})},
                  {"bucket_size", std::to_string(dice.between(1, 200)) + " MB"},
                  {"overlap_grad_reduce", dice.coin()}};
    if (shape.chunks > 1) {
        strategy["schedule"] = "interleaved";
        strategy["virtual_pipeline"] = shape.chunks;
        strategy["overlap_p2p"] = dice.coin();
    } else {
        strategy["schedule"] = dice.one_of<std::string>({"gpipe", "1f1b", "interleaved"});
    }
    if (strategy["recompute"] == "full") {
        strategy["recompute_num_layers"] = dice.between(0, shape.layers / (shape.pipeline * shape.chunks));
    }
    if (strategy["sharding"] == "zero1" && strategy["overlap_grad_reduce"].get<bool>()) {
        strategy["overlap_param_gather"] = dice.coin();
    }
    return strategy;
}

json draw_training(Dice& dice, const Shape& shape, const std::string& preset) {
    const bool volta = preset == "dgx-1v" || preset == "dgx-2";
    const bool hopper = preset.ends_with("h100");
    const std::string precision = volta    ? dice.one_of<std::string>({"fp32", "fp16"})
                                  : hopper ? dice.one_of<std::string>({"fp16", "bf16", "fp8"})
                                           : dice.one_of<std::string>({"fp32", "tf32", "fp16", "bf16"});
    json training{{"seq_length", shape.seq},
                  {"micro_batch_size", shape.micro_batch},
                  {"global_batch_size", shape.micro_batch * shape.data * shape.micro_batches},
                  {"precision", precision},
                  {"fused_attention", dice.coin()},
                  {"cuda_graph", dice.coin()},
                  {"software", dice.coin() ? "megatron-lm" : "orrery"},
                  {"clip_grad", dice.coin() ? 1.0 : 0.0},
                  {"dropout", dice.coin() ? 0.1 : 0.0}};
    if (dice.coin()) training["grad_reduce_precision"] = "fp32";
    return training;
}

/// RMSNorm of PyTorch's operators, in one scenario of four that have it.
void draw_norm(Dice& dice, const json& model, json& training) {
    const std::string usual = model["model_type"] == "llama" ? "rmsnorm" : "layernorm";
    if (model.value("normalization", usual) == "rmsnorm" && dice.between(0, 3) == 0) training["fused_rms_norm"] = false;
}

/// Layers of a chunk that are offloaded, in one scenario of three.
void draw_offloading(Dice& dice, const Shape& shape, json& strategy) {
    if (dice.between(0, 2) == 0)
        strategy["cpu_offloading_num_layers"] = dice.between(1, shape.layers / (shape.pipeline * shape.chunks));
}

/// Data ranks become context ranks, in one scenario of four; parts of sequences need fused attention.
void draw_context(Dice& dice, const Shape& shape, json& scenario) {
    json& strategy = scenario["strategy"];
    const std::uint32_t ranks = dice.one_of<std::uint32_t>({2, 2, 4});
    const bool volta = scenario["cluster"]["preset"] == "dgx-1v" || scenario["cluster"]["preset"] == "dgx-2";
    if (dice.between(0, 3) != 0 || shape.data % ranks != 0 || volta) return;
    strategy["context"] = ranks;
    strategy["data"] = shape.data / ranks;
    strategy["cp_comm_type"] = dice.one_of<std::string>({"p2p", "all_gather", "a2a", "a2a+p2p"});
    const json& model = scenario["model"];
    const std::uint32_t groups = model["num_key_value_heads"].get<std::uint32_t>() / shape.tensor;
    if (groups % ranks != 0 && strategy["cp_comm_type"] == "a2a") strategy["cp_comm_type"] = "p2p";
    if (strategy["cp_comm_type"] == "a2a+p2p") {
        const bool pairs = ranks == 4 && groups % 2 == 0;
        strategy["cp_comm_type"] = pairs ? "a2a+p2p" : "p2p";
        if (pairs) strategy["ulysses_degree"] = 2;
    }
    scenario["training"]["global_batch_size"] = shape.micro_batch * shape.data / ranks * shape.micro_batches;
    scenario["training"]["fused_attention"] = true;
}

/// Other shardings, in one scenario of four, and groups of ranks that each keep all that is sharded.
void draw_sharding(Dice& dice, json& strategy) {
    const std::string sharding = dice.one_of<std::string>({"zero2", "zero3"});
    if (dice.between(0, 3) == 0) {
        strategy["sharding"] = sharding;
        strategy.erase("overlap_param_gather");
    }
    if (dice.coin() && strategy["sharding"] != "none" && strategy["sharding"] != "zero1" &&
        strategy["data"].get<std::uint32_t>() % 2 == 0)
        strategy["num_distributed_optimizer_instances"] = 2;
}

/// ZeRO++, in half of the scenarios that it goes with; what the draw above may have set of groups is left out.
void draw_zero_plus_plus(Dice& dice, json& scenario) {
    json& strategy = scenario["strategy"];
    json& training = scenario["training"];
    const std::string precision = training["precision"];
    const bool weights = dice.coin(), gradients = dice.coin();
    const std::uint32_t part = dice.one_of<std::uint32_t>({1, 2, 4}), context = strategy.value("context", 1U);
    if (!dice.coin() || strategy["sharding"] != "zero3" || strategy["pipeline"] != 1 ||
        training.contains("lora_rank") || scenario["model"].contains("num_experts"))
        return;
    strategy.erase("num_distributed_optimizer_instances");
    const bool narrow = !precision.ends_with("32");
    strategy["zero_quantized_weights"] = weights && narrow;
    if (strategy["tensor"] != 1) return;
    const std::uint32_t ranks = strategy["data"].get<std::uint32_t>() * context;
    if (part > 1 && ranks % part == 0 && part % context == 0) strategy["zero_hpz_partition_size"] = part;
    if (!gradients || !narrow || ranks % context != 0) return;
    strategy["zero_quantized_gradients"] = true;
    strategy["zero_ranks_per_node"] = strategy.contains("zero_hpz_partition_size") ? part : 2 * context;
    training["grad_reduce_precision"] = precision == "fp8" ? "bf16" : precision;
}

/// The first stage hands a layer to the last, or both count what else they do as one, in one scenario of three.
void draw_stages(Dice& dice, const Shape& shape, json& strategy) {
    const std::uint32_t each = shape.layers / (shape.pipeline * shape.chunks);
    if (dice.between(0, 2) != 0 || shape.pipeline == 1 || shape.chunks > 1 || each < 2) return;
    if (strategy.value("cpu_offloading_num_layers", 0U) >= each) return;
    std::string list = std::to_string(each - 1);
    for (std::uint32_t stage = 1; stage < shape.pipeline; ++stage)
        list += "," + std::to_string(stage + 1 == shape.pipeline ? each + 1 : each);
    strategy["pipeline_layers"] = list;
}

/// A window in some layers or in all, and frozen weights, each in one scenario of five. A ring knows no windows.
void draw_windows_and_adapters(Dice& dice, const Shape& shape, json& scenario) {
    const std::uint32_t pattern = dice.one_of<std::uint32_t>({0, 2, 3}), rank = dice.one_of<std::uint32_t>({1, 8, 64});
    if (dice.between(0, 4) == 0 && scenario["model"]["model_type"] != "bert") {
        scenario["model"]["sliding_window"] = shape.seq / 2;
        scenario["model"]["sliding_window_pattern"] = pattern;
        if (scenario["strategy"].value("cp_comm_type", "").ends_with("p2p")) {
            scenario["strategy"]["cp_comm_type"] = "all_gather";
            scenario["strategy"].erase("ulysses_degree");
        }
    }
    if (dice.between(0, 4) == 0) {
        json& training = scenario["training"];
        training["lora_rank"] = rank;
        training["lora_target_modules"] = dice.one_of<std::string>({"all-linear", "attention", "qkv"});
        if (training["lora_target_modules"] == "qkv" && rank == 1) training["lora_target_modules"] = "q_v";
        if (rank == 8) training["canonical_lora"] = true;
    }
}

/// 1-bit Adam, in one scenario of three that it goes with.
void draw_compression(Dice& dice, json& scenario) {
    json& strategy = scenario["strategy"];
    const std::string precision = scenario["training"]["precision"];
    const std::uint32_t ranks = strategy["data"].get<std::uint32_t>() * strategy.value("context", 1U);
    if (dice.between(0, 2) != 0 || strategy["sharding"] != "none" || ranks == 1 || precision.ends_with("32")) return;
    strategy["compression"] = "onebit-adam";
    strategy["freeze_step"] = dice.between(1, 100'000);
}

/// Another optimizer than the fused Adam, in one scenario of four that has one of its own choice.
void draw_optimizer(Dice& dice, json& scenario) {
    if (dice.between(0, 3) != 0 || scenario["strategy"].contains("compression")) return;
    json& training = scenario["training"];
    const std::string optimizer =
        dice.one_of<std::string>({"adam", "sgd", "momentum", "lion", "lamb", "adafactor", "adam8bit"});
    training["optimizer"] = optimizer;
    const bool fused = dice.coin();
    training["fused_optimizer"] = fused && optimizer != "adafactor" && optimizer != "adam8bit";
    const bool of_torch = optimizer == "adam" || optimizer == "sgd" || optimizer == "momentum";
    if (!fused && of_torch && dice.coin()) training["foreach_optimizer"] = true;
}

/// Muon, in one scenario of six that it goes with.
void draw_muon(Dice& dice, json& scenario) {
    const json& strategy = scenario["strategy"];
    json& training = scenario["training"];
    const std::uint32_t steps = dice.between(1, 6);
    const bool sharded = strategy["sharding"] == "zero2" || strategy["sharding"] == "zero3";
    if (dice.between(0, 5) != 0 || sharded || strategy.contains("compression") || training.contains("lora_rank"))
        return;
    training["optimizer"] = "muon";
    training.erase("foreach_optimizer");
    training["muon_num_ns_steps"] = steps;
}

/// Schedules that split backwards, turn around or run both ways, in one scenario of three that they go with.
void draw_ways(Dice& dice, const Shape& shape, json& scenario) {
    json& strategy = scenario["strategy"];
    const bool split = strategy["recompute"] != "full" && strategy.value("cpu_offloading_num_layers", 0U) == 0;
    const bool halves = shape.layers % (2 * shape.pipeline) == 0 && !strategy.contains("pipeline_layers");
    const bool whole = strategy["sharding"] == "none" || strategy["sharding"] == "zero1";
    std::vector<std::string> list;
    if (shape.pipeline % 2 == 0 && whole && !strategy.contains("compression")) list.emplace_back("chimera");
    if (!list.empty() && split) list.emplace_back("dualpipe");
    if (split) list.emplace_back("zb-h1");
    if (split && halves) list.insert(list.end(), {"zb-v", "dualpipe-v"});
    const std::uint32_t drawn = dice.between(0, 23), units = dice.between(2, 4);
    if (dice.between(0, 2) != 0 || shape.pipeline == 1 || shape.chunks > 1 || list.empty()) return;
    strategy["schedule"] = list[drawn % list.size()];
    if (list[drawn % list.size()].ends_with("-v")) strategy["virtual_pipeline"] = 2;
    scenario["training"]["global_batch_size"] =
        shape.micro_batch * strategy["data"].get<std::uint32_t>() * shape.pipeline * units;
}

/// Modules that run again, where a backward is one, and tokens predicted beside the next one.
void draw_modules_and_tokens(Dice& dice, json& scenario) {
    json& strategy = scenario["strategy"];
    const std::string modules =
        dice.one_of<std::string>({"layernorm", "mlp", "mlp,layernorm", "core_attn,mlp", "layernorm,core_attn"});
    const std::string schedule = strategy.value("schedule", "1f1b");
    const bool whole = !schedule.starts_with("zb") && !schedule.starts_with("dualpipe");
    if (dice.coin() && strategy["recompute"] == "selective" && whole) strategy["recompute_modules"] = modules;
    const std::uint32_t tokens = dice.between(1, 2);
    if (dice.between(0, 3) == 0 && scenario["model"]["model_type"] != "bert")
        scenario["model"]["num_nextn_predict_layers"] = tokens;
}

/// Collectives of tensor ranks in parts beside products, in half of the scenarios that they go with.
void draw_tensor_overlap(Dice& dice, const Shape& shape, json& scenario) {
    json& strategy = scenario["strategy"];
    const std::string schedule = strategy.value("schedule", "1f1b");
    const std::uint32_t tokens = shape.micro_batch * shape.seq / strategy.value("context", 1U);
    if (!dice.coin() || shape.tensor == 1 || !strategy["sequence_parallel"].get<bool>()) return;
    if (schedule.starts_with("zb") || schedule.starts_with("dualpipe") || scenario["training"].contains("lora_rank"))
        return;
    strategy["tp_comm_overlap"] = tokens % (4 * shape.tensor) == 0;
}

/// Layers of Transformer Engine, in one scenario of three; a host that waits at their ends, in half of those that it
/// goes with.
void draw_engine(Dice& dice, json& scenario) {
    json& strategy = scenario["strategy"];
    if (dice.between(0, 2) == 0) scenario["training"]["software"] = "transformer-engine";
    const bool beside = strategy.value("overlap_p2p", false) || strategy.value("overlap_param_gather", false) ||
                        strategy.contains("cpu_offloading_num_layers") || strategy["sharding"] == "zero3";
    if (dice.coin() && strategy["recompute"] == "full" && !beside) strategy["synchronize_checkpoint_boundary"] = true;
}

/// Failures, checkpoints and storage of the whole training, in half of those that have a budget.
void draw_whole_run(Dice& dice, json& scenario) {
    if (!scenario.contains("outputs") || dice.coin()) return;
    json& reliability = scenario["reliability"] = {{"detection", std::to_string(dice.between(1, 30)) + " min"}};
    if (dice.coin()) reliability["failures_per_1000_node_days"] = dice.between(0, 10);
    if (dice.coin()) reliability.update({{"spare_nodes", dice.between(0, 4)}, {"repair", "2 days"}});
    scenario["checkpoint"] = {{"tier", dice.one_of<std::string>({"shared", "nvme"})},
                              {"optimum", dice.one_of<std::string>({"daly", "young"})}};
    if (dice.coin()) scenario["storage"] = {{"write_rate", std::to_string(dice.between(1, 50)) + " GB/s"}};
}

/// Weights in host memory or on drives, in half of the scenarios of ZeRO-3 that they go with, and beside them, or by
/// itself, an optimizer on the host.
void draw_offloaded_states(Dice& dice, json& scenario) {
    json& strategy = scenario["strategy"];
    json& training = scenario["training"];
    const std::string weights = dice.one_of<std::string>({"none", "cpu", "nvme"});
    const std::string states = dice.one_of<std::string>({"cpu", "nvme"});
    const bool optimizer = dice.coin(), part = dice.coin(), reads = dice.coin(), writes = dice.coin();
    if (dice.coin() || strategy["sharding"] != "zero3" || scenario["model"].contains("num_experts")) return;
    const bool plus_plus = strategy.contains("zero_quantized_weights") || strategy.contains("zero_hpz_partition_size");
    const bool adam = training.value("optimizer", "adam") == "adam" && training.value("fused_optimizer", true);
    if (optimizer && adam && !plus_plus) {
        strategy["optimizer_cpu_offload"] = strategy["overlap_cpu_optimizer_d2h_h2d"] = true;
        if (part) strategy["optimizer_offload_fraction"] = 0.5;
        strategy["offload_optimizer_device"] = states;
        strategy["offload_optimizer_pipeline_read"] = states == "nvme" && reads;
        strategy["offload_optimizer_pipeline_write"] = states == "nvme" && writes;
    }
    if (strategy["pipeline"] != 1 || plus_plus || strategy.contains("num_distributed_optimizer_instances") ||
        (strategy.value("sequence_parallel", false) && optimizer))
        return;
    strategy["offload_param_device"] = weights;
}

/// The first data rank takes more micro-batches than the last, or fewer, in one scenario of three that it goes with.
void draw_replica_counts(Dice& dice, json& scenario) {
    json& strategy = scenario["strategy"];
    const json& training = scenario["training"];
    const bool drawn = dice.between(0, 2) == 0, first = dice.coin();
    const std::string schedule = strategy.value("schedule", "1f1b");
    const auto data = strategy["data"].get<std::uint32_t>(), pipeline = strategy["pipeline"].get<std::uint32_t>();
    const std::uint32_t each =
        training["global_batch_size"].get<std::uint32_t>() / (training["micro_batch_size"].get<std::uint32_t>() * data);
    const std::uint32_t unit = schedule == "1f1b" || schedule == "gpipe" ? 1 : pipeline;
    const std::uint32_t least = schedule.starts_with("dualpipe") ? 2 * pipeline : unit;
    constexpr std::uint32_t most = 16;  // small scenarios are quick to test
    const bool meets = strategy["sharding"] == "zero2" || strategy["sharding"] == "zero3" ||
                       strategy.value("expert", 1U) > 1 || strategy.contains("compression");
    if (!drawn || meets || data == 1 || each < unit + least || each + unit > most) return;
    std::string list = std::to_string(first ? each + unit : each - unit) + ",";
    if (data > 2) list += std::to_string(data - 2) + "x" + std::to_string(each) + ",";
    strategy["replica_micro_batches"] = list + std::to_string(first ? each - unit : each + unit);
}

/// Blocks of matrices on a grid of tensor ranks, in half of the scenarios that it goes with; micro-batches are then so
/// many times larger that its rows have as many sequences each.
void draw_tensor_grid(Dice& dice, const Shape& shape, json& scenario) {
    json& strategy = scenario["strategy"];
    json& training = scenario["training"];
    const bool drawn = dice.coin(), cube = dice.coin();
    const bool narrow = training["precision"] == "fp8" || training.value("optimizer", "adam") == "muon";
    const bool alone = !strategy.contains("context") && !strategy.contains("compression") &&
                       !strategy.contains("zero_quantized_weights") && !training.contains("lora_rank");
    if (!drawn || (shape.tensor != 4 && shape.tensor != 8) || narrow || !alone ||
        scenario["model"]["model_type"] == "bert")
        return;
    scenario["model"].erase("use_parallel_residual");
    scenario["model"].erase("num_nextn_predict_layers");
    strategy["sequence_parallel"] = false;
    strategy.erase("tp_comm_overlap");
    training.erase("fused_rms_norm");
    strategy["tensor_mode"] = shape.tensor == 4 ? "2d" : cube ? "3d" : "2.5d";
    if (strategy["tensor_mode"] == "2.5d") strategy["tensor_depth"] = 2;
    const std::uint32_t rows = shape.tensor / 2;  // of two ranks each
    for (const char* key : {"micro_batch_size", "global_batch_size"})
        training[key] = training[key].get<std::uint32_t>() * rows;
}

/// What trainers on PyTorch do otherwise: each in one scenario of four that it goes with.
void draw_eager(Dice& dice, json& scenario) {
    json& strategy = scenario["strategy"];
    json& training = scenario["training"];
    const bool masters = dice.between(0, 3) != 0, joined = dice.between(0, 3) != 0, early = dice.between(0, 3) == 0;
    const bool adam = training.value("optimizer", "adam") == "adam" && training.value("fused_optimizer", true);
    const bool elsewhere = strategy.value("optimizer_cpu_offload", false) || strategy.contains("offload_param_device");
    const bool in_16_bits = training["precision"] == "bf16" || training["precision"] == "fp16";
    if (!masters && in_16_bits && adam && !elsewhere && strategy.value("compression", "none") != "onebit-adam")
        training.update({{"master_weights", false}, {"grad_reduce_precision", training["precision"]}});
    if (!joined && !training.value("activation_func_fp8_input_store", false))
        training["bias_activation_fusion"] = false;
    const bool engine = training.value("software", "megatron-lm") == "transformer-engine";
    const bool narrow = training["precision"] == "fp8" || training["precision"] == "fp4";
    const bool compiled = training.value("software", "megatron-lm") == "tensorflow";
    if (early && strategy["recompute"] != "none" && !engine && (!narrow || compiled))
        strategy["recompute_early_stop"] = true;
}

}  // namespace

json random_scenario(std::mt19937_64& random) {
    Dice dice(random);
    const Shape shape = draw_shape(dice);
    json scenario{{"name", "random"}, {"model", draw_model(dice, shape)}};
    scenario["cluster"] = draw_cluster(dice, shape.tensor * shape.pipeline * shape.data);
    scenario["strategy"] = draw_strategy(dice, shape);
    scenario["training"] = draw_training(dice, shape, scenario["cluster"]["preset"].get<std::string>());
    draw_norm(dice, scenario["model"], scenario["training"]);
    scenario["seed"] = dice.between(0, 1000);
    if (dice.coin()) scenario["outputs"]["token_budget"] = std::to_string(dice.between(1, 900)) + "B";
    // Drawn last, so that the rest of a seed's scenario is what it was.
    draw_offloading(dice, shape, scenario["strategy"]);
    draw_whole_run(dice, scenario);
    draw_context(dice, shape, scenario);
    draw_sharding(dice, scenario["strategy"]);
    draw_stages(dice, shape, scenario["strategy"]);
    draw_windows_and_adapters(dice, shape, scenario);
    draw_compression(dice, scenario);
    draw_ways(dice, shape, scenario);
    draw_optimizer(dice, scenario);
    draw_modules_and_tokens(dice, scenario);
    draw_tensor_overlap(dice, shape, scenario);
    draw_engine(dice, scenario);
    draw_zero_plus_plus(dice, scenario);
    draw_muon(dice, scenario);
    if (dice.between(0, 2) == 0) scenario["training"]["cross_entropy_loss_fusion"] = false;
    if (dice.between(0, 5) == 0) scenario["training"]["cross_entropy"] = "torch";
    draw_offloaded_states(dice, scenario);
    draw_replica_counts(dice, scenario);
    draw_tensor_grid(dice, shape, scenario);
    draw_eager(dice, scenario);
    draw_pytorch(scenario["seed"].get<std::uint64_t>(), scenario);
    return scenario;
}

}  // namespace orrery::scenarios
