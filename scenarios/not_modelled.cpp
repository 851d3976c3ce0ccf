#include "scenarios/not_modelled.hpp"

#include <array>

namespace orrery::scenarios {

namespace {

using documents::NotModelled;

constexpr std::string_view strategy = "strategy", scopes = "scopes", training = "training";

constexpr std::string_view exchange = "which ranks exchange heads has another name here",
                           exchange_instead = "\"context\": N with \"cp_comm_type\": \"a2a\"";
constexpr std::string_view zero_instead =
    "\"sharding\": \"zero1\" shards the optimizer's states, \"zero2\" gradients too, \"zero3\" (FSDP) weights too";
constexpr std::string_view grad_op_instead = "\"sharding\": \"zero3\" with \"fsdp_reshard_after_forward\": false";
constexpr std::string_view hybrid_instead =
    "\"sharding\": \"zero3\" with \"num_distributed_optimizer_instances\": the number of groups that share";
constexpr std::string_view bubble_instead = "\"zb-h1\", \"zb-h2\", or \"zb-v\" with virtual_pipeline 2";

constexpr std::string_view flush = "early backwards with a flush (DAPPLE, PipeDream-Flush) have another name here",
                           flush_instead = "\"1f1b\"";
constexpr std::string_view cycles =
                               "what is ready at each cycle of Horovod depends on times, which a plan does not know",
                           cycles_instead =
                               "\"bucket_size\", as much as the threshold, with \"overlap_grad_reduce\": true";

constexpr std::string_view compiled = "kernels that a compiler joins have another name here",
                           compiled_instead = "\"kernel_fusion\": \"full\" (\"operators\" where nothing is compiled)";
constexpr std::string_view
    again = "what the backward computes again has another name here",
    again_instead =
        "\"recompute\": \"full\" or \"selective\" in \"strategy\", with \"recompute_early_stop\": true "
        "for PyTorch's non-reentrant checkpoint";

constexpr std::string_view liger = "a loss that takes its tokens in parts has another name here",
                           liger_instead = "\"loss_chunks\": N, with \"cross_entropy\": \"fused\" for Liger's kernels";

constexpr std::string_view four_bits = "a frozen base in four bits has another name here",
                           four_bits_instead = "\"base_weights\": \"nf4\", with \"lora_rank\": N";

constexpr std::array table{
    NotModelled{strategy, "context_parallel", "", "the number of context ranks has another name here",
                "\"context\": N"},
    NotModelled{strategy, "hierarchical_context_parallel_sizes", "",
                "how many ranks exchange heads has another name here",
                "\"cp_comm_type\": \"a2a+p2p\" with \"ulysses_degree\": the first of them"},
    NotModelled{strategy, "ulysses_size", "", exchange, exchange_instead},
    NotModelled{strategy, "ulysses_sequence_parallel_size", "", exchange, exchange_instead},
    NotModelled{strategy, "zero_stage", "", "ZeRO's stage has another name here", zero_instead},
    NotModelled{strategy, "zero_optimization", "", "DeepSpeed's section is not read", zero_instead},
    NotModelled{strategy, "fsdp", "", "FSDP has another name here", zero_instead},
    NotModelled{strategy, "use_torch_fsdp2", "", "FSDP has another name here", zero_instead},
    NotModelled{strategy, "use_custom_fsdp", "", "FSDP has another name here", zero_instead},
    NotModelled{strategy, "use_megatron_fsdp", "", "FSDP has another name here", zero_instead},
    NotModelled{strategy, "fsdp_sharding_strategy", "", "FSDP has another name here", zero_instead},
    NotModelled{strategy, "data_parallel_sharding_strategy", "", "FSDP has another name here", zero_instead},
    NotModelled{strategy, "offload_optimizer", "", "the optimizer in host memory has another name here",
                "\"optimizer_cpu_offload\": true, with \"offload_optimizer_device\": \"nvme\" on drives"},
    NotModelled{strategy, "offload_param", "", "weights in host memory have another name here",
                "\"offload_param_device\": \"cpu\" or \"nvme\""},
    NotModelled{strategy, "sharding", "fsdp", "FSDP has another name here", zero_instead},
    NotModelled{strategy, "sharding", "fsdp2", "FSDP has another name here", zero_instead},
    NotModelled{strategy, "sharding", "hsdp", "HSDP has another name here", hybrid_instead},
    NotModelled{strategy, "sharding", "hybrid", "HSDP has another name here", hybrid_instead},
    NotModelled{strategy, "sharding", "full_shard", "FSDP has another name here", zero_instead},
    NotModelled{strategy, "sharding", "hybrid_shard", "HSDP has another name here", hybrid_instead},
    NotModelled{strategy, "sharding", "shard_grad_op", "weights that stay for the backward are said by another key",
                grad_op_instead},
    NotModelled{strategy, "horovod_fusion_threshold", "", cycles, cycles_instead},
    NotModelled{strategy, "horovod_cycle_time", "", cycles, cycles_instead},
    NotModelled{strategy, "num_communicators", "",
                "reductions on several communicators at once (EPL) share the links that one would fill",
                "\"bucket_size\" with \"overlap_grad_reduce\": true"},
    NotModelled{strategy, "schedule", "dapple", flush, flush_instead},
    NotModelled{strategy, "schedule", "pipedream-flush", flush, flush_instead},
    NotModelled{strategy, "schedule", "zero_bubble", "zero-bubble schedules have names of their own", bubble_instead},
    NotModelled{training, "load_in_4bit", "", four_bits, four_bits_instead},
    NotModelled{training, "quantize_base", "", four_bits, four_bits_instead},
    NotModelled{training, "use_liger_kernel", "", liger, liger_instead},
    NotModelled{training, "liger_fused_linear_cross_entropy", "", liger, liger_instead},
    NotModelled{training, "fused_linear_cross_entropy", "", liger, liger_instead},
    NotModelled{training, "loss_num_chunks", "", liger, liger_instead},
    NotModelled{scopes, "devices", "", "which GPU a rank runs on is said of all of them",
                "\"placement\" or \"placement_file\" in \"strategy\""},
    NotModelled{scopes, "cluster", "", "which GPU a rank runs on is said of all of them",
                "\"placement\" in \"strategy\", such as \"row\", \"column\" or \"average\""},
    NotModelled{scopes, "replicate", "", "EPL counts the GPUs of one replica, and here replicas are counted",
                "\"replica\": N"},
    NotModelled{scopes, "device_count", "", "the number stands with the scope", "\"replica\": N or \"split\": N"},
    NotModelled{scopes, "auto_parallel", "split", "how many GPUs divide a layer is not found here",
                "\"split\": N; `orrery search` finds the number"},
    NotModelled{training, "compile", "", compiled, compiled_instead},
    NotModelled{training, "torch_compile", "", compiled, compiled_instead},
    NotModelled{training, "gradient_accumulation_steps", "", "micro-batches of a step follow from its batch",
                "\"global_batch_size\": micro_batch_size x data ranks x steps"},
    NotModelled{training, "gradient_checkpointing", "", again, again_instead},
    NotModelled{training, "activation_checkpointing", "", again, again_instead},
    NotModelled{strategy, "gradient_checkpointing", "", again, again_instead},
    NotModelled{strategy, "activation_checkpointing", "", again, again_instead},
    NotModelled{training, "precision", "mxfp8", "block scales are a recipe of fp8 here",
                "\"fp8\" with \"fp8_recipe\": \"mxfp8\""},
};

}  // namespace

std::span<const documents::NotModelled> not_modelled() { return table; }

}  // namespace orrery::scenarios
