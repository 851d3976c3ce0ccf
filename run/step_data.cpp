#include "run/step_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "run/head_tables.hpp"
#include "run/routing.hpp"

namespace orrery::run {

namespace {

using kernels::CopyKind;
using strategies::Table;

/// The base of rotary positions (Su et al. 2021, section 3.2.2).
constexpr double rope_base = 10000;

/// Columns of a head that rotate.
std::uint64_t turned_columns(const models::ModelSpec& spec) {
    return spec.kv_lora_rank > 0 ? spec.rope_head_dim : spec.head_dim;
}

}  // namespace

StepData::StepData(kernels::Device& device, const Place& place) : device_(device), place_(place) {
    ids_ = DeviceMemory(device, all_tokens() * sizeof(std::int32_t));
    targets_ = DeviceMemory(device, all_tokens() * sizeof(std::int32_t));
    loss_ = DeviceMemory(device, 3 * all_tokens() * sizeof(float));
    make_rotations();
    const models::ModelSpec& spec = place.plan.model;
    const std::vector<float> zeros(std::max({spec.ffn, spec.expert_ffn, spec.shared_expert_ffn}));
    zeros_ = DeviceMemory(device, zeros.size() * sizeof(float));
    device.copy(CopyKind::host_to_device, zeros_.as<float>(), zeros.data(), zeros.size() * sizeof(float), 0);
    device.synchronize();
    if (spec.experts > 0) make_routes();
    if (place.plan.strategy.context > 1) make_head_tables();
}

void StepData::make_head_tables() {
    for (const auto& [which, rows] : head_tables(place_)) {
        const std::uint64_t bytes = rows.size() * sizeof(std::int32_t);
        heads_[which] = DeviceMemory(device_, bytes);
        device_.copy(CopyKind::host_to_device, heads_.at(which).as<std::int32_t>(), rows.data(), bytes, 0);
    }
    device_.synchronize();
}

void StepData::make_rotations() {
    const models::ModelSpec& spec = place_.plan.model;
    const std::uint64_t turned = turned_columns(spec), half = turned / 2, seq = place_.plan.rank_seq(),
                        count = seq * half;
    std::vector<float> values(2 * count);
    for (std::uint64_t p = 0; p < seq; ++p)
        for (std::uint64_t i = 0; i < half; ++i) {
            const double turn = std::pow(rope_base, -2.0 * static_cast<double>(i) / static_cast<double>(turned));
            const double angle = static_cast<double>(place_.position_of(p)) * turn;
            values[p * half + i] = static_cast<float>(std::cos(angle));
            values[count + p * half + i] = static_cast<float>(std::sin(angle));
        }
    rotations_ = DeviceMemory(device_, values.size() * sizeof(float));
    device_.copy(CopyKind::host_to_device, rotations_.as<float>(), values.data(), values.size() * sizeof(float), 0);
    device_.synchronize();
}

/// All layers with experts have the same shapes: one set of tables serves them.
void StepData::make_routes() {
    const models::ModelSpec& spec = place_.plan.model;
    const models::Experts op{.experts = spec.experts, .top_k = spec.experts_per_token, .hidden = spec.hidden};
    const RoutingTables tables = route(strategies::expert_shapes(op, place_.plan), op.experts, op.top_k);
    static_assert(sizeof(float) == sizeof(std::int32_t));
    std::vector<std::int32_t> all;
    const std::vector<float> ones(tables.source.size(), 1.0f);
    for (const auto* list : {&tables.experts, &tables.source, &tables.position, &tables.arrived, &tables.sorted}) {
        route_begin_.push_back(all.size());
        all.insert(all.end(), list->begin(), list->end());
    }
    route_begin_.push_back(all.size());
    routes_ = DeviceMemory(device_, (all.size() + ones.size()) * sizeof(std::int32_t));
    auto* const to = routes_.as<std::int32_t>();
    device_.copy(CopyKind::host_to_device, to, all.data(), all.size() * sizeof(std::int32_t), 0);
    device_.copy(CopyKind::host_to_device, to + all.size(), ones.data(), ones.size() * sizeof(float), 0);
    device_.synchronize();
}

void* StepData::at(Table table, std::int32_t micro_batch) const {
    const std::uint64_t row = static_cast<std::uint64_t>(micro_batch) * place_.tokens();
    const auto routes = [&](Table from) {
        return routes_.as<std::int32_t>() +
               route_begin_[static_cast<std::size_t>(from) - static_cast<std::size_t>(Table::copy_expert)];
    };
    switch (table) {
        case Table::ids: return ids_.as<std::int32_t>() + row;
        case Table::targets: return targets_.as<std::int32_t>() + row;
        case Table::loss: return loss_.as<float>() + row;
        case Table::loss_sum: return loss_.as<float>() + all_tokens() + row;
        case Table::loss_picked: return loss_.as<float>() + 2 * all_tokens() + row;
        case Table::rope_cos: return rotations_.as<float>();
        case Table::rope_sin:
            return rotations_.as<float>() +
                   std::uint64_t{place_.plan.rank_seq()} * (turned_columns(place_.plan.model) / 2);
        case Table::zeros: return zeros_.as<void>();
        case Table::copy_expert:
        case Table::copy_source:
        case Table::copy_row:
        case Table::arrived_row:
        case Table::sorted_row:
        case Table::ones: return routes(table);
        case Table::spread_queries:
        case Table::spread_keys:
        case Table::spread_results:
        case Table::order_queries:
        case Table::order_keys:
        case Table::return_queries:
        case Table::return_keys:
        case Table::join_results:
        case Table::join_packed:
        case Table::by_position:
        case Table::by_rank: return heads_.at(table).as<std::int32_t>();
        case Table::decoded_ids:
        case Table::images:
        case Table::encoded_distances:
        case Table::decoded_distances:
        case Table::encoded_biases:
        case Table::decoded_biases:
        case Table::encoded_bias_gradients:
        case Table::decoded_bias_gradients: break;
    }
    return nullptr;
}

void StepData::upload(const std::vector<std::vector<std::int32_t>>& sequences) {
    const strategies::Plan& plan = place_.plan;
    const auto before = static_cast<std::int32_t>(place_.tensor() * (plan.padded_vocab() / plan.strategy.tensor));
    std::vector<std::int32_t> ids, targets;
    for (const auto& sequence : sequences)
        for (std::uint64_t token = 0; token < plan.rank_seq(); ++token) {
            const std::uint64_t position = place_.position_of(token);
            ids.push_back(sequence[position] - before);
            targets.push_back(sequence[position + 1] - before);
        }
    const auto put = [&](const DeviceMemory& to, const std::vector<std::int32_t>& values) {
        device_.copy(CopyKind::host_to_device, to.as<std::int32_t>(), values.data(),
                     values.size() * sizeof(std::int32_t), 0);
    };
    put(ids_, ids);
    put(targets_, targets);
    device_.synchronize();
}

std::vector<double> StepData::losses() const {
    const std::uint64_t all = all_tokens(), steps = place_.plan.pipeline_shape().steps, of_step = all / steps;
    std::vector<float> values(3 * all);
    device_.copy(CopyKind::device_to_host, values.data(), loss_.as<float>(), values.size() * sizeof(float), 0);
    device_.synchronize();
    std::vector<double> losses(steps);
    for (std::uint64_t i = 0; i < all; ++i) {
        const double maximum = values[i], sum = values[all + i], picked = values[2 * all + i];
        losses[i / of_step] += (place_.plan.strategy.tensor == 1 ? maximum : maximum + std::log(sum) - picked) /
                               static_cast<double>(of_step);
    }
    return losses;
}

}  // namespace orrery::run
