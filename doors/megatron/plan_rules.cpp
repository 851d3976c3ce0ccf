// How the step is divided, overlapped, recomputed and calculated.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "doors/convert.hpp"
#include "doors/megatron/rules.hpp"
#include "doors/recomputation.hpp"
#include "strategies/modules.hpp"
#include "strategies/stage_split.hpp"

namespace orrery::doors::megatron {

namespace {

std::uint64_t layers_of_stage(const Draft& draft) {
    return draft.whole("/model/num_hidden_layers", 0) /
           std::max<std::uint64_t>(1, draft.whole("/strategy/pipeline", 1));
}

void read_virtual_stages(const Givens& given, Draft& draft) {
    const Given* const said =
        given.find_any({"num_virtual_stages_per_pipeline_rank", "num_layers_per_virtual_pipeline_stage"});
    if (said == nullptr) return;
    if (draft.whole("/strategy/pipeline", 1) == 1)  // nothing is interleaved
        return draft.findings.harmless(said->origin.place, said->origin.name);
    const auto number = whole_of(*said, draft);
    if (!number) return;
    std::uint64_t chunks = *number;
    if (said->name == "num_layers_per_virtual_pipeline_stage") {
        const std::uint64_t layers = layers_of_stage(draft);
        if (layers % *number != 0)
            return draft.findings.refuse(said->origin.place, said->origin.name,
                                         fmt::format("{} does not divide the {} layers of a stage", *number, layers),
                                         "a divisor");
        chunks = layers / *number;
    }
    if (chunks <= 1) return;
    set_key("/strategy/virtual_pipeline", {said->name, chunks, said->origin}, draft);
    if (given.find("no_overlap_p2p_communication") == nullptr)
        draft.set_default("/strategy/overlap_p2p", true, said->origin);
}

/// Of a list, or of words between blanks.
std::vector<std::string> words_of(const nlohmann::json& value) {
    std::vector<std::string> words;
    if (value.is_array()) {
        for (const nlohmann::json& each : value) words.push_back(text_of(each));
    } else {
        std::istringstream text(text_of(value));
        words.assign(std::istream_iterator<std::string>(text), {});
    }
    return words;
}

/// cp_comm_type: one kind, or one a layer; the first, and whether all are alike.
std::pair<std::string, bool> kind_of_exchange(const nlohmann::json& value) {
    const std::vector<std::string> kinds = words_of(value);
    if (kinds.empty()) return {"", false};
    return {kinds.front(), std::ranges::count(kinds, kinds.front()) == std::ssize(kinds)};
}

/// Of two levels the first exchanges heads; one of one rank leaves the other alone.
void read_degree(const Givens& given, const Origin& exchange, Draft& draft) {
    const Given* const sizes = given.find("hierarchical_context_parallel_sizes");
    const std::vector<std::string> levels = sizes == nullptr ? std::vector<std::string>() : words_of(sizes->value);
    if (levels.size() != 2)
        return draft.findings.refuse(
            exchange.place, exchange.name,
            fmt::format("a2a+p2p has two levels of context ranks, and {} are given", levels.size()),
            "give hierarchical_context_parallel_sizes two numbers");
    const auto first = whole_number(levels[0]), second = whole_number(levels[1]);
    if (!first || !second || *first * *second != draft.whole("/strategy/context", 1))
        return draft.findings.refuse(sizes->origin.place, sizes->origin.name,
                                     fmt::format("{} and {} context ranks are not the {} that there are", levels[0],
                                                 levels[1], draft.whole("/strategy/context", 1)),
                                     "give two numbers whose product is context_parallel_size");
    if (*first == 1 || *second == 1)
        return draft.set("/strategy/cp_comm_type", *first == 1 ? "p2p" : "a2a", sizes->origin);
    set_key("/strategy/ulysses_degree", {sizes->name, nlohmann::json(levels[0]), sizes->origin}, draft);
}

void read_context(const Givens& given, Draft& draft) {
    if (draft.whole("/strategy/context", 1) == 1) return;
    const Given* const said = given.find("cp_comm_type");
    if (said == nullptr) return;
    const auto [first, alike] = kind_of_exchange(said->value);
    if (!alike || (first != "p2p" && first != "all_gather" && first != "a2a" && first != "a2a+p2p"))
        return draft.findings.refuse(said->origin.place, said->origin.name,
                                     "this exchange among context ranks is not modelled yet",
                                     "p2p, all_gather, a2a or a2a+p2p");
    draft.set("/strategy/cp_comm_type", first, said->origin);
    if (first == "a2a+p2p") read_degree(given, said->origin, draft);
}

/// DeepSpeed's own sequence parallelism exchanges heads (Ulysses).
void read_ulysses(const Givens& given, Draft& draft) {
    const Given* const ranks = given.find("ds_sequence_parallel_size");
    if (ranks == nullptr) return;
    set_key("/strategy/context", *ranks, draft);
    if (draft.whole("/strategy/context", 1) > 1) draft.set("/strategy/cp_comm_type", "a2a", ranks->origin);
}

void read_layout(const Givens& given, Draft& draft) {
    const Given* const layout = given.find("pipeline_model_parallel_layout");
    if (layout == nullptr) return;
    const std::string layers = strategies::layers_of_layout(text_of(layout->value));
    if (layers.empty())
        return draft.findings.refuse(layout->origin.place, layout->origin.name,
                                     "a layout of other layers than E, t and L is not modelled yet",
                                     "--set strategy.pipeline_layers=N,N,...");
    const auto stages = static_cast<std::uint64_t>(std::ranges::count(layers, ',')) + 1;
    const std::uint64_t pipeline = std::max<std::uint64_t>(1, draft.whole("/strategy/pipeline", 1));
    if (stages % pipeline == 0 && stages > pipeline)
        set_key("/strategy/virtual_pipeline", {layout->name, stages / pipeline, layout->origin}, draft);
    draft.set("/strategy/pipeline_layers", layers, layout->origin);
}

/// Megatron-DeepSpeed broadcasts what a micro-batch holds among tensor ranks, sizes first (pretrain_gpt.py, megatron/
/// core/tensor_parallel/data.py).
void read_data(const Givens& given, Draft& draft) {
    if (given.is_on("deepspeed")) draft.set("/training/broadcast_data", true, given.find("deepspeed")->origin);
}

/// DeepSpeed's stages; its optimizer for bf16 shards states at stage 0 too.
void read_zero_stage(const Givens& given, Draft& draft) {
    const Given* const stage = given.find("zero_stage");
    if (!given.is_on("deepspeed")) return;
    const std::uint64_t least = given.is_on("bf16") ? 1 : 0;
    const auto number = stage == nullptr ? std::optional<std::uint64_t>(0) : whole_of(*stage, draft, 0);
    if (!number) return;
    const Origin origin = stage == nullptr ? given.find("deepspeed")->origin : stage->origin;
    const std::uint64_t counted = std::max(*number, least);
    set_key("/strategy/sharding", {"zero_stage", counted == 0 ? "none" : fmt::format("zero{}", counted), origin},
            draft);
    // As readers of its own files have it (documents/deepspeed.cpp); its optimizer for bf16 sums everything, too.
    if (counted == 1 || counted == 2) draft.set("/strategy/grad_reduce_collective", "all_reduce", origin);
    if (counted == 3) draft.set("/strategy/fsdp_implementation", "deepspeed", origin);
}

/// Megatron-FSDP sums over its instances once a step (megatron_fsdp.py, outer_fsdp_group_grad_reduce).
void read_fsdp(const Givens& given, Draft& draft) {
    if (given.is_on("use_torch_fsdp2")) {
        draft.set("/strategy/sharding", "zero3", given.find("use_torch_fsdp2")->origin);
        draft.set("/strategy/fsdp_implementation", "fsdp2", given.find("use_torch_fsdp2")->origin);
    }
    const Given* const fsdp = given.find_any({"use_megatron_fsdp", "use_custom_fsdp"});
    if (fsdp == nullptr) return;
    const std::string strategy = given.text("data_parallel_sharding_strategy");
    const Given* const said = given.find("data_parallel_sharding_strategy");
    const Origin origin = said == nullptr ? fsdp->origin : said->origin;
    if (strategy.empty() || strategy == "no_shard")
        draft.set("/strategy/sharding", "none", origin);
    else if (strategy == "optim")
        draft.set("/strategy/sharding", "zero1", origin);
    else if (strategy == "optim_grads")
        draft.set("/strategy/sharding", "zero2", origin);
    else if (strategy == "optim_grads_params")
        draft.set("/strategy/sharding", "zero3", origin);
    else
        return draft.findings.refuse(origin.place, origin.name, "this sharding is not known here",
                                     "no_shard, optim, optim_grads or optim_grads_params");
    if (strategy.starts_with("optim_grads") && draft.whole("/strategy/num_distributed_optimizer_instances", 1) > 1)
        draft.set("/strategy/gradient_sync", "two_hop", origin);
}

/// Words between blanks, or a list of them; core_attn alone is what selective recomputation is anyway.
void read_modules(const Given& modules, Draft& draft) {
    std::string named = text_of(modules.value);
    std::erase_if(named, [](char c) { return c == '[' || c == ']' || c == '"' || c == '\''; });
    const auto known = strategies::modules_named(named);
    if (!known)
        return draft.findings.refuse(modules.origin.place, modules.origin.name,
                                     fmt::format("not all of {} are modules that are known here", named),
                                     fmt::format("some of {}", fmt::join(strategies::module_names, ", ")));
    if (*known == strategies::Module::core_attn) return;
    std::ranges::replace(named, ' ', ',');
    draft.set("/strategy/recompute_modules", named, modules.origin);
}

std::string granularity_of(const Givens& given, const Given*& said) {
    said = given.find_any({"recompute_granularity", "activations_checkpoint_granularity"});
    if (said != nullptr) return text_of(said->value);
    said = given.find_any({"checkpoint_activations", "activations_checkpoint_method"});
    if (said != nullptr) return "full";
    said = given.find("recompute_activations");
    return said != nullptr ? "selective" : "";
}

/// Without --first-last-layers-bf16 the two counts say nothing; with it each is 1 where it is not given.
void read_wide_ends(const Givens& given, Draft& draft) {
    const Given* const on = given.find("first_last_layers_bf16");
    for (const char* const key : {"num_layers_at_start_in_bf16", "num_layers_at_end_in_bf16"}) {
        const Given* const number = given.find(key);
        const std::string path = std::string("/training/") + key;
        if (on == nullptr && number != nullptr)
            draft.findings.harmless(number->origin.place, number->origin.name);
        else if (on != nullptr && number != nullptr)
            set_key(path, *number, draft);
        else if (on != nullptr)
            draft.set(path, 1, on->origin);
    }
}

/// As Megatron-LM's arguments.py does.
void refuse_both(const Given* first, const Given* second, Draft& draft) {
    if (first == nullptr || second == nullptr) return;
    const std::string &one = first->origin.name, &other = second->origin.name;
    draft.findings.refuse(second->origin.place, other, fmt::format("given beside {}, of which one can be", one),
                          fmt::format("take {} or {} out", one, other));
}

void read_precision(const Givens& given, Draft& draft) {
    const Given* const fp8 = given.find_any({"fp8_format", "fp8_hybrid", "fp8_e4m3"});
    const Given* const fp4 = given.find("fp4_format");
    const Given* const half = given.find_any({"bf16", "fp16"});
    refuse_both(given.find("bf16"), given.find("fp16"), draft);
    refuse_both(fp8, fp4, draft);
    if (fp4 != nullptr)
        draft.set("/training/precision", "fp4", fp4->origin);
    else if (fp8 != nullptr)
        draft.set("/training/precision", "fp8", fp8->origin);
    else if (half != nullptr)
        draft.set("/training/precision", half->name, half->origin);
    else
        draft.set("/training/precision", "fp32", draft.whole_file());
    if (const Given* const reduced = given.find("grad_reduce_in_bf16"))
        draft.set("/training/grad_reduce_precision", "bf16", reduced->origin);
}

/// What says that Megatron-LM's own layers run, or Megatron-DeepSpeed's: --transformer-impl, or a flag that was gone
/// when Transformer Engine's became the default (2 April 2024). Null where nothing does.
const Given* own_layers(const Givens& given) {
    const Given* const sign = given.find_any(
        {"transformer_impl", "deepspeed", "DDP_impl", "checkpoint_activations", "activations_checkpoint_method"});
    return sign != nullptr && sign->name == "transformer_impl" && text_of(sign->value) != "local" ? nullptr : sign;
}

/// Narrow products are Transformer Engine's alone.
void read_software(const Givens& given, Draft& draft) {
    const Given* const narrow = given.find_any({"fp4_format", "fp8_format", "fp8_hybrid", "fp8_e4m3"});
    if (narrow == nullptr && own_layers(given) != nullptr) {
        if (given.is_on("deepspeed")) draft.set("/training/software", "deepspeed", given.find("deepspeed")->origin);
        return;
    }
    const Given* const said = narrow != nullptr ? narrow : given.find("transformer_impl");
    draft.set("/training/software", "transformer-engine", said != nullptr ? said->origin : draft.whole_file());
}

/// Transformer Engine's attention is fused; Megatron-LM's own, and Megatron-DeepSpeed's, where a flag says so.
void read_attention(const Givens& given, Draft& draft) {
    const Given* const flash =
        given.find_any({"use_flash_attn", "use_flash_attn_v2", "use_flash_attn_v1", "use_flash_attn_triton"});
    if (flash != nullptr) return draft.set("/training/fused_attention", true, flash->origin);
    if (const Given* const backend = given.find("attention_backend")) {
        const std::string name = text_of(backend->value);
        return draft.set("/training/fused_attention", name != "unfused" && name != "local", backend->origin);
    }
    if (const Given* const own = own_layers(given); own != nullptr)
        draft.set("/training/fused_attention", false, own->origin);
}

/// The flag was new in 2024 and is off without it.
void read_loss(const Givens& given, Draft& draft) {
    const Given* const joined = given.find("cross_entropy_loss_fusion");
    draft.set("/training/cross_entropy_loss_fusion", joined != nullptr,
              joined != nullptr ? joined->origin : draft.whole_file());
}

/// Parts of a layer that are captured one by one leave experts out, unless they are named ("moe"), and all else where
/// they are a router's.
void read_graph_scope(const Givens& given, Draft& draft) {
    const Given* const said = given.find("cuda_graph_scope");
    if (said == nullptr || draft.whole("/model/num_experts", 0) == 0) return;
    const std::vector<std::string> parts = words_of(said->value);
    const bool whole = parts.empty() || std::ranges::any_of(parts, [](const std::string& part) {
                           return part == "moe" || part == "full" || part == "full_iteration";
                       });
    const bool routers = std::ranges::all_of(
        parts, [](const std::string& part) { return part == "moe_router" || part == "moe_preprocess"; });
    const char* const parted = routers ? "routers" : "outside_experts";
    draft.set("/training/cuda_graph_scope", whole ? "full_iteration" : parted, said->origin);
}

}  // namespace

void read_parallelism(const Givens& given, Draft& draft) {
    if (const Given* const tensor = given.find("model_parallel_size"))
        if (draft.find("/strategy/tensor") == nullptr) set_key("/strategy/tensor", *tensor, draft);
    read_virtual_stages(given, draft);
    read_context(given, draft);
    read_ulysses(given, draft);
    read_layout(given, draft);
    if (const Given* const sequence = given.find("sequence_parallel")) {
        if (draft.whole("/strategy/tensor", 1) > 1)
            draft.set("/strategy/sequence_parallel", true, sequence->origin);
        else
            draft.findings.harmless(sequence->origin.place, sequence->origin.name);
    }
    if (const Given* const sharded = given.find("use_distributed_optimizer"))
        draft.set_default("/strategy/sharding", "zero1", sharded->origin);
    read_data(given, draft);
    read_zero_stage(given, draft);
    read_fsdp(given, draft);
}

void read_overlap(const Givens& given, Draft& draft) {
    if (const Given* const products = given.find("tp_comm_overlap")) overlap_tensor_comm(*products, draft);
    if (const Given* const impl = given.find("DDP_impl"))  // PyTorch's own reduces beside the backward pass
        draft.set("/strategy/overlap_grad_reduce", text_of(impl->value) == "torch", impl->origin);
    if (const Given* const reduce = given.find("overlap_grad_reduce"))
        draft.set("/strategy/overlap_grad_reduce", true, reduce->origin);
    const auto* const sharding = draft.find("/strategy/sharding");
    if (const Given* const gather = given.find("overlap_param_gather")) {
        if (sharding != nullptr && (*sharding == "zero2" || *sharding == "zero3"))
            draft.findings.harmless(gather->origin.place, gather->origin.name);  // those gather beside in any case
        else
            draft.set("/strategy/overlap_param_gather", true, gather->origin);
    }
    if (const Given* const bucket = given.find("ddp_bucket_size")) {
        constexpr std::uint64_t most = 1'000'000'000'000;
        const bool wide = given.find("accumulate_allreduce_grads_in_fp32") != nullptr;
        const bool narrow = given.find("grad_reduce_in_bf16") != nullptr || (given.find("fp16") != nullptr && !wide);
        const std::uint64_t bytes = narrow ? 2 : 4;  // of a gradient
        if (const auto elements = whole_of(*bucket, draft))
            draft.set("/strategy/bucket_size", fmt::format("{} B", std::min(*elements, most) * bytes), bucket->origin);
    }
}

void read_recomputation(const Givens& given, Draft& draft) {
    const Given* said = nullptr;
    const std::string granularity = granularity_of(given, said);
    if (const Given* const experts = given.find("moe_layer_recompute"); experts != nullptr && granularity != "full") {
        draft.set("/strategy/recompute", "selective", experts->origin);
        return draft.set("/strategy/recompute_modules", "moe", experts->origin);
    }
    if (granularity.empty()) return;
    set_key("/strategy/recompute", {"recompute_granularity", granularity, said->origin}, draft);
    if (granularity == "full")
        return read_recomputed_layers(
            given.find_any({"recompute_num_layers", "activations_checkpoint_num_layers", "checkpoint_num_layers"}),
            given.find_any({"recompute_method", "activations_checkpoint_method"}), draft);
    if (const Given* const modules = given.find("recompute_modules")) read_modules(*modules, draft);
}

namespace {

/// --optimizer sgd has momentum, 0.9 unless --sgd-momentum says another.
void read_optimizer(const Givens& given, Draft& draft) {
    const Given* const optimizer = given.find("optimizer");
    const Given* const momentum = given.find("sgd_momentum");
    if (momentum != nullptr && (optimizer == nullptr || text_of(optimizer->value) != "sgd"))
        draft.findings.harmless(momentum->origin.place, momentum->origin.name);
    if (optimizer == nullptr) return;
    const bool moves_on = momentum == nullptr || std::strtod(text_of(momentum->value).c_str(), nullptr) != 0;
    if (text_of(optimizer->value) == "sgd" && moves_on)
        return draft.set("/training/optimizer", "momentum", optimizer->origin);
    if (text_of(optimizer->value) == "dist_muon") {  // an older name of Muon with --use-distributed-optimizer
        draft.set("/training/optimizer", "muon", optimizer->origin);
        return draft.set_default("/strategy/sharding", "zero1", optimizer->origin);
    }
    set_key("/training/optimizer", *optimizer, draft);
}

}  // namespace

void read_training(const Givens& given, Draft& draft) {
    read_optimizer(given, draft);
    if (const Given* const batch = given.find("batch_size"))
        if (draft.find("/training/micro_batch_size") == nullptr) set_key("/training/micro_batch_size", *batch, draft);
    draft.want("/training/micro_batch_size", draft.whole_file(), "--micro-batch-size is not given",
               "give it, with --set training.micro_batch_size=N for one");
    if (const Given* const batch = given.find("global_batch_size"))
        set_key("/training/global_batch_size", *batch, draft);
    else
        draft.accumulation = 1;
    if (const Given* const rampup = given.find("rampup_batch_size"))
        draft.findings.not_modelled(rampup->origin.place, rampup->origin.name, "the step is one of the full batch",
                                    "--set training.global_batch_size=N for another phase");
    if (const Given* const tokens = given.find_any({"seq_length", "encoder_seq_length", "decoder_seq_length"}))
        set_key("/training/seq_length", *tokens, draft);
    draft.want("/training/seq_length", draft.whole_file(), "--seq-length is not given",
               "give it, with --set training.seq_length=N for one");
    read_precision(given, draft);
    read_software(given, draft);
    read_wide_ends(given, draft);
    read_attention(given, draft);
    read_loss(given, draft);
    if (const Given* const graphs = given.find("cuda_graph_impl"))
        draft.set("/training/cuda_graph", text_of(graphs->value) != "none", graphs->origin);
    read_graph_scope(given, draft);
}

}  // namespace orrery::doors::megatron
