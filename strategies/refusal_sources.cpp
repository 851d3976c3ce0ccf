#include "strategies/refusal_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/enum_table.hpp"
#include "strategies/plan_fields.hpp"

namespace orrery::strategies {

namespace {

struct Row {
    Source source;
    std::string_view text;
};

constexpr std::array rows{
    Row{Source::not_modelled, "not modelled here"},
    Row{Source::limit, "a limit of this simulator"},
    Row{Source::origin_of_key, ""},
    Row{Source::megatron_arguments, "Megatron-LM, megatron/training/arguments.py"},
    Row{Source::megatron_config, "Megatron-LM, megatron/core/transformer/transformer_config.py"},
    Row{Source::megatron_groups, "Megatron-LM, megatron/core/parallel_state.py"},
    Row{Source::megatron_layers, "Megatron-LM, megatron/core/tensor_parallel/layers.py"},
    Row{Source::megatron_mappings, "Megatron-LM, megatron/core/tensor_parallel/mappings.py"},
    Row{Source::megatron_gradients, "Megatron-LM, megatron/core/distributed/param_and_grad_buffer.py"},
    Row{Source::megatron_micro_batches, "Megatron-LM, megatron/core/num_microbatches_calculator.py"},
    Row{Source::megatron_schedules, "Megatron-LM, megatron/core/pipeline_parallel/schedules.py"},
    Row{Source::megatron_experts, "Megatron-LM, megatron/core/transformer/moe/moe_layer.py"},
    Row{Source::megatron_mixer, "Megatron-LM, megatron/core/ssm/mamba_mixer.py"},
    Row{Source::megatron_mixer_context, "Megatron-LM, megatron/core/ssm/mamba_context_parallel.py"},
    Row{Source::megatron_t5, "Megatron-LM, examples/t5/pretrain_t5.py"},
    Row{Source::megatron_layer_wise, "Megatron-LM, megatron/core/optimizer/layer_wise_optimizer.py"},
    Row{Source::deepspeed_engine, "DeepSpeed, deepspeed/runtime/engine.py"},
    Row{Source::deepspeed_pipeline, "DeepSpeed, deepspeed/runtime/pipe/engine.py"},
    Row{Source::deepspeed_groups, "DeepSpeed, deepspeed/utils/groups.py"},
    Row{Source::deepspeed_quantizer, "DeepSpeed, csrc/quantization/quantize.cu"},
    Row{Source::deepspeed_mics, "DeepSpeed, deepspeed/runtime/zero/mics.py"},
    Row{Source::deepspeed_order, "DeepSpeed, deepspeed/runtime/zero/partitioned_param_coordinator.py"},
    Row{Source::deepspeed_keys, "DeepSpeed, docs/_pages/config-json.md"},
    Row{Source::deepspeed_zero_plus_plus, "DeepSpeed, docs/_tutorials/zeropp.md"},
    Row{Source::engine_attention, "TransformerEngine, pytorch/attention/dot_product_attention/utils.py"},
    Row{Source::engine_context, "TransformerEngine, pytorch/attention/dot_product_attention/context_parallel.py"},
    Row{Source::deepspeed_ulysses, "DeepSpeed, deepspeed/runtime/sequence_parallel/ulysses_sp.py"},
    Row{Source::engine_buffers, "TransformerEngine, pytorch/module/base.py"},
    Row{Source::pytorch_powersgd, "PyTorch, torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py"},
    Row{Source::pytorch_hooks, "PyTorch, torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py"},
    Row{Source::pytorch_micro_pipeline, "PyTorch, torch/_inductor/fx_passes/micro_pipeline_tp.py"},
    Row{Source::colossal_groups, "Colossal-AI, colossalai/legacy/context/process_group_initializer"},
    Row{Source::colossal_layers, "Colossal-AI, colossalai/legacy/nn/layer"},
    Row{Source::dual_pipe, "deepseek-ai/DualPipe, dualpipe.py and dualpipev.py"},
    Row{Source::tensor_parallelism, "Shoeybi et al. 2019, arXiv:1909.08053, section 3"},
    Row{Source::sharded_states, "Rajbhandari et al. 2020, arXiv:1910.02054"},
    Row{Source::compressed_momentum, "Tang et al. 2021, arXiv:2102.02888"},
    Row{Source::low_rank_gradients, "Vogels et al. 2019, arXiv:1905.13727"},
    Row{Source::experts_by_node, "DeepSeek-AI 2024, arXiv:2412.19437, section 3.2.2"},
    Row{Source::gpipe, "Huang et al. 2019, arXiv:1811.06965"},
    Row{Source::zero_bubble, "Qi et al. 2023, arXiv:2401.10241"},
    Row{Source::v_shape, "Qi et al. 2024, arXiv:2405.15362"},
    Row{Source::chimera, "Li and Hoefler, SC'21, arXiv:2107.06925"},
    Row{Source::pipedream, "Narayanan et al., SOSP'19"},
    Row{Source::pipedream_2bw, "Narayanan et al. 2021, arXiv:2006.09503"},
    Row{Source::contrast, "Radford et al. 2021, arXiv:2103.00020"},
};
constexpr bool in_order() {
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].source != static_cast<Source>(i)) return false;
    return rows.size() == enumerators<Source>;
}
static_assert(in_order(), "a row for each source, in their order");

/// Where nobody is named, the software whose spelling of the key is read.
std::string origin_of(const documents::Key& key) {
    if (!key.origin.empty() || key.spellings().empty()) return std::string(key.origin);
    const documents::Spelling& other = key.spellings().front();
    return fmt::format("{}, {}", documents::name(other.source), other.name);
}

/// Calls use(key, pointer) for every key of a plan.
template <class Use>
void each_key(const Use& use) {
    for (const auto& field : strategy_fields()) use(field.key, fmt::format("/strategy/{}", field.key.name));
    for (const auto& field : training_fields()) use(field.key, fmt::format("/training/{}", field.key.name));
}

bool ends_with(std::string_view message, std::string_view source) {
    return !source.empty() && message.ends_with(fmt::format(" ({})", source));
}

}  // namespace

Source source_of(ScheduleKind schedule) {
    switch (schedule) {
        case ScheduleKind::gpipe: return Source::gpipe;
        case ScheduleKind::one_f_one_b:
        case ScheduleKind::interleaved: return Source::megatron_schedules;
        case ScheduleKind::zb_h1:
        case ScheduleKind::zb_h2: return Source::zero_bubble;
        case ScheduleKind::zb_v:
        case ScheduleKind::v_half:
        case ScheduleKind::v_min: return Source::v_shape;
        case ScheduleKind::chimera: return Source::chimera;
        case ScheduleKind::dual_pipe:
        case ScheduleKind::dual_pipe_v: return Source::dual_pipe;
        case ScheduleKind::pipedream:
        case ScheduleKind::pipedream_vertical_sync: return Source::pipedream;
        case ScheduleKind::pipedream_2bw: return Source::pipedream_2bw;
    }
    throw std::logic_error("no such schedule");
}

std::string text_of(Source source, std::string_view pointer) {
    if (source != Source::origin_of_key) return std::string(rows.at(static_cast<std::size_t>(source)).text);
    std::string origin;
    each_key([&](const documents::Key& key, const std::string& at) {
        if (at == pointer) origin = origin_of(key);
    });
    if (origin.empty()) throw std::logic_error(fmt::format("nobody is named as the origin of {}", pointer));
    return origin;
}

bool names_source(std::string_view message) {
    bool named = std::ranges::any_of(rows, [&](const Row& row) { return ends_with(message, row.text); });
    each_key(
        [&](const documents::Key& key, const std::string&) { named = named || ends_with(message, origin_of(key)); });
    return named;
}

}  // namespace orrery::strategies
