// How a training step is divided over ranks: what a scenario's "strategy" and "training" sections say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "models/model_spec.hpp"
#include "strategies/checkpoint_names.hpp"
#include "strategies/mesh.hpp"
#include "strategies/modules.hpp"
#include "strategies/rank_placement.hpp"
#include "strategies/schedule/schedule.hpp"
#include "strategies/sharding.hpp"
#include "strategies/tensor_grid.hpp"
#include "strategies/training.hpp"

namespace orrery::strategies {

enum class Recompute : std::uint8_t { none, selective, full };

/// What is kept all the same of a layer that runs again as a whole (checkpoint_policy.hpp).
enum class CheckpointPolicy : std::uint8_t { nothing, every_second_mm, save_only_these_names };

struct KeptResults {
    constexpr KeptResults(CheckpointPolicy of = CheckpointPolicy::nothing, CheckpointNames named = {},
                          CheckpointNames away = {})
        : policy(of), names(named), offloaded(away) {}
    CheckpointPolicy policy;
    CheckpointNames names;      ///< save_only_these_names: these
    CheckpointNames offloaded;  ///< of what is kept, all that layers which are offloaded send to the host; none: all
};

/// What the backward of a layer runs again.
struct Again {
    Again(Recompute of, ModuleSet named = Module::core_attn, bool early = false, KeptResults kept = {})
        : whole(of == Recompute::full),
          stops_early(early),
          modules(of == Recompute::selective ? named : ModuleSet{}),
          keeps(kept) {}
    bool whole;         ///< all of it: its input alone is kept, and what its policy says
    bool stops_early;   ///< of what runs again, up to the last piece that leaves what its backward needs
    ModuleSet modules;  ///< else these
    KeptResults keeps;  ///< of a whole layer
};

/// How ranks that share sequences bring queries, keys and values together: Megatron-LM's cp-comm-type.
enum class ContextExchange : std::uint8_t {
    p2p,         ///< keys and values go around a ring, beside attention of those that are there
    all_gather,  ///< each rank gathers all keys and values
    a2a,         ///< each rank gets all tokens of its share of the heads
    a2a_p2p,     ///< ranks exchange heads in groups, and groups pass keys and values around a ring
};

/// How tokens get to their experts: Megatron-LM's moe-token-dispatcher-type.
enum class Dispatcher : std::uint8_t {
    alltoall,   ///< copies of tokens go to the ranks of their experts
    allgather,  ///< every rank gathers all tokens of its group and takes those of its experts
    flex,       ///< a token goes once to each rank that has experts of it, and is copied there (DeepEP, HybridEP)
};

/// How an all-reduce, and an exchange of tokens, run among nodes: as NCCL chooses, or always so (NCCL_ALGO; Horovod's
/// HOROVOD_HIERARCHICAL_ALLREDUCE; DeepSpeed-MoE's and Whale's hierarchical exchanges). sim/collective/algorithms has
/// each. A group that has not as many ranks in each of its nodes has no hierarchy, and runs as NCCL chooses.
enum class AllReduceAlgorithm : std::uint8_t { automatic, ring, tree, hierarchical };
enum class AllToAllAlgorithm : std::uint8_t { automatic, direct, pxn, hierarchical };

/// What data ranks exchange instead of whole gradients.
enum class Compression : std::uint8_t {
    none,
    onebit_adam,  ///< behind its warm-up signs of their momentum, with error feedback (compressed_momentum.hpp)
    powersgd,     ///< factors of their gradients' matrices, with error feedback (low_rank_gradients.hpp)
    by_ratio,     ///< so many times fewer bytes, for so many passes over what is summed (gradient_wire.hpp)
};

/// Where weights lie beside a device's memory, and states of an offloaded optimizer: in its host's, or on its node's
/// own drives, from where they go through the host's.
enum class OffloadDevice : std::uint8_t { none, cpu, nvme };
enum class OptimizerDevice : std::uint8_t { cpu, nvme };

/// When gradients of micro-batches are reduced.
enum class GradientSyncs : std::uint8_t {
    by_sharding,  ///< as their sharding has it
    step,         ///< all sums once a step (DDP's no_sync, FSDP's set_requires_gradient_sync(False))
    micro_batch,  ///< each micro-batch's behind its backward (DDP without no_sync)
    /// Each micro-batch's among the ranks that share, their parts among groups of such ranks once a step (MiCS, Zhang
    /// et al. 2022, section 3.4; FSDP's set_requires_all_reduce(False); Megatron-FSDP).
    two_hop,
};

/// Whose code shards fully, by what it copies beside its collectives (shard_copies.hpp).
enum class FsdpImplementation : std::uint8_t {
    megatron_fsdp,  ///< nothing: its buffers are what products read and write; `orrery run` is alike
    fsdp1,          ///< PyTorch's FullyShardedDataParallel, with flat parameters
    fsdp2,          ///< PyTorch's fully_shard, parameter by parameter: TorchTitan
    deepspeed,      ///< ZeRO's third stage
};

/// When zero3's weights are there: PyTorch's FSDP (weight_visits.hpp).
struct FullSharding {
    FsdpImplementation implementation = FsdpImplementation::megatron_fsdp;
    bool reshard_after_forward = true;  ///< false: they stay from the forward on until the backward has used them
    std::uint32_t unit_layers = 1;      ///< neighbouring layers whose weights are gathered together
    std::uint32_t prefetch = 1;         ///< units that are asked for before their turn
    bool limit_all_gathers = true;      ///< no more units at once than are prefetched and in use, two at least

    bool operator==(const FullSharding&) const = default;
};

/// Parallelism. Keys are Megatron-LM's without "-parallel-size": tensor = tensor-model-parallel-size, ...
struct Strategy {
    std::uint32_t tensor = 1;
    TensorMode tensor_mode = TensorMode::one_d;  ///< how these ranks divide matrices (tensor_grid.hpp)
    std::uint32_t tensor_depth = 1;              ///< of 2.5d: grids that lie upon each other
    std::uint32_t pipeline = 1;
    std::uint32_t virtual_pipeline = 1;  ///< model chunks per stage; > 1 needs a schedule that holds several
    std::uint32_t data = 1;
    std::uint32_t context = 1;  ///< context-parallel-size: ranks among which the tokens of each sequence are divided
    ContextExchange context_exchange = ContextExchange::p2p;
    std::uint32_t ulysses_degree = 1;  ///< of a2a_p2p: neighbouring context ranks that exchange heads
    /// expert-model-parallel-size: ranks among which the experts of a layer are divided. They are ranks of one data
    /// (and tensor) group; those that hold the same experts make up an expert-data group.
    std::uint32_t expert = 1;
    std::uint32_t expert_tensor = 0;  ///< expert-tensor-parallel-size: 1, or 0 for `tensor`
    Dispatcher dispatcher = Dispatcher::alltoall;
    AllToAllAlgorithm all_to_all_algorithm = AllToAllAlgorithm::automatic;
    AllReduceAlgorithm all_reduce_algorithm = AllReduceAlgorithm::automatic;
    /// overlap-moe-expert-parallel-comm: exchanges of a forward's tokens run beside the backward of another
    /// micro-batch, and the other way round (layer_pairs.hpp).
    bool overlap_expert_exchanges = false;
    bool sequence_parallel = false;
    /// tp-comm-overlap: tensor ranks' gathers and scatters run in parts beside parts of the products that take or leave
    /// what they move (partition/overlapped.hpp).
    bool tensor_comm_overlap = false;
    ScheduleKind schedule = ScheduleKind::one_f_one_b;
    Sharding sharding = Sharding::none;  ///< zero1: use-distributed-optimizer
    /// num-distributed-optimizer-instances: so many groups of data ranks each keep all that `sharding` divides.
    std::uint32_t optimizer_instances = 1;
    FullSharding full_sharding = {};
    GradientSyncs gradient_syncs = GradientSyncs::by_sharding;
    GradReduceCollective grad_reduce_collective = GradReduceCollective::reduce_scatter;
    /// Of a network over images: so many neighbouring data ranks divide its classes (partition/class_split.cpp); they
    /// lie along Axis::expert.
    std::uint32_t split_classes = 1;
    /// ZeRO++ (zero_plus_plus.hpp), DeepSpeed's zero_quantized_weights, zero_hpz_partition_size and
    /// zero_quantized_gradients: weights are gathered in blocks of int8; so many ranks keep all weights among them from
    /// their first use in a step on, 1 for none; gradients are exchanged in blocks of int4, among `node_ranks` ranks
    /// first.
    bool quantized_weights = false;
    std::uint32_t secondary_partition = 1;
    bool quantized_gradients = false;
    std::uint32_t node_ranks = 0;  ///< 0: of quantized gradients the scenario's, GPUs of a node
    Compression compression = Compression::none;
    std::uint32_t powersgd_rank = 1;       ///< columns of a factor
    double compression_ratio = 1;          ///< by_ratio: bytes of what is summed over those that leave
    std::uint32_t compression_passes = 1;  ///< kernels over all numbers before they leave, and behind
    static constexpr std::uint32_t usual_freeze_step = 100'000;  ///< DeepSpeed's
    std::uint32_t freeze_step = usual_freeze_step;               ///< steps of the warm-up, which is Adam as ever
    Recompute recompute = Recompute::none;                       ///< recompute-granularity
    std::string recompute_modules = {};                          ///< selective: modules_named(); empty: core_attn
    std::uint32_t recompute_num_layers = 0;  ///< full: how many layers of each chunk are recomputed; 0: all
    CheckpointPolicy checkpoint_policy = CheckpointPolicy::nothing;
    std::string checkpoint_names = {};     ///< save_only_these_names: checkpoint_names_in()
    bool recompute_early_stop = false;     ///< what runs again does while its backward needs what comes of it
    bool synchronize_checkpoints = false;  ///< DeepSpeed's synchronize_checkpoint_boundary (checkpoint_boundary.hpp)
    /// cpu-offloading-num-layers: the first so many layers of each chunk keep in host memory what their backward needs.
    std::uint32_t cpu_offloading_num_layers = 0;
    std::string offload_names = {};  ///< of what these keep, checkpoint_names_in(); empty: all
    /// optimizer-cpu-offload: so much of the optimizer's states (optimizer-offload-fraction) lies in host memory, whose
    /// processor updates it; overlap-cpu-optimizer-d2h-h2d: gradients leave, are used and come back as weights bucket
    /// by bucket (optimizer_offload.hpp).
    bool optimizer_cpu_offload = false;
    double optimizer_offload_fraction = 1.0;
    bool overlap_optimizer_copies = false;
    /// DeepSpeed's offload_optimizer.device, pipeline_read and pipeline_write: states on drives are read before each
    /// update, beside the one before it, and written behind it, beside the next one (optimizer_offload.hpp).
    OptimizerDevice optimizer_device = OptimizerDevice::cpu;
    bool pipeline_read = false, pipeline_write = false;
    /// DeepSpeed's offload_param.device: where a rank's shares of weights lie (weight_offload.hpp).
    OffloadDevice param_device = OffloadDevice::none;
    /// Unequal stages (stage_split.hpp): decoder-first- and -last-pipeline-num-layers, 0 for not given; the embedding
    /// and the loss counted as a layer each; or the layers of each chunk, as text.
    std::uint32_t first_stage_layers = 0, last_stage_layers = 0;
    bool embedding_as_layer = false, loss_as_layer = false;
    std::string pipeline_layers = {};
    /// Micro-batches of a step on each data rank, as text (replica_batches.hpp); empty: equally many.
    std::string replica_micro_batches = {};
    bool async_tensor_allreduce =
        true;  ///< a column-parallel layer's backward collectives run beside its weight gradient
    /// Under sequence parallelism a column-parallel layer keeps its part of its input, and the backward gathers the
    /// whole again; false: it keeps the whole, as autograd does.
    bool recompute_allgather = true;
    /// Activations lie sequence by sequence: what tensor ranks gather or scatter along sequences is copied
    /// (partition/batch_first).
    bool batch_first = false;
    /// Products of one input that are apart have it gathered, and its gradient reduced, once for all; false: each for
    /// itself.
    bool prepare_module_input = true;
    /// Tensor ranks divide the loss as they divide the words; false: each gathers all logits.
    bool loss_parallel = true;
    /// Results of keys that are gathered, or go around a ring, are merged step by step by PyTorch's operators
    /// (partition/templated_ring).
    bool templated_ring = false;
    bool overlap_grad_reduce = false;
    bool overlap_param_gather = false;
    bool overlap_p2p = false;    ///< overlap-p2p-communication of the interleaved schedule
    bool scatter_gather = true;  ///< tensor ranks send 1/tensor of a boundary tensor each (SC'21, 4.1)
    std::uint64_t bucket_bytes = 40'000'000 * 4ULL;  ///< gradient bucket, ddp-bucket-size in bytes
    /// Where ranks run, as the scenario says it: a layout's name or a list of GPUs, else the path of a file with one.
    /// Both empty: linear. Plan::placement is what it means on the scenario's cluster.
    std::string placement = {}, placement_file = {};

    /// What ranks keep along the axes of those that share, or that hold copies.
    [[nodiscard]] Kept kept() const {
        Kept kept = row_of(sharding).kept;
        if (gradient_syncs == GradientSyncs::step) kept.gradients = Placement::partial;
        if (gradient_syncs == GradientSyncs::micro_batch && kept.states == Placement::replicated)
            kept.gradients = Placement::replicated;
        return kept;
    }
    /// What groups that share keep, each beside the others. FSDP sums each micro-batch's parts over the groups
    /// (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, foreach_reduce: its all_reduce_group).
    [[nodiscard]] Kept kept_by_groups() const {
        Kept kept = keeps_all;
        if (syncs_each_micro_batch() && gradient_syncs != GradientSyncs::two_hop)
            kept.gradients = Placement::replicated;
        return kept;
    }
    /// Whether gradients are exchanged behind every backward.
    [[nodiscard]] bool syncs_each_micro_batch() const { return kept().gradients != Placement::partial; }
    /// Of layers that are run again; of a checked strategy.
    [[nodiscard]] Again again() const {
        return {recompute,
                modules_named(recompute_modules).value_or(Module::core_attn),
                recompute_early_stop,
                {checkpoint_policy, checkpoint_names_in(checkpoint_names).value_or(CheckpointNames{}),
                 checkpoint_names_in(offload_names).value_or(CheckpointNames{})}};
    }
};

/// Of a node's own drives together, bytes per second; 0: those of hardware/operations.hpp.
struct DriveRates {
    double read = 0, write = 0;
    bool operator==(const DriveRates&) const = default;
};

struct Plan {
    models::ModelSpec model;
    Strategy strategy;
    Training training;
    RankPlacement placement = {};
    DriveRates drives = {};
    /// The cluster's GPUs take fp8 operands with one scale a tensor in either order (Blackwell): no transposed copies
    /// are kept.
    bool fp8_either_order = false;
    /// Of a schedule without flushes: steps in a program; 0: as many as make the ends of little account.
    std::uint32_t window_steps = 0;
    /// Where data ranks take unequal numbers of micro-batches: those of the ranks whose program is at hand; 0: of the
    /// ranks that take most (replica_batches.hpp).
    std::uint32_t own_micro_batches = 0;

    [[nodiscard]] std::uint32_t ranks() const {
        return strategy.tensor * strategy.context * strategy.pipeline * strategy.data;
    }
    /// Groups of data ranks along Axis::replica: copies of what is shared, or of ZeRO++ parts of nodes that share too.
    [[nodiscard]] std::uint32_t groups_of_data() const {
        return strategy.optimizer_instances > 1 ? strategy.optimizer_instances : parts_of_nodes();
    }
    /// Of the ranks that share all, so many parts of neighbours: a secondary partition is kept, and quantized gradients
    /// are exchanged first, in each. 1 where one holds all ranks.
    [[nodiscard]] std::uint32_t parts_of_nodes() const {
        const std::uint32_t ranks = strategy.data * strategy.context;
        const std::uint32_t part = strategy.secondary_partition > 1 ? strategy.secondary_partition
                                   : strategy.quantized_gradients   ? strategy.node_ranks
                                                                    : 0;
        return part == 0 || ranks % part != 0 ? 1 : ranks / part;
    }
    /// Of tensor ranks; one point where they divide widths alone.
    [[nodiscard]] TensorGrid tensor_grid() const {
        return grid_of(strategy.tensor_mode, strategy.tensor, strategy.tensor_depth);
    }
    [[nodiscard]] Mesh mesh() const {
        const std::uint32_t expert = expert_extent(), copies = groups_of_data();
        const TensorGrid grid = tensor_grid();
        return {{grid.divides() ? 1 : strategy.tensor, grid.row, grid.column, grid.depth, context_inner(),
                 strategy.context / context_inner(), expert, strategy.data / expert / copies, copies,
                 strategy.pipeline}};
    }
    /// Of a ring's context ranks, so many neighbours exchange heads; 1: none do.
    [[nodiscard]] std::uint32_t context_heads() const {
        const bool apart =
            strategy.context_exchange == ContextExchange::a2a_p2p && strategy.context % strategy.ulysses_degree == 0;
        return apart ? strategy.ulysses_degree : 1;
    }
    /// Of the mesh's axis `context_inner`: context ranks that exchange heads, or that an expert group covers where it
    /// does not cover all.
    [[nodiscard]] std::uint32_t context_inner() const {
        if (context_heads() > 1) return context_heads();
        return expert_context() < strategy.context ? expert_context() : 1;
    }
    /// Whether so many context ranks can exchange heads: each has some of a tensor rank's queries, and of its keys and
    /// values whole heads, or a copy of one where they are fewer (not with Transformer Engine).
    [[nodiscard]] bool divide_heads(std::uint32_t ranks) const {
        const std::uint32_t queries = model.heads / strategy.tensor, keys = model.kv_heads / strategy.tensor;
        if (ranks == 1 || keys == 0) return ranks == 1;
        const bool copied = training.software != hardware::Software::transformer_engine && ranks % keys == 0;
        return queries % ranks == 0 && (keys % ranks == 0 || copied);
    }
    /// All ranks that share sequences.
    [[nodiscard]] AxisSet context_group() const {
        return context_inner() > 1 ? AxisSet{Axis::context_inner, Axis::context} : AxisSet{Axis::context};
    }
    /// Tokens of a sequence, and of a micro-batch, that one rank holds.
    [[nodiscard]] std::uint32_t rank_seq(models::Sequence sequence = models::Sequence::only) const {
        return training.seq_of(sequence) / strategy.context;
    }
    [[nodiscard]] std::uint64_t rank_tokens(models::Sequence sequence = models::Sequence::only) const {
        return std::uint64_t{training.micro_batch} * rank_seq(sequence);
    }
    /// Of a layer's experts those that one rank holds, whole or a part of each.
    [[nodiscard]] std::uint32_t rank_experts(std::uint64_t experts) const {
        return static_cast<std::uint32_t>(experts / strategy.expert);
    }
    /// Whether each expert is split over the tensor axis; else expert groups cover that axis.
    [[nodiscard]] bool experts_split() const { return strategy.expert_tensor != 1 && strategy.tensor > 1; }
    /// Ranks of an expert group along the axes tensor and context, which it covers before it takes data ranks.
    [[nodiscard]] std::uint32_t expert_cover() const { return expert_tensors() * expert_context(); }
    /// Of these, along tensor, and along context: all, or as many neighbours as the group has ranks for.
    [[nodiscard]] std::uint32_t expert_tensors() const { return experts_split() ? 1 : strategy.tensor; }
    [[nodiscard]] std::uint32_t expert_context() const {
        return std::clamp(strategy.expert / expert_tensors(), 1U, strategy.context);
    }
    /// Whether expert groups divide the context ranks, or these them.
    [[nodiscard]] bool experts_cover_context() const {
        const std::uint32_t rest = std::max(strategy.expert / expert_tensors(), 1U);
        const bool inside = strategy.context % rest == 0, whole = rest % strategy.context == 0;
        const bool apart = context_heads() > 1 && expert_context() > 1 && expert_context() < strategy.context;
        return (inside || whole) && (!apart || expert_context() == context_heads());
    }
    /// Of the mesh's axis `expert`: data ranks are those along it, along `data` and along `replica`.
    [[nodiscard]] std::uint32_t expert_extent() const {
        if (strategy.split_classes > 1) return strategy.split_classes;
        return expert_cover() > strategy.expert ? strategy.expert : strategy.expert / expert_cover();
    }
    /// Groups that exchange tokens, and those that hold the same parameters: of the experts, and all others.
    [[nodiscard]] AxisSet expert_group() const {
        AxisSet group{Axis::expert};
        if (strategy.tensor > 1 && !experts_split()) group = group | AxisSet{Axis::tensor};
        return strategy.context > 1 ? group | context_of_experts() : group;
    }
    [[nodiscard]] AxisSet expert_data_group() const {
        AxisSet group{Axis::data};
        if (groups_of_data() > 1) group = group | AxisSet{Axis::replica};
        return strategy.context > 1 ? group | (context_group() - context_of_experts()) : group;
    }
    /// Of the axes of context ranks, those that expert groups cover.
    [[nodiscard]] AxisSet context_of_experts() const {
        if (expert_context() == 1) return {};
        return expert_context() < strategy.context ? AxisSet{Axis::context_inner} : context_group();
    }
    [[nodiscard]] AxisSet data_group() const {
        AxisSet group{Axis::data};
        if (groups_of_data() > 1) group = group | AxisSet{Axis::replica};
        if (strategy.context > 1) group = group | context_group();
        if (tensor_grid().copies() > 1) group = group | AxisSet{Axis::tensor_depth};
        return expert_extent() > 1 ? group | AxisSet{Axis::expert} : group;
    }
    /// Stages that hold copies of the same layers.
    [[nodiscard]] AxisSet copies() const {
        const bool two = copies_of_model(schedule_of(strategy.schedule).order) > 1;
        return two ? AxisSet{Axis::opposite} : AxisSet{};
    }
    /// Data ranks that hold the same experts.
    [[nodiscard]] std::uint32_t expert_data() const { return strategy.data / expert_extent(); }
    /// Of a step on each data rank, or on those of own_micro_batches.
    [[nodiscard]] std::uint32_t micro_batches() const {
        if (own_micro_batches > 0) return own_micro_batches;
        if (!strategy.replica_micro_batches.empty()) return most_micro_batches();
        return training.global_batch / (training.micro_batch * strategy.data);
    }
    [[nodiscard]] std::uint32_t most_micro_batches() const;
    /// Of a step on all data ranks together.
    [[nodiscard]] std::uint32_t all_micro_batches() const { return training.global_batch / training.micro_batch; }
    [[nodiscard]] PipelineShape pipeline_shape() const;
    /// Of a step, what budgets and rates count: tokens, or images where the model takes images.
    [[nodiscard]] double examples() const {
        return model.takes_images() ? static_cast<double>(training.global_batch) : training.tokens();
    }
    /// Of the optimizer's states, the part that lies in host memory.
    [[nodiscard]] double offloaded_states() const {
        return strategy.optimizer_cpu_offload ? strategy.optimizer_offload_fraction : 0;
    }
    [[nodiscard]] bool offloads_weights() const { return strategy.param_device != OffloadDevice::none; }
    [[nodiscard]] bool states_on_drives() const {
        return strategy.optimizer_cpu_offload && strategy.optimizer_device == OptimizerDevice::nvme;
    }
    [[nodiscard]] bool uses_drives() const {
        return states_on_drives() || strategy.param_device == OffloadDevice::nvme;
    }
    /// Whether gradients are there from the backward that forms them to the update alone, and not in buffers that last.
    /// What is exchanged in another format is kept as it was summed, and counted as lasting.
    [[nodiscard]] bool gradients_come_and_go() const {
        const bool as_summed = training.precision.wire == GradientWire::as_summed && !strategy.quantized_gradients &&
                               strategy.compression == Compression::none;
        return training.zero_grad_set_to_none && as_summed && micro_batches() == 1 && strategy.pipeline == 1 &&
               !offloads_weights();
    }
    /// Whether a rank's gradients are summed over micro-batches in host memory: where neither its weights nor anything
    /// of its optimizer lies on the device, as DeepSpeed's ZeRO-3 does.
    [[nodiscard]] bool sums_on_host() const { return offloads_weights() && offloaded_states() == 1; }
    /// Whether data ranks exchange compressed momentum: a plan is its stage behind the warm-up.
    [[nodiscard]] bool compresses() const {
        return strategy.compression == Compression::onebit_adam && strategy.data * strategy.context > 1;
    }
    /// Whether context ranks exchange no heads, and merge results by operators.
    [[nodiscard]] bool templated_ring() const {
        using enum ContextExchange;
        const bool keys = strategy.context_exchange == p2p || strategy.context_exchange == all_gather;
        return strategy.templated_ring && keys && strategy.context > 1;
    }
    /// Whether queries, keys and values are products of their own; those of latent attention are what they are.
    [[nodiscard]] bool heads_apart() const { return !training.fused_qkv && model.kv_lora_rank == 0; }
    /// Whether a gate is a product of its own, beside its MLP's first.
    [[nodiscard]] bool gate_apart() const { return !training.fused_gate && model.gated; }
    /// As Megatron-LM pads it, to a multiple of model.vocab_multiple x tensor.
    [[nodiscard]] std::uint64_t padded_vocab() const;
};

/// Throws Error (pointer under "/strategy" or "/training") with the value, the rule and the nearest legal
/// values: heads, kv_heads, ffn divisible by tensor; experts by expert, and data by what expert takes of it; layers by
/// pipeline x virtual_pipeline; global batch by micro-batch x data; interleaving needs pipeline > 1 and micro-batches
/// divisible by pipeline; sequence parallelism needs tensor to divide seq; and so on.
/// batch_divided: false where it is open how micro-batches divide the global batch; then nothing is said of how many.
void validate(const Plan& plan, bool batch_divided = true);

}  // namespace orrery::strategies
