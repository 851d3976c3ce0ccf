#include "strategies/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "models/operators.hpp"
#include "strategies/autocast_rules.hpp"
#include "strategies/checkpoint_boundary.hpp"
#include "strategies/checkpoint_policy.hpp"
#include "strategies/compressed_momentum.hpp"
#include "strategies/expert_rules.hpp"
#include "strategies/frozen_layers.hpp"
#include "strategies/gradient_wire.hpp"
#include "strategies/low_rank_gradients.hpp"
#include "strategies/model_rules.hpp"
#include "strategies/narrow_rules.hpp"
#include "strategies/optimizer_groups.hpp"
#include "strategies/optimizers.hpp"
#include "strategies/packed_documents.hpp"
#include "strategies/plan_keys.hpp"
#include "strategies/pytorch_tensor.hpp"
#include "strategies/refusal.hpp"
#include "strategies/replica_batches.hpp"
#include "strategies/schedule_rules.hpp"
#include "strategies/sharding_rules.hpp"
#include "strategies/stage_split.hpp"
#include "strategies/step_limits.hpp"
#include "strategies/tensor_grid_rules.hpp"
#include "strategies/tensor_overlap.hpp"
#include "strategies/weight_offload.hpp"
#include "strategies/zero_plus_plus.hpp"

namespace orrery::strategies {

namespace {

using kernels::Dtype;
using std::uint64_t;

void check_ranks(const Strategy& of) {
    constexpr double most = 1U << 31U;
    const double ranks = double{1} * of.tensor * of.context * of.pipeline * of.data;
    if (ranks >= most)
        refuse("/strategy/data", fmt::format("{:.3g} ranks are out of range", ranks), "at most 2^31 - 1",
               Source::limit);
}

/// Tensor parallelism splits heads, key-value heads and the MLP's width (Shoeybi et al. 2019, section 3).
void check_tensor(const Plan& plan) {
    if (plan.tensor_grid().divides()) return;
    const models::ModelSpec& model = plan.model;
    const uint64_t tensor = plan.strategy.tensor;
    const auto splits = std::to_array<std::pair<uint64_t, std::string_view>>(
        {{model.heads, "heads"},
         {model.kv_heads, "key-value heads"},
         {model.ffn, "columns of the MLP (ffn)"},
         {model.text.heads, "heads of the texts' tower"},
         {model.text.ffn, "columns of the MLP in the texts' tower"}});
    uint64_t common = 0;
    for (const auto& [width, name] : splits) common = std::gcd(common, width);
    for (const auto& [width, name] : splits) {
        if (width % tensor == 0) continue;
        refuse("/strategy/tensor", fmt::format("{} does not divide the {} {}", tensor, width, name),
               nearest_divisors(tensor, common), Source::tensor_parallelism);
    }
    if (plan.strategy.sequence_parallel && plan.rank_seq() % tensor != 0) {
        refuse(
            "/training/seq_length",
            fmt::format("{} tokens of each context rank are not divisible by tensor {}, as sequence parallelism needs",
                        plan.rank_seq(), tensor),
            nearest_multiples(plan.training.seq, tensor * plan.strategy.context) +
                "; or set sequence_parallel to false",
            Source::megatron_mappings);
    }
}

/// Which ranks exchange heads, and which form a ring.
void check_context_exchange(const Plan& plan) {
    constexpr const char* key = "/strategy/cp_comm_type";
    const Strategy& strategy = plan.strategy;
    const uint64_t context = strategy.context, tensor = strategy.tensor, degree = strategy.ulysses_degree;
    const bool hybrid = strategy.context_exchange == ContextExchange::a2a_p2p;
    if (context == 1) return;
    if (hybrid && (degree == 1 || degree == context || context % degree != 0))
        refuse("/strategy/ulysses_degree",
               fmt::format("a ring of {} context ranks that exchange heads among {} is none", context, degree),
               nearest_legal(degree, context - 1, [&](uint64_t v) { return v > 1 && context % v == 0; }) +
                   "; or set cp_comm_type to \"p2p\" or \"a2a\"",
               Source::origin_of_key);
    if (!hybrid && degree > 1)
        refuse("/strategy/ulysses_degree", fmt::format("{}, but it divides the context ranks of a2a+p2p", degree),
               "set cp_comm_type to \"a2a+p2p\", or leave it out", Source::origin_of_key);
    const bool window = plan.model.attention_window > 0 && plan.model.attention_window < plan.training.seq;
    if (window && (hybrid || strategy.context_exchange == ContextExchange::p2p))
        refuse(key,
               fmt::format("{}, but queries see a window of {} tokens", hybrid ? "a2a+p2p" : "p2p",
                           plan.model.attention_window),
               "set it to \"all_gather\" or \"a2a\", as TransformerEngine demands", Source::engine_context);
    if (window && plan.templated_ring())
        refuse("/strategy/templated_ring_attention",
               fmt::format("true, but queries see a window of {} tokens", plan.model.attention_window),
               "set it to false", Source::origin_of_key);
    const uint64_t ranks = hybrid ? degree : context;
    const bool copies = plan.training.software != hardware::Software::transformer_engine;
    if ((hybrid || strategy.context_exchange == ContextExchange::a2a) &&
        !plan.divide_heads(static_cast<std::uint32_t>(ranks)))
        refuse(key,
               fmt::format("a2a divides {} query and {} key-value heads of a tensor rank among {} ranks",
                           plan.model.heads / tensor, plan.model.kv_heads / tensor, ranks),
               fmt::format("set it to \"p2p\" or \"all_gather\", or {} to a divisor of both{}",
                           hybrid ? "ulysses_degree" : "context",
                           copies ? "" : "; others than Transformer Engine (software) copy heads for ranks"),
               copies ? Source::deepspeed_ulysses : Source::engine_context);
}

/// A causal sequence is cut into two parts a rank, the k-th and the k-th from the end, so that all have as much to do
/// (TransformerEngine's context parallelism; Llama 3, arXiv:2407.21783, section 3.3.2).
void check_context(const Plan& plan) {
    const uint64_t context = plan.strategy.context;
    check_context_exchange(plan);
    if (context == 1) return;
    if (!plan.training.fused_attention)
        refuse("/training/fused_attention", fmt::format("false, but context is {}", context),
               "set it to true, or context to 1: parts of attention are put together by their log-sum-exp",
               Source::engine_attention);
    if (plan.training.seq % (2 * context) != 0)
        refuse(
            "/strategy/context",
            fmt::format("{} ranks take two parts of a sequence each, and {} tokens are not divisible by {}", context,
                        plan.training.seq, 2 * context),
            nearest_legal(context, plan.training.seq / 2, [&](uint64_t v) { return plan.training.seq % (2 * v) == 0; }),
            Source::megatron_arguments);
}

/// Of the optimizer in host memory.
void check_optimizer_offload(const Strategy& strategy) {
    if (strategy.optimizer_cpu_offload) return;
    if (strategy.optimizer_offload_fraction != 1)
        refuse("/strategy/optimizer_offload_fraction",
               fmt::format("{}, but nothing is offloaded", strategy.optimizer_offload_fraction),
               "set optimizer_cpu_offload to true, or leave it out", Source::origin_of_key);
    if (strategy.overlap_optimizer_copies)
        refuse("/strategy/overlap_cpu_optimizer_d2h_h2d", "true, but nothing is offloaded",
               "set optimizer_cpu_offload to true, or leave it out", Source::origin_of_key);
}

void check_batch(const Plan& plan) {
    const uint64_t slice = uint64_t{plan.training.micro_batch} * plan.strategy.data;
    const uint64_t batch = plan.training.global_batch;
    if (plan.strategy.replica_micro_batches.empty() && batch % slice != 0) {
        refuse("/training/global_batch_size",
               fmt::format("{} sequences are not divisible by micro-batch {} x data {} = {}", batch,
                           plan.training.micro_batch, plan.strategy.data, slice),
               nearest_multiples(batch, slice), Source::megatron_micro_batches);
    }
    if (!unequal_replicas(plan)) check_micro_batches(plan);
}

/// Groups that share are as large as each other, in the axis of dense parameters and in that of experts.
void check_instances(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    const uint64_t instances = strategy.optimizer_instances, data = plan.expert_data();
    constexpr const char* key = "/strategy/num_distributed_optimizer_instances";
    if (instances == 1) return;
    if (strategy.sharding == Sharding::none)
        refuse(key, fmt::format("{}, but nothing is sharded", instances),
               "set sharding to \"zero1\", \"zero2\" or \"zero3\", or leave it out", Source::origin_of_key);
    if (data % instances != 0)
        refuse(key,
               fmt::format("{} groups do not divide the {} data ranks{}", instances, data,
                           strategy.expert > 1 ? " that hold the same experts" : ""),
               nearest_divisors(instances, data), Source::megatron_groups);
}

void check_modules(const Strategy& strategy) {
    constexpr const char* key = "/strategy/recompute_modules";
    if (strategy.recompute_modules.empty()) return;
    const auto named = modules_named(strategy.recompute_modules);
    if (!named)
        refuse(key, fmt::format("\"{}\" names no modules", strategy.recompute_modules),
               fmt::format("write some of {}, between commas", fmt::join(module_names, ", ")), Source::megatron_config);
    if (strategy.recompute != Recompute::selective)
        refuse(key, fmt::format("{} needs selective recomputation", strategy.recompute_modules),
               "set recompute to \"selective\", or leave recompute_modules out", Source::origin_of_key);
}

/// What a function of an engine keeps for its backward is known once it has run. A compiled graph (XLA) has nothing
/// that nobody needs, narrow products neither.
void check_early_stop(const Plan& plan) {
    if (!plan.strategy.recompute_early_stop) return;
    const bool engine = plan.training.software == hardware::Software::transformer_engine;
    const bool compiled = plan.training.software == hardware::Software::tensorflow;
    if (engine || (is_narrow(plan.training.precision.compute) && !compiled))
        refuse("/strategy/recompute_early_stop",
               fmt::format("true, but {} are functions of their own, which run to their end",
                           engine ? "Transformer Engine's products" : "narrow products with their casts"),
               "set it to false", Source::origin_of_key);
}

void check_passes(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    const auto [fewest, most] = chunk_sizes(plan);
    if (strategy.recompute_num_layers > 0 && strategy.recompute != Recompute::full) {
        refuse("/strategy/recompute_num_layers",
               fmt::format("{} needs full recomputation", strategy.recompute_num_layers),
               "set recompute to \"full\", or leave recompute_num_layers out", Source::megatron_config);
    }
    check_modules(strategy);
    check_early_stop(plan);
    check_checkpoint_boundary(strategy);
    check_checkpoint_policy(plan);
    if (strategy.recompute_num_layers > most) {
        refuse("/strategy/recompute_num_layers",
               fmt::format("{} layers, but a chunk has {}", strategy.recompute_num_layers, most),
               fmt::format("nearest legal value: {}; 0 means all", most), Source::megatron_config);
    }
    if (strategy.cpu_offloading_num_layers > fewest) {
        refuse("/strategy/cpu_offloading_num_layers",
               fmt::format("{} layers, but a chunk has {}", strategy.cpu_offloading_num_layers, fewest),
               fmt::format("nearest legal value: {}; 0 means none", fewest), Source::megatron_config);
    }
    const Kept& kept = row_of(strategy.sharding).kept;
    const bool gathers = kept.states != Placement::replicated && kept.weights == Placement::replicated;
    if (strategy.overlap_param_gather && !gathers) {
        refuse("/strategy/overlap_param_gather", "true needs the distributed optimizer",
               "set sharding to \"zero1\", or overlap_param_gather to false", Source::megatron_arguments);
    }
    if (strategy.overlap_param_gather && !strategy.overlap_grad_reduce) {
        refuse("/strategy/overlap_param_gather", "true needs overlap_grad_reduce",
               "set overlap_grad_reduce to true, or overlap_param_gather to false", Source::megatron_arguments);
    }
}

/// Gradients are summed in fp32 or in the format of the parameters (bf16 beside fp8 and fp4 products).
void check_precision(const Precision& precision) {
    const Dtype parameters = is_narrow(precision.compute)       ? Dtype::bf16
                             : precision.compute == Dtype::tf32 ? Dtype::fp32
                                                                : precision.compute;
    if (precision.grad_reduce == Dtype::fp32 || precision.grad_reduce == parameters) return;
    refuse("/training/grad_reduce_precision",
           fmt::format("{} gradients do not exist beside {} products", kernels::name(precision.grad_reduce),
                       kernels::name(precision.compute)),
           fmt::format("legal values: fp32{}{}", parameters == Dtype::fp32 ? "" : ", ",
                       parameters == Dtype::fp32 ? "" : kernels::name(parameters)),
           Source::megatron_gradients);
}

/// Of a base in four bits.
void check_base(const Plan& plan) {
    constexpr const char* key = "/training/base_weights";
    if (plan.training.base_weights == BaseWeights::as_trained) return;
    const auto refuse_beside = [&](bool other, const char* what, const char* hint) {
        if (other) refuse(key, fmt::format("nf4, but {}", what), hint, Source::not_modelled);
    };
    const Dtype compute = plan.training.precision.compute;
    if (plan.training.lora_rank == 0)
        refuse(key, "nf4, but weights are trained: they are in four bits beside adapters", "give lora_rank",
               Source::origin_of_key);
    refuse_beside(compute != Dtype::bf16 && compute != Dtype::fp16, "products are not in 16 bits",
                  "set precision to \"bf16\" or \"fp16\"");
    refuse_beside(plan.model.experts > 0, "experts are joined in one product", "take a dense model");
    refuse_beside(plan.offloads_weights(), "weights are in host memory", "leave offload_param_device out");
    refuse_beside(is_zero_plus_plus(plan.strategy), "weights are gathered by ZeRO++", "leave its keys out");
}

void check_adapters(const Plan& plan) {
    check_base(plan);
    if (plan.training.lora_rank == 0) return;
    if (plan.model.experts > 0 && plan.training.lora_targets == LoraTargets::all_linear)
        refuse("/training/lora_target_modules", "all-linear, but experts have no adapters",
               "set it to \"attention\", \"qkv\" or \"q_v\", or leave lora_rank out", Source::not_modelled);
    const bool of_qkv = plan.training.lora_targets == LoraTargets::qkv;
    if (plan.model.kv_lora_rank > 0 && (of_qkv || plan.training.lora_targets == LoraTargets::query_value))
        refuse("/training/lora_target_modules",
               fmt::format("{}, but {} makes queries, keys and values of latent ones by other layers",
                           of_qkv ? "qkv" : "q_v", plan.model.name),
               "set it to \"attention\" or \"all-linear\", or leave lora_rank out", Source::origin_of_key);
    if (plan.model.takes_images())
        refuse("/training/lora_rank", "adapters of a network over images", "leave it out", Source::not_modelled);
}

/// Forwards of layers in a step.
double passes_of(const Plan& plan) { return layer_passes(plan.model, plan.micro_batches()); }

/// A bound that keeps the step's operations in memory.
void check_passes_of_step(const Plan& plan) {
    const std::uint32_t layers = plan.model.layers;
    if (passes_of(plan) > most_passes)
        refuse("/training/global_batch_size",
               fmt::format("{} sequences give {} micro-batches of {} layers: too many operations to simulate",
                           plan.training.global_batch, plan.micro_batches(), layers),
               fmt::format("at most {:.0f} micro-batches: raise data or micro_batch_size", most_passes / layers),
               Source::limit);
}

/// Bounds that keep shapes in 32 bits and byte counts in 64.
void check_extent(const Plan& plan, bool batch_divided) {
    const models::ModelSpec& model = plan.model;
    const double tokens =
        double{1} * plan.training.micro_batch * (double{1} * plan.training.seq + plan.training.decoder_seq);
    if (tokens > most_tokens) {
        refuse("/training/micro_batch_size",
               fmt::format("{} sequences of {} tokens are {:.3g} tokens in one micro-batch", plan.training.micro_batch,
                           plan.training.seq, tokens),
               fmt::format("at most {:.3g} tokens: lower micro_batch_size or seq_length", double{most_tokens}),
               Source::limit);
    }
    // The largest image of a VGG; of a ResNet, whose stem leaves half the rows and half the columns.
    const double channels_per_pixel = model.family == models::Family::vgg ? 64 : 64.0 / 4;
    const double taken = std::max(1.0, plan.training.expert_capacity) * model.experts_per_token;
    const double row =
        std::max({4.0 * model.hidden, 2.0 * static_cast<double>(model.mamba.inner() + model.mamba.convolved()),
                  (model.image.patch > 0 ? 0.0 : channels_per_pixel) * model.image.size * model.image.size,
                  double{1} * model.image.channels * model.image.patch * model.image.patch,
                  4.0 * std::max(model.text.hidden, model.text.ffn), taken * std::max(model.hidden, model.expert_ffn),
                  double{1} * model.ffn, double{1} * model.vocab, double{1} * model.heads * model.head_dim,
                  plan.training.fused_attention ? 0.0 : double{1} * model.heads * plan.training.seq});
    const double passes = batch_divided ? passes_of(plan) : 1;
    constexpr double most_elements = 1ULL << 55U;  // tens of tensors of 4 bytes stay below 2^63
    if (row * tokens * passes > most_elements) {
        refuse("/training/micro_batch_size",
               fmt::format("{} sequences of {} tokens make {:.3g} activations in a step: out of range",
                           plan.training.micro_batch, plan.training.seq, row * tokens * passes),
               fmt::format("at most {:.3g}: lower micro_batch_size, seq_length or global_batch_size", most_elements),
               Source::limit);
    }
}

}  // namespace

/// Without flushes there are so many micro-batches that the pipeline's ends are 3% of them at most, and four steps.
PipelineShape Plan::pipeline_shape() const {
    const Schedule& schedule = schedule_of(strategy.schedule);
    const std::uint32_t chunks = strategy.virtual_pipeline * copies_of_model(schedule.order);
    PipelineShape shape{strategy.pipeline, chunks, micro_batches(), schedule.order};
    shape.pairs = strategy.overlap_expert_exchanges;
    if (!schedule.asynchronous) return shape;
    constexpr std::uint32_t fewest_steps = 4, of_each_stage = 32;
    const std::uint32_t enough = (of_each_stage * strategy.pipeline + shape.micro_batches - 1) / shape.micro_batches;
    shape.steps = window_steps > 0 ? window_steps : std::max(fewest_steps, enough);
    return shape;
}

std::uint64_t Plan::padded_vocab() const {
    const uint64_t multiple = uint64_t{model.vocab_multiple} * strategy.tensor;
    return (model.vocab + multiple - 1) / multiple * multiple;
}

void validate(const Plan& plan, bool batch_divided) {
    check_keys(plan);
    check_together(plan, batch_divided);
}

void check_together(const Plan& plan, bool batch_divided) {
    check_ranks(plan.strategy);
    check_replica_counts(plan);
    models::validate_sequence(plan.model, plan.training.seq, "/training/seq_length");
    check_documents(plan);
    check_tensor_grid(plan);
    check_model_division(plan);
    check_tensor(plan);
    check_tensor_overlap(plan);
    check_pytorch_tensor(plan);
    check_context(plan);
    check_experts(plan);
    check_stages(plan);
    check_schedule(plan);
    check_batch(plan);
    if (batch_divided) check_comparison(plan);
    check_asynchronous(plan);
    check_passes(plan);
    check_optimizer(plan);
    check_apply_groups(plan);
    check_optimizer_offload(plan.strategy);
    check_instances(plan);
    check_sharding(plan);
    check_compression(plan);
    check_low_rank(plan);
    check_gradient_wire(plan);
    check_zero_plus_plus(plan);
    check_weight_offload(plan);
    check_precision(plan.training.precision);
    check_narrow_formats(plan);
    check_autocast(plan);
    check_adapters(plan);
    check_frozen(plan);
    check_unequal_replicas(plan);
    if (batch_divided) check_passes_of_step(plan);
    check_extent(plan, batch_divided);
}

}  // namespace orrery::strategies
