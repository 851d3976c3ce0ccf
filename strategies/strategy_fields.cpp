// Keys of "strategy".
#include <array>

#include "base/enum_table.hpp"
#include "models/limits.hpp"
#include "strategies/plan_fields.hpp"
#include "strategies/step_limits.hpp"

namespace orrery::strategies {

namespace {

using documents::bytes_field;
using documents::field;
using documents::megatron;
using documents::word;
using kernels::Dtype;

constexpr double max_parallel = 65536;  // ranks along one axis
constexpr double max_data = most_ranks;
constexpr double max_layers = models::most_layers;

constexpr auto schedule_words = [] {
    std::array<documents::Word, schedule_names.size()> words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = word(schedule_names[i], static_cast<ScheduleKind>(i));
    return words;
}();
constexpr auto sharding_words = [] {
    std::array<documents::Word, shardings.size()> words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = word(shardings[i].name, shardings[i].kind);
    return words;
}();
constexpr auto tensor_modes = [] {
    std::array<documents::Word, tensor_mode_names.size()> words;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto mode = static_cast<TensorMode>(i);
        words[i] = word(tensor_mode_names[mode], mode);
    }
    return words;
}();
constexpr std::array exchanges{word("p2p", ContextExchange::p2p), word("all_gather", ContextExchange::all_gather),
                               word("a2a", ContextExchange::a2a), word("a2a+p2p", ContextExchange::a2a_p2p)};
static_assert(exchanges.size() == enumerators<ContextExchange>);
constexpr std::array dispatchers{word("alltoall", Dispatcher::alltoall), word("allgather", Dispatcher::allgather),
                                 word("flex", Dispatcher::flex)};
static_assert(dispatchers.size() == enumerators<Dispatcher>);
constexpr std::array gradient_syncs{word("by_sharding", GradientSyncs::by_sharding), word("step", GradientSyncs::step),
                                    word("micro_batch", GradientSyncs::micro_batch),
                                    word("two_hop", GradientSyncs::two_hop)};
static_assert(gradient_syncs.size() == enumerators<GradientSyncs>);
constexpr std::array fsdp_implementations{
    word("megatron_fsdp", FsdpImplementation::megatron_fsdp), word("fsdp1", FsdpImplementation::fsdp1),
    word("fsdp2", FsdpImplementation::fsdp2), word("deepspeed", FsdpImplementation::deepspeed)};
static_assert(fsdp_implementations.size() == enumerators<FsdpImplementation>);
constexpr std::array grad_reduce_collectives{word("reduce_scatter", GradReduceCollective::reduce_scatter),
                                             word("reduce", GradReduceCollective::reduce),
                                             word("all_reduce", GradReduceCollective::all_reduce)};
static_assert(grad_reduce_collectives.size() == enumerators<GradReduceCollective>);
constexpr std::array all_reduces{word("auto", AllReduceAlgorithm::automatic), word("ring", AllReduceAlgorithm::ring),
                                 word("tree", AllReduceAlgorithm::tree),
                                 word("hierarchical", AllReduceAlgorithm::hierarchical)};
static_assert(all_reduces.size() == enumerators<AllReduceAlgorithm>);
constexpr std::array all_to_alls{word("auto", AllToAllAlgorithm::automatic), word("direct", AllToAllAlgorithm::direct),
                                 word("pxn", AllToAllAlgorithm::pxn),
                                 word("hierarchical", AllToAllAlgorithm::hierarchical)};
static_assert(all_to_alls.size() == enumerators<AllToAllAlgorithm>);
constexpr std::array recomputes{word("none", Recompute::none), word("selective", Recompute::selective),
                                word("full", Recompute::full)};
constexpr std::array policies{word("nothing", CheckpointPolicy::nothing),
                              word("every_second_mm", CheckpointPolicy::every_second_mm),
                              word("save_only_these_names", CheckpointPolicy::save_only_these_names)};
static_assert(policies.size() == enumerators<CheckpointPolicy>);
constexpr std::array compressions{word("none", Compression::none), word("onebit-adam", Compression::onebit_adam),
                                  word("powersgd", Compression::powersgd), word("by_ratio", Compression::by_ratio)};
static_assert(compressions.size() == enumerators<Compression>);
constexpr std::array param_devices{word("none", OffloadDevice::none), word("cpu", OffloadDevice::cpu),
                                   word("nvme", OffloadDevice::nvme)};
static_assert(param_devices.size() == enumerators<OffloadDevice>);
constexpr std::array optimizer_devices{word("cpu", OptimizerDevice::cpu), word("nvme", OptimizerDevice::nvme)};
static_assert(optimizer_devices.size() == enumerators<OptimizerDevice>);
constexpr std::array reduced{word("fp32", Dtype::fp32), word("fp16", Dtype::fp16), word("bf16", Dtype::bf16)};

// clang-format off
constexpr std::array of_strategy{
    field<&Strategy::tensor>({.name = "tensor", .min = 1, .max = max_parallel,
        .help = "Ranks that share every layer's heads and widths.",
        .others = {megatron("tensor_model_parallel_size")},
        .origin = "Shoeybi et al. 2019, arXiv:1909.08053",
        .published = "tp"}),
    field<&Strategy::tensor_mode>({.name = "tensor_mode", .words = tensor_modes,
        .help = "How tensor ranks divide matrices: 1d by one width, as Megatron-LM; 2d in blocks on a square of ranks "
                "(SUMMA); 2.5d on tensor_depth squares; 3d on a cube.",
        .origin = "Xu et al. 2021, arXiv:2104.05343; Wang et al. 2021, arXiv:2105.14500; Bian et al. 2021, "
                  "arXiv:2105.14450; Colossal-AI (parallel.tensor.mode)"}),
    field<&Strategy::tensor_depth>({.name = "tensor_depth", .min = 1, .max = max_parallel,
        .help = "Squares of tensor ranks of 2.5d, among which tokens are divided.",
        .origin = "arXiv:2105.14500; Colossal-AI (parallel.tensor.depth)"}),
    field<&Strategy::pipeline>({.name = "pipeline", .min = 1, .max = max_layers,
        .help = "Stages into which the layers are divided.",
        .others = {megatron("pipeline_model_parallel_size")},
        .origin = "Huang et al. 2019, arXiv:1811.06965",
        .published = "pp"}),
    field<&Strategy::virtual_pipeline>({.name = "virtual_pipeline", .min = 1, .max = max_layers,
        .help = "Model chunks per stage.",
        .others = {megatron("virtual_pipeline_model_parallel_size")},
        .origin = "Narayanan et al., SC'21",
        .published = "vpp"}),
    field<&Strategy::data>({.name = "data", .min = 1, .max = max_data,
        .help = "Replicas, among which a batch is divided.", .when_absent = "GPUs / (tensor x context x pipeline)",
        .others = {megatron("data_parallel_size")},
        .origin = "Li et al. 2020, arXiv:2006.15704",
        .published = "dp"}),
    field<&Strategy::context>({.name = "context", .min = 1, .max = max_parallel,
        .help = "Ranks among which the tokens of each sequence are divided.",
        .others = {megatron("context_parallel_size")},
        .origin = "Liu et al. 2023, arXiv:2310.01889; Megatron-LM",
        .published = "cp"}),
    field<&Strategy::context_exchange>({.name = "cp_comm_type", .words = exchanges,
        .help = "p2p: keys and values around a ring, beside attention; all_gather: all of them at once; a2a: all "
                "tokens of a share of the heads (Ulysses); a2a+p2p: heads among ulysses_degree neighbours, keys and "
                "values around a ring of these groups.",
        .origin = "arXiv:2310.01889; Jacobs et al. 2023, arXiv:2309.14509; Llama 3, arXiv:2407.21783"}),
    field<&Strategy::templated_ring>({.name = "templated_ring_attention",
        .help = "Of p2p and all_gather: a kernel for the keys of each rank, whose results and gradients PyTorch's "
                "operators merge in fp32, and gradients of keys around a ring.",
        .when_absent = "false; true where software is pytorch",
        .origin = "PyTorch (torch.distributed.tensor.experimental, _templated_ring_attention)"}),
    field<&Strategy::ulysses_degree>({.name = "ulysses_degree", .min = 1, .max = max_parallel,
        .help = "Of a2a+p2p: neighbouring context ranks that exchange heads; the groups of them form the ring.",
        .origin = "Fang and Zhao 2024, arXiv:2405.07719; Megatron-LM (hierarchical-context-parallel-sizes)"}),
    field<&Strategy::expert>({.name = "expert", .min = 1, .max = max_parallel,
        .help = "Ranks among which the experts of a layer are divided, taken from those of data (and tensor).",
        .others = {megatron("expert_model_parallel_size")},
        .origin = "Lepikhin et al. 2020, arXiv:2006.16668 (GShard); Megatron-LM",
        .published = "ep"}),
    field<&Strategy::expert_tensor>({.name = "expert_tensor", .min = 1, .max = max_parallel,
        .help = "1: experts are whole, and expert groups cover the tensor axis.", .when_absent = "tensor",
        .others = {megatron("expert_tensor_parallel_size")},
        .origin = "Megatron-LM"}),
    field<&Strategy::dispatcher>({.name = "moe_token_dispatcher_type", .words = dispatchers,
        .help = "alltoall: copies of tokens go to the ranks of their experts; allgather: each rank gathers all tokens; "
                "flex: a token goes once to each rank that has experts of it (DeepEP, HybridEP).",
        .origin = "Megatron-LM; DeepSeek-AI 2024, arXiv:2412.19437, section 3.2.2"}),
    field<&Strategy::all_to_all_algorithm>({.name = "all_to_all_algorithm", .words = all_to_alls,
        .help = "Exchanges of tokens among nodes: as NCCL chooses, each message straight to its rank, by the GPU on "
                "the receiver's rail, or inside nodes first and along rails then.",
        .origin = "NCCL (PXN); Rajbhandari et al. 2022, arXiv:2201.05596, section 5.2; Jia et al., USENIX ATC'22"}),
    field<&Strategy::all_reduce_algorithm>({.name = "all_reduce_algorithm", .words = all_reduces,
        .help = "All-reduces among nodes: as NCCL chooses, always one ring for every NIC, always a double binary tree, "
                "or inside nodes, along rails and inside again, one behind the other.",
        .origin = "NCCL (NCCL_ALGO); Horovod (HOROVOD_HIERARCHICAL_ALLREDUCE); Cho et al. 2019 (BlueConnect)"}),
    field<&Strategy::overlap_expert_exchanges>({.name = "overlap_moe_expert_parallel_comm",
        .help = "Exchanges of a forward's tokens run beside the backward of another micro-batch, and the other way "
                "round.",
        .origin = "Megatron-LM; DeepSeek-AI 2024, arXiv:2412.19437, section 3.2.1"}),
    field<&Strategy::sequence_parallel>({.name = "sequence_parallel",
        .help = "Norms and dropouts are split over the tensor ranks too.",
        .origin = "Korthikanti et al. 2022, arXiv:2205.05198"}),
    field<&Strategy::tensor_comm_overlap>({.name = "tp_comm_overlap",
        .help = "What tensor ranks gather and scatter under sequence parallelism moves in parts, beside parts of the "
                "products around it; where software is pytorch as torch.compile has it (async tensor parallelism).",
        .origin = "Megatron-LM; TransformerEngine (userbuffers); PyTorch (_symmetric_memory)",
        .published = "switches.tp-comm-overlap"}),
    field<&Strategy::schedule>({.name = "schedule", .words = schedule_words,
        .help = "The order of forward and backward passes; chimera and dualpipe run both ways through two copies of "
                "the model; zb-h2 and pipedream, in any form, have no flush between steps.",
        .when_absent = "1f1b, or interleaved when virtual_pipeline is above 1",
        .origin = "arXiv:1811.06965; SC'21; Qi et al. 2023, arXiv:2401.10241, and 2024, arXiv:2405.15362; Li and "
                  "Hoefler, SC'21, arXiv:2107.06925; DeepSeek-AI 2024, arXiv:2412.19437; Narayanan et al., SOSP'19, "
                  "and 2021, arXiv:2006.09503"}),
    field<&Strategy::sharding>({.name = "sharding", .words = sharding_words,
        .help = "zero1: the distributed optimizer; zero2: gradients too; zero3: weights too (FSDP).",
        .others = {megatron("use_distributed_optimizer", "\"zero1\"", "\"none\"")},
        .origin = "Rajbhandari et al. 2020, arXiv:1910.02054"}),
    field<&Strategy::optimizer_instances>({.name = "num_distributed_optimizer_instances", .min = 1, .max = max_data,
        .help = "Groups of data ranks that each keep all that sharding divides; with zero3 hybrid sharding (HSDP).",
        .origin = "Megatron-LM; Zhao et al. 2023, arXiv:2304.11277",
        .published = "switches.num-distributed-optimizer-instances"}),
    field<&Strategy::full_sharding, &FullSharding::implementation>({.name = "fsdp_implementation",
        .words = fsdp_implementations,
        .help = "zero3: whose code it is, by what it copies beside its collectives. megatron_fsdp: nothing; fsdp1: "
                "gradients to one flat one, which is cast and divided; fsdp2 (fully_shard, TorchTitan): gathered "
                "weights to parameters, gradients to what is scattered; deepspeed: both, gradients twice. All but "
                "megatron_fsdp keep the head's weights from its forward to its backward, fsdp1 the embedding's too.",
        .origin = "PyTorch (torch.distributed.fsdp); DeepSpeed (runtime/zero/stage3.py); Megatron-LM (Megatron-FSDP)"}),
    field<&Strategy::full_sharding, &FullSharding::reshard_after_forward>({.name = "fsdp_reshard_after_forward",
        .help = "zero3: weights are given back behind the forward and gathered again for the backward; false: they "
                "stay until the backward is done with them, in a pipeline until a step's last one.",
        .origin = "PyTorch (fully_shard; SHARD_GRAD_OP)"}),
    field<&Strategy::full_sharding, &FullSharding::unit_layers>({.name = "fsdp_layers_per_unit", .min = 1,
        .max = max_layers,
        .help = "zero3: so many neighbouring layers are wrapped as one unit, whose weights are gathered at once.",
        .origin = "Zhao et al. 2023, arXiv:2304.11277, section 3.2.1; PyTorch (auto_wrap_policy)"}),
    field<&Strategy::full_sharding, &FullSharding::prefetch>({.name = "fsdp_prefetch", .min = 0, .max = max_layers,
        .help = "zero3: units whose weights are asked for before their turn; 0: each as its turn comes, behind the "
                "gradients that are on their way.",
        .when_absent = "1; 0 where fsdp_implementation is deepspeed and a layer has over 50 million parameters",
        .origin = "arXiv:2304.11277, section 3.3.2 and 3.3.3; PyTorch (backward_prefetch, "
                  "set_modules_to_forward_prefetch)"}),
    field<&Strategy::full_sharding, &FullSharding::limit_all_gathers>({.name = "fsdp_limit_all_gathers",
        .help = "zero3: no gather begins before the units of two before it are given back, or of more where more are "
                "prefetched; false: a forward's begin as soon as the host has come to them.",
        .origin = "arXiv:2304.11277, section 3.4.2; PyTorch (limit_all_gathers)"}),
    field<&Strategy::gradient_syncs>({.name = "gradient_sync", .words = gradient_syncs,
        .help = "When gradients are reduced: sums of all micro-batches once a step (DDP and FSDP under no_sync), or "
                "each micro-batch's behind its backward; two_hop: each micro-batch's among ranks that share, over "
                "groups of them once a step; by_sharding: micro_batch under zero2 and zero3, else step.",
        .origin = "arXiv:2006.15704, section 3.2.4; PyTorch (no_sync, set_requires_all_reduce); Accelerate "
                  "(sync_each_batch); MiCS (arXiv:2205.00119, 3.4)"}),
    field<&Strategy::grad_reduce_collective>({.name = "grad_reduce_collective", .words = grad_reduce_collectives,
        .help = "How ranks that share come to their parts of summed gradients: by one reduce_scatter, by a reduce of "
                "each part to its rank (PaddlePaddle; DeepSpeed before 0.12.4), or by an all_reduce, of which each "
                "keeps its part (DeepSpeed since). Without a sharding each takes all sums in any case.",
        .origin = "DeepSpeed (reduce_scatter and use_multi_rank_bucket_allreduce of zero_optimization); PaddlePaddle "
                  "(GroupShardedStage2)"}),
    field<&Strategy::split_classes>({.name = "split_classes", .min = 1, .max = max_data,
        .help = "Networks over images: so many neighbouring data ranks divide the classes of the classifier, which "
                "gathers their features (Whale's split beside a replicated backbone).",
        .origin = "Jia et al., USENIX ATC'22; An et al. 2021 (Partial FC)"}),
    field<&Strategy::quantized_weights>({.name = "zero_quantized_weights",
        .help = "ZeRO++'s qwZ: weights that zero3 gathers move in blocks of int8.",
        .origin = "Wang et al. 2023, arXiv:2306.10209; DeepSpeed"}),
    field<&Strategy::secondary_partition>({.name = "zero_hpz_partition_size", .min = 1, .max = max_data,
        .help = "ZeRO++'s hpZ: so many ranks, those of a node, keep all weights among them behind their first use, and "
                "gather later ones there; 1: none do.",
        .origin = "arXiv:2306.10209; DeepSpeed"}),
    field<&Strategy::quantized_gradients>({.name = "zero_quantized_gradients",
        .help = "ZeRO++'s qgZ: gradients are exchanged in blocks of int4, within nodes and then across them.",
        .origin = "arXiv:2306.10209; DeepSpeed"}),
    field<&Strategy::node_ranks>({.name = "zero_ranks_per_node", .min = 0, .max = max_data,
        .help = "Ranks among which quantized gradients are exchanged first.",
        .when_absent = "GPUs of a node",
        .origin = "DeepSpeed (coalesced_collectives.py)"}),
    field<&Strategy::compression>({.name = "compression", .words = compressions,
        .help = "onebit-adam: behind freeze_step steps data ranks exchange signs of their momentum, not gradients; "
                "powersgd: two thin factors of each matrix of gradients; by_ratio: compression_ratio times fewer "
                "bytes, whatever makes them fewer.",
        .origin = "Tang et al. 2021, arXiv:2102.02888; DeepSpeed (OneBitAdam); Vogels et al. 2019, arXiv:1905.13727"}),
    field<&Strategy::powersgd_rank>({.name = "powersgd_rank", .min = 1, .max = 64,
        .help = "Columns of powersgd's factors.",
        .origin = "arXiv:1905.13727; PyTorch (matrix_approximation_rank)"}),
    field<&Strategy::compression_ratio>({.name = "compression_ratio", .min = 1, .max = 10000,
        .help = "Of by_ratio: bytes of the gradients over those that data ranks exchange.",
        .origin = "Alistarh et al. 2017, arXiv:1610.02132 (QSGD); Lin et al. 2018, arXiv:1712.01887"}),
    field<&Strategy::compression_passes>({.name = "compression_passes", .min = 0, .max = 1000,
        .help = "Of by_ratio: passes over all gradients of a kernel that reads and writes them, before they leave and "
                "again behind.",
        .origin = "arXiv:1610.02132"}),
    field<&Strategy::freeze_step>({.name = "freeze_step", .min = 1, .max = 1e9,
        .help = "Steps of the warm-up, which is ordinary Adam; the step that is predicted comes behind them.",
        .origin = "DeepSpeed (OneBitAdam)"}),
    field<&Strategy::recompute>({.name = "recompute", .words = recomputes,
        .help = "What the backward pass computes again; selective: attention, or recompute_modules.",
        .others = {megatron("recompute_granularity")},
        .origin = "Korthikanti et al. 2022, arXiv:2205.05198"}),
    field<&Strategy::recompute_modules>({.name = "recompute_modules",
        .help = "What selective recomputation repeats, by names between commas: core_attn, mla_up_proj, layernorm, "
                "moe_act, mlp, shared_experts, moe.",
        .when_absent = "core_attn", .origin = "Megatron-LM"}),
    field<&Strategy::recompute_num_layers>({.name = "recompute_num_layers", .min = 0, .max = max_layers,
        .help = "Layers of each chunk that full recomputation repeats; 0: all.",
        .origin = "Megatron-LM"}),
    field<&Strategy::checkpoint_policy>({.name = "checkpoint_policy", .words = policies,
        .help = "What a layer that full recomputation repeats keeps all the same; every_second_mm: results of fused "
                "attention, of the first of each two products, and of reduce-scatters (TorchTitan's "
                "selective_ac_option \"op\"); save_only_these_names: checkpoint_names.",
        .origin = "PyTorch (create_selective_checkpoint_contexts); TorchTitan; JAX (jax.checkpoint_policies)"}),
    field<&Strategy::checkpoint_names>({.name = "checkpoint_names",
        .help = "Results that save_only_these_names keeps, by MaxText's names between commas: query_proj, key_proj, "
                "value_proj, query_wa_proj, kv_wa_proj, context (attention's), out_proj, mlpwi_0, mlpwi_1, mlpwo, "
                "and of experts moe_mlpwi_0, moe_mlpwi_1, moe_mlpwo.",
        .when_absent = "none", .origin = "MaxText (remat_policy)"}),
    field<&Strategy::recompute_early_stop>({.name = "recompute_early_stop",
        .help = "A layer or module that recomputation repeats stops where its backward needs nothing more, without "
                "dropout before the last product: PyTorch's non-reentrant checkpoint since 2.1, of PyTorch's own "
                "products; JAX.",
        .origin = "PyTorch (torch.utils.checkpoint, early_stop); JAX (jax.checkpoint)"}),
    field<&Strategy::synchronize_checkpoints>({.name = "synchronize_checkpoint_boundary",
        .help = "The host waits for the device where each layer that full recomputation repeats begins and ends.",
        .origin = "DeepSpeed; synchronize-each-layer of GPT-NeoX"}),
    field<&Strategy::cpu_offloading_num_layers>({.name = "cpu_offloading_num_layers", .min = 0, .max = max_layers,
        .help = "The first so many layers of each chunk keep in host memory what their backward needs; 0: none.",
        .origin = "Megatron-LM"}),
    field<&Strategy::offload_names>({.name = "offload_names",
        .help = "Of what offloaded layers keep, the results that go to host memory: decoder_layer_input, which is "
                "their input, and some of checkpoint_names. The rest stays.",
        .when_absent = "all", .origin = "JAX (save_and_offload_only_these_names); MaxText (remat_policy)"}),
    field<&Strategy::optimizer_cpu_offload>({.name = "optimizer_cpu_offload",
        .help = "The optimizer's states lie in host memory, and the host's processor updates them.",
        .origin = "Ren et al. 2021, arXiv:2101.06840 (ZeRO-Offload); Megatron-LM"}),
    field<&Strategy::optimizer_offload_fraction>({.name = "optimizer_offload_fraction", .min = 0, .max = 1,
        .help = "Of the states, the part that is offloaded where optimizer_cpu_offload is true.",
        .origin = "Megatron-LM"}),
    field<&Strategy::overlap_optimizer_copies>({.name = "overlap_cpu_optimizer_d2h_h2d",
        .help = "Gradients go to an offloaded optimizer, and weights come back, bucket by bucket beside its updates.",
        .origin = "arXiv:2101.06840, section 4; Megatron-LM"}),
    field<&Strategy::optimizer_device>({.name = "offload_optimizer_device", .words = optimizer_devices,
        .help = "Where an offloaded optimizer's states lie: in host memory, or on the node's own drives, whose rates "
                "are storage.nvme_read_rate and nvme_write_rate.",
        .origin = "Rajbhandari et al. 2021, arXiv:2104.07857 (ZeRO-Infinity); DeepSpeed"}),
    field<&Strategy::pipeline_read>({.name = "offload_optimizer_pipeline_read",
        .help = "States on drives are read beside the update before theirs.",
        .origin = "DeepSpeed (pipeline_read of offload_optimizer)"}),
    field<&Strategy::pipeline_write>({.name = "offload_optimizer_pipeline_write",
        .help = "States on drives are written beside the update behind theirs.",
        .origin = "DeepSpeed (pipeline_write of offload_optimizer)"}),
    field<&Strategy::param_device>({.name = "offload_param_device", .words = param_devices,
        .help = "Where a rank's shares of weights lie under zero3 while nobody uses them: cpu is host memory, nvme the "
                "node's own drives.",
        .origin = "arXiv:2104.07857; DeepSpeed"}),
    field<&Strategy::first_stage_layers>({.name = "num_layers_in_first_pipeline_stage", .min = 0, .max = max_layers,
        .help = "Layers of the first stage, where it has fewer or more than the others; 0: as many.",
        .others = {megatron("decoder_first_pipeline_num_layers")},
        .origin = "Megatron-LM",
        .published = "switches.decoder-first-pipeline-num-layers"}),
    field<&Strategy::last_stage_layers>({.name = "num_layers_in_last_pipeline_stage", .min = 0, .max = max_layers,
        .help = "Layers of the last stage, where it has fewer or more than the others; 0: as many.",
        .others = {megatron("decoder_last_pipeline_num_layers")},
        .origin = "Megatron-LM",
        .published = "switches.decoder-last-pipeline-num-layers"}),
    field<&Strategy::embedding_as_layer>({.name = "account_for_embedding_in_pipeline_split",
        .help = "The embedding counts as a layer when layers are divided among stages.",
        .origin = "Megatron-LM",
        .published = "switches.account-for-embedding-in-pipeline-split"}),
    field<&Strategy::loss_as_layer>({.name = "account_for_loss_in_pipeline_split",
        .help = "The logits and the loss count as a layer when layers are divided among stages.",
        .origin = "Megatron-LM",
        .published = "switches.account-for-loss-in-pipeline-split"}),
    field<&Strategy::pipeline_layers>({.name = "pipeline_layers",
        .help = "Layers of each stage, such as 10,12,12,11; with chunks those of all first chunks, then of all second "
                "ones.",
        .when_absent = "as many on each",
        .origin = "Megatron-LM (pipeline_model_parallel_layout)"}),
    field<&Strategy::replica_micro_batches>({.name = "replica_micro_batches",
        .help = "Micro-batches of a step on each data rank, such as 3,3,1,1, or 2x3,2x1: two ranks 3 each, two 1 each. "
                "For GPUs of several kinds, in the order of data ranks.",
        .when_absent = "as many on each",
        .origin = "Jia et al., USENIX ATC'22, section 3.3 (Whale)"}),
    field<&Strategy::overlap_grad_reduce>({.name = "overlap_grad_reduce",
        .help = "Gradients are reduced beside the backward pass; else all at its end. Under zero2 and zero3 bucket by "
                "bucket in any case: without it the layers wait for each.",
        .origin = "Megatron-LM"}),
    field<&Strategy::overlap_param_gather>({.name = "overlap_param_gather",
        .help = "Parameters are gathered beside the forward pass; needs zero1 or zero2.",
        .origin = "Megatron-LM"}),
    field<&Strategy::overlap_p2p>({.name = "overlap_p2p",
        .help = "Messages between stages run beside computation; needs the interleaved schedule.",
        .others = {megatron("overlap_p2p_communication")},
        .origin = "Megatron-LM"}),
    field<&Strategy::scatter_gather>({.name = "scatter_gather",
        .help = "Tensor ranks send 1/tensor of a boundary tensor each (SC'21, section 4.1).",
        .others = {megatron("scatter_gather_tensors_in_pipeline")},
        .origin = "Narayanan et al., SC'21"}),
    field<&Strategy::async_tensor_allreduce>({.name = "async_tensor_allreduce",
        .help = "A column-parallel layer's backward collectives run beside its weight gradient; on a grid of tensor "
                "ranks blocks come beside the product before theirs.",
        .when_absent = "true; false where software is pytorch, or deepspeed without sequence_parallel",
        .origin = "Megatron-LM"}),
    field<&Strategy::recompute_allgather>({.name = "tp_recompute_allgather",
        .help = "Under sequence parallelism a column-parallel layer keeps a rank's part of its input, and its backward "
                "gathers the whole once more; false: the whole is kept, as autograd does.",
        .when_absent = "true; false where software is pytorch",
        .origin = "nanotron (ParallelismArgs)"}),
    field<&Strategy::batch_first>({.name = "batch_first",
        .help = "Activations lie as [batch, sequence, hidden]: under sequence parallelism what tensor ranks gather is "
                "copied into the order of sequences, and what they scatter into the order of ranks; false: "
                "[sequence, batch, hidden], which needs no copies.",
        .when_absent = "false; true where software is pytorch",
        .origin = "PyTorch (torch/distributed/_functional_collectives.py)"}),
    field<&Strategy::prepare_module_input>({.name = "tp_prepare_module_input",
        .help = "What queries, keys and values, or a gate and its neighbour, read where each is a product of its own "
                "(fuse_attention_qkv, fuse_attention_ffn) is gathered for all at once among tensor ranks, and the sum "
                "of its gradients reduced; false: for each by itself, as where a plan names ColwiseParallel layers "
                "alone. torch.compile gathers the same input once in any case.",
        .origin = "PyTorch (torch.distributed.tensor.parallel, PrepareModuleInput)"}),
    field<&Strategy::loss_parallel>({.name = "loss_parallel",
        .help = "Tensor ranks form the loss over their own words and agree on sums; false: each gathers the logits of "
                "all words and forms the whole loss (TorchTitan's disable_loss_parallel).",
        .origin = "PyTorch (torch.distributed.tensor.parallel, loss_parallel)"}),
    bytes_field<&Strategy::bucket_bytes>({.name = "bucket_size", .min = 1e6, .max = 1e12,
        .help = "Gradients that are reduced at once.",
        .origin = "arXiv:2006.15704"}),
    field<&Strategy::placement>({.name = "placement",
        .help = "Where ranks run: linear, round_robin, row, column, average; an order of axes, the fastest first, such "
                "as tp-cp-ep-dp-pp; or GPU numbers by rank, such as 0-3,8-11.",
        .when_absent = "rank r on GPU r",
        .others = {megatron("use_tp_pp_dp_mapping", "\"tp-cp-ep-pp-dp\"")},
        .origin = "Megatron-LM; Jia et al., USENIX ATC'22 (Whale)"}),
    field<&Strategy::placement_file>({.name = "placement_file",
        .help = "Path of a list of GPU numbers by rank, text or JSON, relative to this file.",
        .when_absent = "none",
        .origin = "Jia et al., USENIX ATC'22 (Whale)"}),
};
static_assert(of_strategy.size() == documents::members_of<Strategy> - 1 + documents::members_of<FullSharding>,
              "a field without a description");
// clang-format on

}  // namespace

std::span<const documents::Field<Strategy>> strategy_fields() { return of_strategy; }

}  // namespace orrery::strategies
