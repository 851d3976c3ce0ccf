// What refusals stand on: code, documents and papers that ask the same, each written once. A refusal that only this
// simulator needs says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

enum class Source : std::uint8_t {
    // Nobody else's rule.
    not_modelled,  ///< others may run it
    limit,         ///< of sizes
    // Whoever came up with the key that is refused: `origin` of its field.
    origin_of_key,
    // Megatron-LM's code.
    megatron_arguments,
    megatron_config,
    megatron_groups,
    megatron_layers,
    megatron_mappings,
    megatron_gradients,
    megatron_micro_batches,
    megatron_schedules,
    megatron_experts,
    megatron_mixer,
    megatron_mixer_context,
    megatron_t5,
    megatron_layer_wise,
    // DeepSpeed's code and documents.
    deepspeed_engine,
    deepspeed_pipeline,
    deepspeed_groups,
    deepspeed_quantizer,
    deepspeed_mics,
    deepspeed_order,
    deepspeed_keys,
    deepspeed_zero_plus_plus,
    // Others' code.
    engine_attention,
    engine_context,
    deepspeed_ulysses,
    engine_buffers,
    pytorch_powersgd,
    pytorch_hooks,
    pytorch_micro_pipeline,
    colossal_groups,
    colossal_layers,
    dual_pipe,
    // Papers.
    tensor_parallelism,
    sharded_states,
    compressed_momentum,
    low_rank_gradients,
    experts_by_node,
    gpipe,
    zero_bubble,
    v_shape,
    chimera,
    pipedream,
    pipedream_2bw,
    contrast,
};

/// Who says in which shapes a schedule runs.
Source source_of(ScheduleKind schedule);

/// "Megatron-LM, megatron/training/arguments.py", of a refusal of the key at that pointer. Throws std::logic_error
/// where it is the origin of a key that has none.
std::string text_of(Source source, std::string_view pointer);

/// Whether a message ends with a source, as refuse() writes it.
bool names_source(std::string_view message);

}  // namespace orrery::strategies
