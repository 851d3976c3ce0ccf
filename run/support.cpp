#include "run/support.hpp"

#include <fmt/format.h>

#include <numeric>
#include <string>

#include "base/error.hpp"
#include "models/relative_positions.hpp"
#include "strategies/bucket_copies.hpp"
#include "strategies/contract.hpp"
#include "strategies/narrow_weights.hpp"
#include "strategies/ownership.hpp"
#include "strategies/partition/linear_parts.hpp"
#include "strategies/partition/tensor.hpp"
#include "strategies/pytorch_tensor.hpp"

namespace orrery::run {

namespace {

void require(bool holds, const std::string& pointer, const std::string& message, const std::string& hint) {
    if (!holds) throw Error("", pointer, message, hint);
}

/// Bytes that a GPU's kernels move at once.
constexpr std::uint64_t vector_bytes = 16;

void require_model(const models::ModelSpec& model) {
    require(model.image.patch == 0, "/model/patch_size",
            fmt::format("{}, a Transformer over patches of images, cannot be executed yet", model.name),
            "take a GPT or Llama model, or predict it with orrery simulate");
    require(model.relative_buckets == 0 || (model.relative_buckets >= models::fewest_relative_buckets &&
                                            model.relative_buckets <= models::most_relative_buckets),
            "/model/relative_attention_num_buckets",
            fmt::format("distances do not divide into {} buckets as T5's formula has it", model.relative_buckets),
            fmt::format("take {} to {}", models::fewest_relative_buckets, models::most_relative_buckets));
    require(model.family != models::Family::transfo_xl, "/model/mem_len",
            "attention over a memory, and clusters of words, cannot be executed yet",
            "take a GPT or Llama model, or predict it with orrery simulate");
    require(model.layer_pattern.empty(), "/model/hybrid_override_pattern",
            "state-space mixers and layers of one branch cannot be executed yet",
            "take a GPT or Llama model, or predict it with orrery simulate");
    require(model.token_types == 0, "/model/type_vocab_size", "BERT's table of segments cannot be executed yet",
            "set it to 0");
    require(!model.post_norm || model.experts == 0, "/model/num_experts",
            "experts in layers that norms stand behind cannot be executed yet", "take a dense model");
    require(model.further_tokens == 0, "/model/num_nextn_predict_layers",
            "the prediction of further tokens cannot be executed yet", "set it to 0");
    require(!model.shared_expert_gate, "/model/moe_shared_expert_gate",
            "a gate of the expert that every token takes cannot be executed yet", "set it to false");
    require(model.position != models::PositionKind::alibi, "/model/position_embedding_type",
            "ALiBi cannot be executed yet", "take learned or rope");
}

/// Masks are counted by the tokens of one sequence, and by whole rows of scores.
void require_dropout(const strategies::Plan& plan) {
    const models::ModelSpec& model = plan.model;
    if (model.dropout == 0) return;
    require(model.decoder_layers == 0, "/training/dropout",
            fmt::format("dropout {} in an encoder and a decoder cannot be executed yet", model.dropout), "set it to 0");
    require(plan.strategy.context == 1 || model.hidden_dropout_alone, "/training/dropout",
            fmt::format("dropout {} of attention over sequences that context ranks share cannot be executed yet",
                        model.dropout),
            "set it to 0, model.hidden_dropout_alone to true, or strategy.context to 1");
}

/// What layers of a model need of the ranks that share them.
void require_layers(const strategies::Plan& plan) {
    const models::ModelSpec& model = plan.model;
    const strategies::Strategy& strategy = plan.strategy;
    const bool normed = model.qk_norm && model.kv_lora_rank == 0;
    require(!normed || !model.qk_norm_whole || strategy.tensor == 1, "/strategy/tensor",
            "norms over all heads of queries and keys cannot be executed on several tensor ranks yet", "set it to 1");
    require(!normed || strategy.tensor == 1 || strategy.sequence_parallel, "/strategy/sequence_parallel",
            "norms of queries and keys on several tensor ranks are executed beside sequence parallelism alone: their "
            "gradients are summed with those of other norms",
            "set it to true, or tensor to 1");
    require((!normed && model.kv_lora_rank == 0) || strategy.context == 1, "/strategy/context",
            "context ranks take queries, keys and values as packed rows: norms of queries and keys, and latent "
            "attention, cannot be executed there yet",
            "set it to 1");
    require(!model.parallel_residual || model.experts == 0, "/model/num_experts",
            "experts beside a parallel residual cannot be executed yet", "set use_parallel_residual to false");
    require(!model.parallel_residual || !model.output_norm, "/model/output_norm",
            "norms behind the branches of a parallel residual cannot be executed yet",
            "set use_parallel_residual to false");
    require(model.input_norm || model.experts == 0, "/model/input_norm",
            "experts that no norm stands before cannot be executed yet", "set it to true");
    require(model.decoder_layers == 0 || strategy.cpu_offloading_num_layers == 0, "/strategy/cpu_offloading_num_layers",
            "layers of a decoder share what they keep of the encoder: they cannot be offloaded one by one yet",
            "set it to 0");
}

/// Batch norms take their weights in fp32, which are all in one format.
void require_images(const strategies::Plan& plan) {
    if (!plan.model.takes_images()) return;
    require(plan.model.family == models::Family::resnet, "/model/name",
            fmt::format("{} cannot be executed yet: its convolutions have biases", plan.model.name),
            "take a ResNet, such as resnet-50");
    require(plan.strategy.split_classes == 1, "/strategy/split_classes",
            "classes that data ranks divide cannot be executed yet", "set it to 1");
    require(strategies::activation_dtype(plan) == kernels::Dtype::fp32, "/training/precision",
            fmt::format("{} in {} cannot be executed yet: weights of batch norms stay in fp32", plan.model.name,
                        kernels::name(plan.training.precision.compute)),
            "set it to fp32");
}

/// Products in fp8 (strategies/partition/narrow_products.hpp).
void require_narrow(const strategies::Plan& plan) {
    const strategies::Training& training = plan.training;
    const models::ModelSpec& model = plan.model;
    if (!strategies::is_narrow(training.precision.compute)) return;
    require(training.precision.compute == kernels::Dtype::fp8, "/training/precision",
            fmt::format("{} cannot be executed yet", kernels::name(training.precision.compute)),
            "set it to bf16, fp16 or fp32, or to fp8 with fp8_recipe \"tensorwise\"");
    require(training.fp8_recipe == strategies::Fp8Recipe::tensorwise, "/training/fp8_recipe",
            "scales of steps before, or of blocks, cannot be executed yet",
            "set it to \"tensorwise\", or precision to bf16");
    require(strategies::keeps_what_it_casts(training.software), "/training/software",
            "what is cast for the forward cannot be cast again for the backward yet",
            "set it to \"orrery\" or \"transformer-engine\"");
    require(!training.fp8_param_gather, "/training/fp8_param_gather", "weights in fp8 alone cannot be executed yet",
            "set it to false");
    require(!training.no_transpose_cache, "/training/disable_parameter_transpose_cache",
            "weights in fp8 cannot be turned in the backward yet", "set it to false");
    require(model.experts == 0, "/model/num_experts", "experts in fp8 cannot be executed yet",
            "take a dense model, or training.precision bf16");
    const bool apart = (model.qk_norm && model.kv_lora_rank == 0) || model.kv_lora_rank > 0 || model.decoder_layers > 0;
    require(!apart, "/training/precision",
            "products of a layer that are apart (of normed queries and keys, of latent attention, of a decoder's) "
            "cannot be executed in fp8 yet",
            "set it to bf16");
    const bool divided = plan.strategy.sequence_parallel && plan.strategy.tensor > 1;
    require(!divided || !strategies::casts_before_gather(training), "/strategy/sequence_parallel",
            "tensor ranks cannot agree on one scale yet of a sequence that they cast before they gather it",
            "set it to false, or training.software to \"orrery\"");
    require(plan.strategy.sharding != strategies::Sharding::zero3, "/strategy/sharding",
            "weights that are gathered for each use cannot be cast to fp8 yet", "set it to \"zero2\"");
    require(!schedule_of(plan.strategy.schedule).asynchronous, "/strategy/schedule",
            "versions of weights cannot be cast to fp8 yet", "set it to \"1f1b\"");
}

void require_formats(const strategies::Plan& plan) {
    using kernels::Dtype;
    const Dtype compute = strategies::activation_dtype(plan), sums = plan.training.precision.grad_reduce;
    require_narrow(plan);
    require(
        sums == Dtype::fp32 || sums == Dtype::tf32 || sums == compute, "/training/grad_reduce_precision",
        fmt::format("gradients in {} beside {} cannot be executed yet", kernels::name(sums), kernels::name(compute)),
        fmt::format("set it to fp32, or training.precision to {} as well", kernels::name(sums)));
    if (!plan.training.scales_loss()) return;
    require(!schedule_of(plan.strategy.schedule).asynchronous, "/training/precision",
            "fp16 cannot be executed where steps run into each other: stages find an overflow at different times",
            "set it to bf16, or strategy.schedule to \"1f1b\"");
    require(!plan.strategy.optimizer_cpu_offload, "/strategy/optimizer_cpu_offload",
            "the host does not look for an overflow of fp16's gradients yet",
            "set it to false, or training.precision to bf16");
}

/// Routers are balanced by force (routing.hpp): every expert takes as many of a rank's tokens.
void require_experts(const strategies::Plan& plan) {
    const models::ModelSpec& model = plan.model;
    const strategies::Training& training = plan.training;
    if (model.experts == 0) return;
    require(plan.strategy.dispatcher == strategies::Dispatcher::alltoall, "/strategy/moe_token_dispatcher_type",
            "tokens that all ranks gather cannot be executed yet", "set it to \"alltoall\"");
    require(!plan.strategy.overlap_expert_exchanges, "/strategy/overlap_moe_expert_parallel_comm",
            "layers of two micro-batches beside each other cannot be executed yet", "set it to false");
    require(!model.linear_bias || training.software != hardware::Software::transformer_engine, "/training/software",
            "biases of experts that are added one by one cannot be executed yet", "set it to \"orrery\"");
    require(model.experts > 1, "/model/num_experts", "a router of 1 expert cannot be executed", "take at least 2");
    require(training.expert_capacity == 0 || training.expert_capacity >= 1, "/training/moe_expert_capacity_factor",
            fmt::format("{}: tokens that experts have no room for cannot be executed yet", training.expert_capacity),
            "take at least 1, or leave it out");
    require(!training.pad_to_capacity || training.expert_capacity == 1, "/training/moe_expert_capacity_factor",
            fmt::format("padding of experts' inputs to {} times their tokens cannot be executed yet",
                        training.expert_capacity),
            "take 1, or set moe_pad_expert_input_to_capacity to false");
    const std::uint64_t sequence = std::uint64_t{training.seq} * model.experts_per_token / plan.strategy.tensor;
    const std::uint64_t copies = training.micro_batch * sequence, unit = std::lcm(model.experts, 2U);
    const std::uint64_t step = unit / std::gcd(unit, sequence), below = training.micro_batch / step * step;
    require(
        copies % unit == 0, "/training/micro_batch_size",
        fmt::format("{} sequences of {} tokens make {} copies on a rank, which {} experts do not share evenly: real "
                    "execution sends tokens to experts in turn",
                    training.micro_batch, training.seq, copies, model.experts),
        below == 0 ? fmt::format("nearest legal value: {}", step)
                   : fmt::format("nearest legal values: {}, {}", below, below + step));
}

/// Operations that a kernel of its own each would do.
void require_fusion(const strategies::Plan& plan) {
    const strategies::Training& training = plan.training;
    require(training.fused_attention || plan.model.takes_images() || plan.model.decoder_layers == 0,
            "/training/fused_attention", "unfused attention of an encoder and a decoder cannot be executed yet",
            "set it to true");
    require(training.kernel_fusion == strategies::KernelFusion::full || plan.model.takes_images(),
            "/training/kernel_fusion", "biases, activations and dropouts of a kernel each cannot be executed yet",
            "set it to \"full\"");
    require(training.fused_optimizer, "/training/fused_optimizer",
            "an update parameter by parameter cannot be executed yet", "set it to true");
    require(training.cross_entropy_fusion, "/training/cross_entropy_loss_fusion",
            "a loss of one kernel an operator cannot be executed yet", "set it to true");
    require(training.cross_entropy == strategies::CrossEntropy::in_place, "/training/cross_entropy",
            "PyTorch's operators and fused kernels cannot be executed yet", "set it to \"in_place\"");
    require(training.loss_chunks == 1, "/training/loss_chunks", "a loss in parts cannot be executed yet",
            "set it to 1");
    require(training.master_weights, "/training/master_weights", "an update of 16-bit weights cannot be executed yet",
            "set it to true");
    require(training.bias_activation_fusion, "/training/bias_activation_fusion",
            "an activation of several kernels cannot be executed yet", "set it to true");
    require(training.enable_gqa || plan.model.kv_heads == plan.model.heads, "/training/enable_gqa",
            "copies of keys and values cannot be executed yet", "set it to true");
    require(!training.complex_rope, "/training/complex_rope", "a rotation of complex numbers cannot be executed yet",
            "set it to false");
    require(!plan.heads_apart(), "/training/fuse_attention_qkv",
            "queries, keys and values of a product each cannot be executed yet", "set it to true");
    require(!plan.gate_apart(), "/training/fuse_attention_ffn", "a gate of its own cannot be executed yet",
            "set it to true");
    require(training.fused_rms_norm || plan.model.norm != models::NormKind::rmsnorm, "/training/fused_rms_norm",
            "RMSNorm of several kernels cannot be executed yet", "set it to true");
}

/// A graph holds one step, from its first kernel to its last.
void require_graph(const strategies::Plan& plan) {
    const strategies::Training& training = plan.training;
    if (!training.cuda_graph) return;
    require(training.cuda_graph_scope == strategies::CudaGraphScope::full_iteration, "/training/cuda_graph_scope",
            "a graph of a part of a step cannot be executed yet", "set it to \"full_iteration\"");
    require(!schedule_of(plan.strategy.schedule).asynchronous, "/training/cuda_graph",
            "steps that run into each other are one program, which runs once: no launch of a graph would repeat it",
            "set it to false, or strategy.schedule to \"1f1b\"");
}

/// How ranks exchange gradients, weights and what stands between products.
void require_exchanges(const strategies::Plan& plan) {
    const strategies::Strategy& strategy = plan.strategy;
    require(strategy.all_reduce_algorithm == strategies::AllReduceAlgorithm::automatic,
            "/strategy/all_reduce_algorithm", "the communicator that runs it chooses how", "set it to \"auto\"");
    require(strategy.full_sharding.implementation == strategies::FsdpImplementation::megatron_fsdp,
            "/strategy/fsdp_implementation", "copies beside its collectives cannot be executed yet", "leave it out");
    require(strategy.grad_reduce_collective != strategies::GradReduceCollective::reduce,
            "/strategy/grad_reduce_collective", "a reduce to one rank cannot be executed yet",
            "set it to \"reduce_scatter\" or \"all_reduce\"");
    require(strategy.all_to_all_algorithm == strategies::AllToAllAlgorithm::automatic, "/strategy/all_to_all_algorithm",
            "the communicator that runs it chooses how", "set it to \"auto\"");
    require(strategy.recompute_allgather || !strategy.sequence_parallel, "/strategy/tp_recompute_allgather",
            "gathered inputs cannot be kept yet", "set it to true");
    require(!strategy.batch_first || !strategy.sequence_parallel || strategy.tensor == 1, "/strategy/batch_first",
            "copies of what tensor ranks gather and scatter cannot be executed yet", "set it to false");
    require(!strategies::gathers_logits(plan), "/strategy/loss_parallel",
            "logits of all words on each tensor rank cannot be executed yet", "set it to true");
    require(!plan.templated_ring(), "/strategy/templated_ring_attention",
            "results that operators merge cannot be executed yet", "set it to false");
    require(!strategy.tensor_comm_overlap, "/strategy/tp_comm_overlap",
            "collectives in parts beside products cannot be executed yet", "set it to false");
    require(strategy.checkpoint_policy == strategies::CheckpointPolicy::nothing, "/strategy/checkpoint_policy",
            "parts of products cannot run again yet", "set it to \"nothing\"");
    require(strategy.compression == strategies::Compression::none, "/strategy/compression",
            "what is compressed cannot be exchanged yet", "set it to \"none\"");
    require(plan.training.precision.on_the_wire() == plan.training.precision.grad_reduce,
            "/training/communication_data_type",
            "gradients cannot be exchanged in another format than they are summed in yet", "leave it out");
    require(!strategy.quantized_weights, "/strategy/zero_quantized_weights", "quantized weights cannot be gathered yet",
            "set it to false");
    require(strategy.secondary_partition == 1, "/strategy/zero_hpz_partition_size",
            "a secondary partition of weights cannot be kept yet", "set it to 1");
    require(!strategy.quantized_gradients, "/strategy/zero_quantized_gradients",
            "quantized gradients cannot be exchanged yet", "set it to false");
}

}  // namespace

void require_executable(const strategies::Plan& plan) {
    const strategies::Strategy& strategy = plan.strategy;
    const strategies::Training& training = plan.training;
    require_model(plan.model);
    require_dropout(plan);
    require_layers(plan);
    require_images(plan);
    require_formats(plan);
    require_experts(plan);
    require_fusion(plan);
    require(training.optimizer == strategies::Optimizer::adam, "/training/optimizer",
            "only Adam can be executed so far", "set it to \"adam\"");
    require(!training.broadcast_data, "/training/broadcast_data", "ranks read their data themselves",
            "set it to false");
    require(!training.log_num_zeros_in_grad, "/training/log_num_zeros_in_grad", "zeros cannot be counted yet",
            "set it to false");
    require(!training.fp32_residual_connection, "/training/fp32_residual_connection",
            "a residual stream in fp32 cannot be executed yet", "set it to false");
    require(!strategies::copies_into_buckets(plan), "/training/gradient_as_bucket_view",
            "gradients are reduced where they lie", "set it to true");
    require(!training.zero_grad_set_to_none, "/training/zero_grad_set_to_none", "gradients lie in a buffer that lasts",
            "set it to false");
    require(!training.autocast, "/training/autocast", "products that cast weights in fp32 cannot be executed yet",
            "set it to false");
    require(!training.fp32_activation_function, "/training/fp32_activation_function",
            "activation functions in fp32 cannot be executed yet", "set it to false");
    require(training.memory_format == strategies::MemoryFormat::channels_last, "/training/memory_format",
            "images with channels first cannot be executed yet", "set it to \"channels_last\"");
    require_graph(plan);
    require(!training.fp8_attention, "/training/fp8_dot_product_attention", "attention in fp8 cannot be executed yet",
            "leave it out");
    require(!training.fp8_function_input, "/training/activation_func_fp8_input_store",
            "inputs of activation functions cannot be kept in fp8 yet", "set it to false");
    require(strategy.placement.empty() && strategy.placement_file.empty(), "/strategy/placement",
            "a run cannot place its ranks: mpirun does", "leave it out, and order --hosts");
    const strategies::Schedule& schedule = schedule_of(strategy.schedule);
    require(schedule.order == strategies::ChunkOrder::wraps, "/strategy/schedule",
            fmt::format("{} cannot be executed yet", schedule.name),
            "set it to \"1f1b\", \"interleaved\", \"zb-h1\" or \"pipedream-2bw\"");
    require(!plan.tensor_grid().divides(), "/strategy/tensor_mode",
            "blocks of matrices on a grid of tensor ranks cannot be executed yet", "set it to \"1d\"");
    require_exchanges(plan);
    require(!plan.offloads_weights(), "/strategy/offload_param_device", "weights are executed on the device alone yet",
            "set it to \"none\"");
    require(strategy.optimizer_device == strategies::OptimizerDevice::cpu, "/strategy/offload_optimizer_device",
            "states on drives cannot be executed yet", "set it to \"cpu\"");
    require(training.lora_rank == 0, "/training/lora_rank", "adapters cannot be executed yet", "leave it out");
    require(training.apply_groups == 1, "/training/num_apply_group", "parameters are updated all at once",
            "set it to 1");
    require(training.frozen_layers == 0, "/training/frozen_layers", "frozen layers cannot be executed yet",
            "leave it out");
    require(strategy.context == 1 || plan.model.experts == 0, "/strategy/context",
            "experts beside context parallelism cannot be executed yet", "set it to 1");
    const strategies::Ownership words = ownership(plan, strategies::ParameterClass::embedding);
    const bool exchanged = !moves(plan.mesh(), words.gradients, words.states, {strategies::Axis::pipeline}).empty();
    const bool shared = plan.mesh().group_size(words.states.split(words.replicas)) > 1;
    require(!exchanged || !shared, "/strategy/sharding",
            "a distributed optimizer cannot exchange the gradients of tied embeddings between stages yet: first and "
            "last stage shard them differently",
            "set tie_word_embeddings to false, sharding to \"none\" or pipeline to 1");
}

void require_runs_on(const kernels::Device& device, const strategies::Plan& plan, const strategies::StepProgram& step) {
    require(device.facts().kind != "cuda" || !plan.model.takes_images(), "/model/name",
            "a GPU runs no convolutions, poolings and batch norms yet", "run it on CPUs");
    for (const kernels::Kernel& kernel : strategies::launched_kernels(step))
        require(device.supports(kernel), "/training/precision",
                fmt::format("{} does not run {}", device.facts().name, kernels::to_text(kernel)),
                "a CPU takes bf16, fp16 and fp32; a GPU tf32 too, with heads of up to 128 columns, in 16 bits of 64, "
                "80, 96 or 128; from Hopper on fp8 whose products' extents are multiples of 16");
    require(device.facts().kind == "cuda" || !plan.training.cuda_graph, "/training/cuda_graph",
            fmt::format("CUDA graphs are a GPU's, and {} is none", device.facts().name), "set it to false");
    if (device.facts().kind != "cuda") return;
    require(plan.strategy.context == 1 || plan.strategy.context_exchange == strategies::ContextExchange::a2a,
            "/strategy/cp_comm_type", "a GPU runs no attention over a part of the keys",
            "set it to \"a2a\", or context to 1");
    require(!plan.strategy.optimizer_cpu_offload, "/strategy/optimizer_cpu_offload",
            "the host of a GPU updates no parameters yet", "set it to false");
    require(plan.model.kv_lora_rank == 0, "/model/kv_lora_rank", "a GPU does not run latent attention yet",
            "run it on CPUs");
    require(plan.model.relative_buckets == 0, "/model/relative_attention_num_buckets",
            "a GPU adds no biases of positions to scores yet", "run it on CPUs");
    const std::uint64_t aligned = vector_bytes / kernels::size_of(plan.training.precision.compute);
    const auto require_tokens = [&](std::uint64_t tokens, const char* key) {
        require(
            tokens % aligned == 0, key, fmt::format("micro-batches of {} tokens", tokens),
            fmt::format("a GPU needs a multiple of {} in {}", aligned, kernels::name(plan.training.precision.compute)));
    };
    require_tokens(plan.rank_tokens(), "/training/seq_length");
    require_tokens(plan.rank_tokens(models::Sequence::decoded), "/training/decoder_seq");
    if (!plan.training.fused_attention) require_tokens(plan.rank_seq(), "/training/seq_length");
    const models::ModelSpec& model = plan.model;
    require(plan.padded_vocab() / plan.strategy.tensor % aligned == 0, "/model/make_vocab_size_divisible_by",
            fmt::format("{} words on a rank", plan.padded_vocab() / plan.strategy.tensor),
            fmt::format("a GPU needs a multiple of {}", aligned));
    const std::uint32_t columns = model.expert_ffn / (plan.experts_split() ? plan.strategy.tensor : 1);
    require(model.experts % aligned == 0, "/model/num_experts", fmt::format("{} experts", model.experts),
            fmt::format("a GPU needs a multiple of {}", aligned));
    require(columns % aligned == 0, "/model/moe_intermediate_size",
            fmt::format("{} columns of an expert on a rank", columns),
            fmt::format("a GPU needs a multiple of {}", aligned));
    for (const std::uint32_t extent : {model.head_dim, model.hidden})
        require(extent % aligned == 0, "/model", fmt::format("rows of {} columns", extent),
                fmt::format("a GPU needs hidden and head_dim to be multiples of {}", aligned));
}

void require_runs_on(const kernels::Device& device, const Parameters& parameters) {
    if (device.facts().kind != "cuda") return;
    const std::uint64_t aligned = vector_bytes / kernels::size_of(parameters.weights().dtype);
    for (const auto& [name, offset] : parameters.offsets())
        require(offset % aligned == 0, "/model", fmt::format("{} begins at element {}", name, offset),
                fmt::format("a GPU needs parameters of a multiple of {} elements", aligned));
    for (const Unit& unit : parameters.units())
        require(unit.begin % aligned == 0 && parameters.owned(unit).begin % aligned == 0, "/strategy/data",
                fmt::format("a share of gradients begins at element {}", parameters.owned(unit).begin),
                fmt::format(
                    "a GPU needs shares of a multiple of {} elements: take another number of data ranks or no sharding",
                    aligned));
}

}  // namespace orrery::run
