#include "planning/search/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "base/error.hpp"
#include "base/text.hpp"
#include "documents/message.hpp"
#include "strategies/plan_keys.hpp"
#include "strategies/stage_split.hpp"
#include "strategies/step_limits.hpp"

namespace orrery::planning {

namespace {

using std::uint64_t;
using strategies::counted_layers;
using strategies::Module;
using strategies::ModuleSet;
using strategies::Plan;
using strategies::Recompute;
using strategies::ScheduleKind;
using strategies::Sharding;

constexpr const char* pipelines_first = "tp-cp-ep-pp-dp";

Values divisors(uint64_t of) {
    Values list;
    for (uint64_t d = 1; d * d <= of; ++d) {
        if (of % d != 0) continue;
        list.push_back(d);
        if (d * d != of) list.push_back(of / d);
    }
    std::ranges::sort(list);
    return list;
}

template <class Keep>
Values those(Values list, const Keep& keep) {
    std::erase_if(list, [&](uint64_t value) { return !keep(value); });
    return list;
}

Values off_and_on(bool may_be_on) { return may_be_on ? Values{0, 1} : Values{0}; }

bool recurs(const Plan& plan) { return plan.model.family == models::Family::transfo_xl; }
/// Networks that are divided among data ranks alone.
bool data_alone(const Plan& plan) { return plan.model.convolves() || recurs(plan); }
bool experts(const Plan& plan) { return plan.model.experts > 0; }
const strategies::Schedule& schedule(const Plan& plan) { return strategies::schedule_of(plan.strategy.schedule); }
/// Of the fullest chunk.
uint64_t layers_of_chunk(const Plan& plan) {
    if (plan.model.two_stacks()) return strategies::chunk_sizes(plan).second;
    return counted_layers(plan) / (uint64_t{plan.strategy.pipeline} * plan.strategy.virtual_pipeline);
}

Values tensors(const Plan& plan, const Room& room) {
    if (data_alone(plan)) return {1};
    uint64_t common = 0;
    for (const uint64_t width : {plan.model.heads, plan.model.kv_heads, plan.model.ffn, plan.model.mamba.groups,
                                 plan.model.text.heads, plan.model.text.ffn})
        common = std::gcd(common, width);  // of 0 groups the others'
    return those(divisors(common), [&](uint64_t t) { return t <= room.gpus; });
}

/// The scenario's own, unless others are asked for: each would double the plans, and few sequences are so long. None
/// where tensor ranks leave them no heads to exchange.
Values contexts(const Plan& plan, const Room&) {
    const strategies::Strategy& s = plan.strategy;
    const bool all = s.context_exchange == strategies::ContextExchange::a2a;
    return plan.divide_heads(all ? s.context : plan.context_heads()) ? Values{s.context} : Values{};
}

bool stays_whole(const Plan& plan) { return data_alone(plan) || plan.model.two_stacks(); }

/// Equal stages, or a layer less on the first and on the last, which have the embedding and the loss.
Values embedding_layers(const Plan& plan, const Room& room) { return off_and_on(!stays_whole(plan) && room.gpus > 1); }
Values loss_layers(const Plan& plan, const Room&) { return {plan.strategy.embedding_as_layer ? 1U : 0U}; }

Values pipelines(const Plan& plan, const Room& room) {
    if (stays_whole(plan)) return {1};
    const uint64_t layers = counted_layers(plan), least = layers > plan.model.layers ? 2 : 1;
    return those(divisors(layers), [&](uint64_t p) {
        return p >= least && p * plan.strategy.tensor * plan.strategy.context <= room.gpus;
    });
}

/// As many as there is room for and the batch can be divided among, where that leaves few enough GPUs idle.
Values datas(const Plan& plan, const Room& room) {
    const uint64_t replica = uint64_t{plan.strategy.tensor} * plan.strategy.context * plan.strategy.pipeline;
    uint64_t data = room.gpus / replica;
    while (data > 0 && plan.training.global_batch % data != 0) --data;
    const bool enough = static_cast<double>(data * replica) >= (1 - room.idle) * room.gpus;
    return data > 0 && enough ? Values{data} : Values{};
}

Values expert_tensors(const Plan& plan, const Room&) {
    if (!experts(plan) || plan.strategy.tensor == 1) return {0};
    const uint64_t t = plan.strategy.tensor;
    const bool splits = plan.model.expert_ffn % t == 0 && plan.model.shared_expert_ffn % t == 0;
    return splits ? Values{0, 1} : Values{1};
}

Values expert_ranks(const Plan& plan, const Room&) {
    if (!experts(plan)) return {1};
    Plan other = plan;
    return those(divisors(plan.model.experts), [&](uint64_t e) {
        other.strategy.expert = static_cast<std::uint32_t>(e);
        const bool whole = !other.experts_split() && e % plan.strategy.tensor != 0;
        return !whole && other.experts_cover_context() && plan.strategy.data % other.expert_extent() == 0;
    });
}

Values micro_batches(const Plan& plan, const Room&) {
    const uint64_t share = plan.training.global_batch / plan.strategy.data;
    return those(divisors(share), [&](uint64_t b) {
        if (plan.model.text.layers > 0 && b != share) return false;  // all are compared at once
        return b * (uint64_t{plan.training.seq} + plan.training.decoder_seq) <= strategies::most_tokens &&
               strategies::layer_passes(plan.model, static_cast<double>(share / b)) <= strategies::most_passes;
    });
}

bool interleaves(const Plan& plan, uint64_t chunks) {
    return chunks > 1 && plan.strategy.pipeline > 1 && plan.micro_batches() % plan.strategy.pipeline == 0;
}

/// Not those that train otherwise, with older weights, nor those whose bounds are not known; they may be asked for.
bool searched(const strategies::Schedule& row) {
    return !row.asynchronous && row.order == strategies::ChunkOrder::wraps;
}

/// With one stage they are all the same.
Values schedules(const Plan& plan, const Room&) {
    if (plan.strategy.pipeline == 1) return {static_cast<uint64_t>(ScheduleKind::one_f_one_b)};
    Values list;
    for (const strategies::Schedule& row : strategies::schedules)
        if (searched(row) && (!row.chunked || interleaves(plan, counted_layers(plan) / plan.strategy.pipeline)))
            list.push_back(static_cast<uint64_t>(row.kind));
    return list;
}

Values chunks(const Plan& plan, const Room&) {
    if (!schedule(plan).chunked) return {1};
    if (const uint64_t demanded = schedule(plan).chunks; demanded > 0) return {demanded};
    return those(divisors(counted_layers(plan) / plan.strategy.pipeline),
                 [&](uint64_t v) { return interleaves(plan, v); });
}

Values recomputes(const Plan& plan, const Room&) {
    if (data_alone(plan)) return {static_cast<uint64_t>(Recompute::none)};
    Values list;
    for (const Recompute mode : {Recompute::none, Recompute::selective, Recompute::full})
        if (mode != Recompute::full || !schedule(plan).splits_backward()) list.push_back(static_cast<uint64_t>(mode));
    return list;
}

/// Attention's core, as the key's absence means.
Values recomputed_modules(const Plan&, const Room&) { return {0}; }

/// Every set of modules that the model's layers have, none of them inside another.
Values sets_of_modules(const Plan& plan, const Room&) {
    if (plan.strategy.recompute != Recompute::selective || schedule(plan).splits_backward()) return {0};
    const models::ModelSpec& model = plan.model;
    const bool sparse = experts(plan), dense = !sparse || model.layers > model.moe_layers();
    std::vector<Module> there{Module::core_attn, Module::layernorm};
    if (model.kv_lora_rank > 0) there.push_back(Module::mla_up_proj);
    if (dense) there.push_back(Module::mlp);
    if (sparse) there.insert(there.end(), {Module::moe_act, Module::moe});
    if (model.shared_expert_ffn > 0) there.push_back(Module::shared_experts);
    Values list;
    for (uint64_t chosen = 1; chosen < uint64_t{1} << there.size(); ++chosen) {
        ModuleSet set;
        for (std::size_t i = 0; i < there.size(); ++i)
            if ((chosen >> i & 1) != 0) set |= there[i];
        const bool nested = set.has(Module::moe) && set.meets(ModuleSet(Module::moe_act) | Module::shared_experts);
        if (!nested) list.push_back(set.bits());
    }
    return list;
}

Values recomputed_layers(const Plan& plan, const Room&) {
    Values list{0};  // all
    if (plan.strategy.recompute == Recompute::full)
        for (uint64_t n = layers_of_chunk(plan); n-- > 1;) list.push_back(n);
    return list;
}

Values sequence_parallels(const Plan& plan, const Room&) {
    const uint64_t tensor = plan.strategy.tensor;
    if (tensor == 1 || plan.model.image.patch > 0) return {0};
    const bool divides =
        plan.rank_seq() % tensor == 0 && plan.rank_seq(models::Sequence::decoded) % tensor == 0;  // 0 of one stack
    if (experts(plan)) return divides ? Values{1} : Values{};
    return off_and_on(divides);
}

Values tensor_overlaps(const Plan& plan, const Room&) { return plan.strategy.tensor > 1 ? Values{1, 0} : Values{1}; }

/// Off, unless it is asked for: it needs a library of its own.
Values product_overlaps(const Plan&, const Room&) { return {0}; }

/// Under sequence parallelism boundary tensors are in parts anyway.
Values scatter_gathers(const Plan& plan, const Room&) {
    const strategies::Strategy& s = plan.strategy;
    return s.tensor > 1 && s.pipeline > 1 && !s.sequence_parallel ? Values{1, 0} : Values{1};
}

Values message_overlaps(const Plan& plan, const Room&) { return off_and_on(plan.strategy.virtual_pipeline > 1); }

Values placements(const Plan& plan, const Room&) {
    return off_and_on(plan.strategy.data > 1 && plan.strategy.pipeline > 1);
}

/// None, and a quarter, half, three quarters and all of the layers of a chunk.
Values offloaded_layers(const Plan& plan, const Room& room) {
    if (!room.hosts || data_alone(plan) || plan.model.text.layers > 0 || schedule(plan).splits_backward()) return {0};
    constexpr uint64_t parts = 4;
    Values list{0};
    const uint64_t chunk = layers_of_chunk(plan) - (counted_layers(plan) > plan.model.layers ? 1 : 0);  // the first
    for (uint64_t part = 1; part <= parts; ++part)
        if (const uint64_t layers = (chunk * part + parts - 1) / parts; layers != list.back()) list.push_back(layers);
    return list;
}

/// Another trade of time for memory, as offloaded layers are: only where it is asked for.
Values offloaded_optimizers(const Plan&, const Room&) { return {0}; }

Values shardings(const Plan& plan, const Room&) {
    if (plan.strategy.data * plan.strategy.context == 1) return {static_cast<uint64_t>(Sharding::none)};
    Values list;
    for (const strategies::ShardingRow& row : strategies::shardings)
        if (!recurs(plan) || row.kind != Sharding::zero3) list.push_back(static_cast<uint64_t>(row.kind));
    return list;
}

/// All ranks share, unless other numbers are asked for.
Values instances(const Plan&, const Room&) { return {1}; }

Values gradient_overlaps(const Plan& plan, const Room&) {
    return off_and_on(plan.strategy.data * plan.strategy.context > 1);
}

Values gather_overlaps(const Plan& plan, const Room&) {
    using strategies::Placement;
    const strategies::Kept& kept = row_of(plan.strategy.sharding).kept;
    const bool gathers = kept.states != Placement::replicated && kept.weights == Placement::replicated;
    return off_and_on(plan.strategy.data * plan.strategy.context > 1 && plan.strategy.overlap_grad_reduce && gathers);
}

template <auto member>
void set(Plan& plan, uint64_t value) {
    auto& to = plan.strategy.*member;
    to = static_cast<std::remove_cvref_t<decltype(to)>>(value);
}
void set_micro_batch(Plan& plan, uint64_t value) { plan.training.micro_batch = static_cast<std::uint32_t>(value); }
/// Whole, with copies beside the updates: nothing is slower for it.
void set_optimizer_offload(Plan& plan, uint64_t value) {
    plan.strategy.optimizer_cpu_offload = plan.strategy.overlap_optimizer_copies = value != 0;
    plan.strategy.optimizer_offload_fraction = 1;
}
void set_modules(Plan& plan, uint64_t value) {
    ModuleSet set;
    for (std::size_t i = 0; i < strategies::module_names.size(); ++i)
        if ((value >> i & 1) != 0) set |= static_cast<Module>(i);
    plan.strategy.recompute_modules = to_text(set);
}
void set_placement(Plan& plan, uint64_t value) { plan.strategy.placement = value == 0 ? "" : pipelines_first; }

std::optional<uint64_t> number(std::string_view text) {
    std::uint32_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}
std::optional<uint64_t> positive(std::string_view text) {
    const auto value = number(text);
    return value == 0 ? std::nullopt : value;
}
std::optional<uint64_t> flag(std::string_view text) {
    if (text == "true") return 1;
    if (text == "false") return 0;
    return std::nullopt;
}
std::optional<uint64_t> schedule_named(std::string_view text) {
    for (const strategies::Schedule& row : strategies::schedules)
        if (row.name == text) return static_cast<uint64_t>(row.kind);
    return std::nullopt;
}
std::optional<uint64_t> recompute_named(std::string_view text) {
    constexpr std::array<std::string_view, 3> names{"none", "selective", "full"};
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) return std::nullopt;
    return static_cast<uint64_t>(found - names.begin());
}
std::optional<uint64_t> modules_of(std::string_view text) {
    const auto named = strategies::modules_named(text);
    return named ? std::optional<uint64_t>(named->bits()) : std::nullopt;
}
std::optional<uint64_t> sharding_named(std::string_view text) {
    for (const strategies::ShardingRow& row : strategies::shardings)
        if (row.name == text) return static_cast<uint64_t>(row.kind);
    return std::nullopt;
}
std::optional<uint64_t> placement_named(std::string_view text) {
    if (text == "linear" || text == "tp-cp-ep-dp-pp") return 0;
    if (text == pipelines_first) return 1;
    return std::nullopt;
}

using strategies::Strategy;

constexpr std::array table{
    Row{"strategy.tensor", tensors, set<&Strategy::tensor>, positive},
    Row{"strategy.context", contexts, set<&Strategy::context>, positive, nullptr, true},
    Row{"strategy.account_for_embedding_in_pipeline_split", embedding_layers, set<&Strategy::embedding_as_layer>, flag},
    Row{"strategy.account_for_loss_in_pipeline_split", loss_layers, set<&Strategy::loss_as_layer>, flag},
    Row{"strategy.pipeline", pipelines, set<&Strategy::pipeline>, positive},
    Row{"strategy.data", datas, set<&Strategy::data>, positive},
    Row{"strategy.expert_tensor", expert_tensors, set<&Strategy::expert_tensor>, number},
    Row{"strategy.expert", expert_ranks, set<&Strategy::expert>, positive},
    Row{"training.micro_batch_size", micro_batches, set_micro_batch, positive},
    Row{"strategy.schedule", schedules, set<&Strategy::schedule>, schedule_named},
    Row{"strategy.virtual_pipeline", chunks, set<&Strategy::virtual_pipeline>, positive},
    Row{"strategy.recompute", recomputes, set<&Strategy::recompute>, recompute_named},
    Row{"strategy.recompute_modules", recomputed_modules, set_modules, modules_of, sets_of_modules, true},
    Row{"strategy.recompute_num_layers", recomputed_layers, set<&Strategy::recompute_num_layers>, number},
    Row{"strategy.sequence_parallel", sequence_parallels, set<&Strategy::sequence_parallel>, flag},
    Row{"strategy.tp_comm_overlap", product_overlaps, set<&Strategy::tensor_comm_overlap>, flag, nullptr, true},
    Row{"strategy.async_tensor_allreduce", tensor_overlaps, set<&Strategy::async_tensor_allreduce>, flag},
    Row{"strategy.scatter_gather", scatter_gathers, set<&Strategy::scatter_gather>, flag},
    Row{"strategy.overlap_p2p", message_overlaps, set<&Strategy::overlap_p2p>, flag},
    Row{"strategy.placement", placements, set_placement, placement_named},
    Row{"strategy.cpu_offloading_num_layers", offloaded_layers, set<&Strategy::cpu_offloading_num_layers>, number},
    Row{"strategy.optimizer_cpu_offload", offloaded_optimizers, set_optimizer_offload, flag, nullptr, true},
    Row{"strategy.sharding", shardings, set<&Strategy::sharding>, sharding_named},
    Row{"strategy.num_distributed_optimizer_instances", instances, set<&Strategy::optimizer_instances>, positive,
        nullptr, true},
    Row{"strategy.overlap_grad_reduce", gradient_overlaps, set<&Strategy::overlap_grad_reduce>, flag},
    Row{"strategy.overlap_param_gather", gather_overlaps, set<&Strategy::overlap_param_gather>, flag},
};

std::size_t find_row(std::string_view key) {
    return static_cast<std::size_t>(std::ranges::find(table, key, &Row::key) - table.begin());
}

}  // namespace

std::span<const Row> rows() { return table; }

bool Space::has_row(std::string_view key) { return find_row(key) < table.size(); }

void Space::give(std::string_view key, const std::vector<std::string>& texts) {
    const std::size_t row = find_row(key);
    if (row == table.size()) {
        std::vector<std::string_view> names;
        for (const Row& each : table) names.push_back(each.key);
        throw Error(fmt::format("\"{}\" is no axis of plans", documents::printable(key)),
                    fmt::format("those are {}", join(names)));
    }
    if (texts.size() == 1 && texts.front() == "any" && table[row].every != nullptr) {
        offers_[row] = table[row].every;
        unusual_ = true;  // a given row before may lead to values that are not legal
        return;
    }
    Values values;
    for (const std::string& text : texts) {
        const auto value = table[row].parse(text);
        if (!value)
            throw Error(fmt::format("\"{}\" is no value of {}", documents::printable(text), key),
                        "docs/scenario.md lists what each key takes");
        values.push_back(*value);
    }
    given_[row] = std::move(values);
    unusual_ = true;
}

bool Space::keeps(const Plan& plan, void (*rules)(const Plan&)) const {
    const strategies::Strategy& s = plan.strategy;
    if (uint64_t{s.tensor} * s.context * s.pipeline * s.data > room_.gpus) return false;
    try {
        rules(plan);
        return true;
    } catch (const Error&) {
        return false;
    }
}

bool Space::legal(const Plan& plan) const {
    return keeps(plan, [](const Plan& whole) { strategies::validate(whole); });
}

bool Space::goes_together(const Plan& plan) const {
    return keeps(plan, [](const Plan& whole) { strategies::check_together(whole); });
}

}  // namespace orrery::planning
