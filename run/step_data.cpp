#include "run/step_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/relative_positions.hpp"
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
    ids_ = DeviceMemory(device, all_tokens(models::Sequence::only) * sizeof(std::int32_t));
    targets_ = DeviceMemory(device, predicted_tokens() * sizeof(std::int32_t));
    if (place.predicted() == models::Sequence::decoded)
        decoded_ids_ = DeviceMemory(device, predicted_tokens() * sizeof(std::int32_t));
    if (place.plan.model.takes_images())
        images_ = DeviceMemory(
            device, place.plan.pipeline_shape().all_micro_batches() * place.image_elements() * sizeof(float));
    loss_ = DeviceMemory(device, 3 * predicted_tokens() * sizeof(float));
    make_rotations();
    const models::ModelSpec& spec = place.plan.model;
    const std::vector<float> zeros(std::max({spec.ffn, spec.expert_ffn, spec.shared_expert_ffn, spec.hidden}));
    zeros_ = DeviceMemory(device, zeros.size() * sizeof(float));
    device.copy(CopyKind::host_to_device, zeros_.as<float>(), zeros.data(), zeros.size() * sizeof(float), 0);
    device.synchronize();
    if (spec.experts > 0) make_routes();
    if (place.plan.strategy.context > 1) make_head_tables();
    if (spec.relative_buckets > 0) make_position_biases();
}

void StepData::make_head_tables() {
    for (const auto& [which, rows] : head_tables(place_)) {
        const std::uint64_t bytes = rows.size() * sizeof(std::int32_t);
        others_[which] = DeviceMemory(device_, bytes);
        device_.copy(CopyKind::host_to_device, others_.at(which).as<std::int32_t>(), rows.data(), bytes, 0);
    }
    device_.synchronize();
}

/// Gradients begin as zeros, which a micro-batch's backward leaves behind as well.
void StepData::make_position_biases() {
    using models::Sequence;
    const models::ModelSpec& spec = place_.plan.model;
    const auto make = [&](Sequence of, Table distances, Table biases, Table gradients) {
        const std::int64_t seq = place_.plan.rank_seq(of);
        std::vector<std::int32_t> buckets;
        for (std::int64_t query = 0; query < seq; ++query)
            for (std::int64_t key = 0; key < seq; ++key)
                buckets.push_back(static_cast<std::int32_t>(
                    models::relative_bucket(key - query, spec.relative_buckets, of == Sequence::only)));
        const std::uint64_t bytes =
            buckets.size() * (spec.heads / place_.plan.strategy.tensor) * kernels::size_of(place_.activations());
        const std::vector<std::byte> zeros(bytes);
        others_[distances] = DeviceMemory(device_, buckets.size() * sizeof(std::int32_t));
        for (const Table which : {biases, gradients}) others_[which] = DeviceMemory(device_, bytes);
        device_.copy(CopyKind::host_to_device, others_.at(distances).as<void>(), buckets.data(),
                     buckets.size() * sizeof(std::int32_t), 0);
        device_.copy(CopyKind::host_to_device, others_.at(gradients).as<void>(), zeros.data(), bytes, 0);
        device_.synchronize();
    };
    make(Sequence::only, Table::encoded_distances, Table::encoded_biases, Table::encoded_bias_gradients);
    make(Sequence::decoded, Table::decoded_distances, Table::decoded_biases, Table::decoded_bias_gradients);
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
    const auto row = [&](models::Sequence of) { return static_cast<std::uint64_t>(micro_batch) * place_.tokens(of); };
    const auto loss_of = [&](std::uint64_t part) {
        return loss_.as<float>() + part * predicted_tokens() + row(place_.predicted());
    };
    const auto routes = [&](Table from) {
        return routes_.as<std::int32_t>() +
               route_begin_[static_cast<std::size_t>(from) - static_cast<std::size_t>(Table::copy_expert)];
    };
    switch (table) {
        case Table::ids: return ids_.as<std::int32_t>() + row(models::Sequence::only);
        case Table::decoded_ids: return decoded_ids_.as<std::int32_t>() + row(models::Sequence::decoded);
        case Table::targets: return targets_.as<std::int32_t>() + row(place_.predicted());
        case Table::loss: return loss_of(0);
        case Table::loss_sum: return loss_of(1);
        case Table::loss_picked: return loss_of(2);
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
        case Table::order_packed:
        case Table::order_results:
        case Table::return_queries:
        case Table::return_keys:
        case Table::return_results:
        case Table::join_results:
        case Table::join_packed:
        case Table::by_position:
        case Table::by_rank:
        case Table::encoded_distances:
        case Table::decoded_distances:
        case Table::encoded_biases:
        case Table::decoded_biases:
        case Table::encoded_bias_gradients:
        case Table::decoded_bias_gradients: return others_.at(table).as<void>();
        case Table::images:
            return images_.as<float>() + static_cast<std::uint64_t>(micro_batch) * place_.image_elements();
    }
    return nullptr;
}

void StepData::put(const DeviceMemory& to, const void* values, std::uint64_t bytes) {
    device_.copy(CopyKind::host_to_device, to.as<void>(), values, bytes, 0);
}

void StepData::upload(const std::vector<Images::Example>& examples) {
    std::vector<float> pixels;
    std::vector<std::int32_t> labels;
    for (const Images::Example& example : examples) {
        pixels.insert(pixels.end(), example.pixels.begin(), example.pixels.end());
        labels.push_back(example.label);
    }
    put(images_, pixels.data(), pixels.size() * sizeof(float));
    put(targets_, labels);
    device_.synchronize();
}

void StepData::upload(const std::vector<std::vector<std::int32_t>>& sequences) {
    const strategies::Plan& plan = place_.plan;
    const auto before = static_cast<std::int32_t>(place_.tensor() * (plan.padded_vocab() / plan.strategy.tensor));
    const models::Sequence predicted = place_.predicted();
    const bool decodes = predicted == models::Sequence::decoded;
    const std::uint64_t encoded = decodes ? plan.training.seq : 0;
    std::vector<std::int32_t> ids, targets, first;
    for (const auto& sequence : sequences) {
        for (std::uint64_t token = 0; token < encoded; ++token) first.push_back(sequence[token] - before);
        for (std::uint64_t token = 0; token < plan.rank_seq(predicted); ++token) {
            const std::uint64_t position = encoded + place_.position_of(token);
            ids.push_back(sequence[position] - before);
            targets.push_back(sequence[position + 1] - before);
        }
    }
    put(decodes ? decoded_ids_ : ids_, ids);
    if (decodes) put(ids_, first);
    put(targets_, targets);
    device_.synchronize();
}

std::vector<double> StepData::losses() const {
    const std::uint64_t all = predicted_tokens(), steps = place_.plan.pipeline_shape().steps, of_step = all / steps;
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
