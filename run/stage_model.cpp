#include "run/stage_model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/overloaded.hpp"
#include "strategies/stage.hpp"

namespace orrery::run {

namespace {

/// The base of rotary positions (Su et al. 2021, section 3.2.2).
constexpr double rope_base = 10000;

/// The bias that GELU adds: that of the linear layer before it.
std::string bias_before(const models::Layer& layer, std::size_t i, const std::string& prefix) {
    if (i == 0) return "";
    const auto* linear = std::get_if<models::Linear>(&layer.operators[i - 1]);
    return linear != nullptr && linear->bias ? prefix + linear->name + ".bias" : "";
}

/// Whether operator i is the norm whose output a shared expert and a router take.
bool before_shared_expert(const models::Layer& layer, std::size_t i) {
    while (++i < layer.operators.size()) {
        if (const auto* experts = std::get_if<models::Experts>(&layer.operators[i])) return experts->adds_shared;
        if (std::holds_alternative<models::Norm>(layer.operators[i])) return false;
    }
    return false;
}

/// support.cpp has refused such models.
[[noreturn]] Made of_other_families() { throw std::logic_error("models of this family cannot be executed yet"); }

}  // namespace

StageModel::StageModel(kernels::Device& device, const Place& place, const RunSettings& settings)
    : device_(device), place_(place), parameters_(device, place) {
    const strategies::Plan& plan = place.plan;
    const std::uint64_t step_tokens = place.tokens() * plan.micro_batches();
    ids_ = DeviceMemory(device, step_tokens * sizeof(std::int32_t));
    targets_ = DeviceMemory(device, step_tokens * sizeof(std::int32_t));
    loss_ = DeviceMemory(device, 3 * step_tokens * sizeof(float));
    make_tables();
    data_.ids = ids_.as<std::int32_t>();
    data_.targets = targets_.as<std::int32_t>();
    data_.loss = loss_.as<float>();

    strategies::StepProgram program;
    strategies::Intern intern(program);
    const strategies::ModelBlocks blocks = strategies::add_model_blocks(program, intern, plan);
    const strategies::Stage stage = strategies::place_layers(blocks, plan, place.stage());
    const strategies::GradientBuckets buckets = strategies::gradient_buckets(stage, plan);
    for (std::size_t c = stage.chunks.size(); c-- > 0;) {
        for (std::size_t i = stage.chunks[c].size(); i-- > 0;) {
            const std::int32_t layer = stage.chunks[c][i].layer;
            parameters_.begin_layer(buckets.of_layer[c][i], buckets.of_experts[c][i]);
            const std::uint64_t before = parameters_.elements();
            add_layer(layer, blocks.model.layers[blocks.model.nodes[static_cast<std::size_t>(layer + 1)].layer]);
            if (parameters_.elements() - before != stage.chunks[c][i].blocks->parameters)
                throw std::logic_error("the operators of a layer hold other parameters than its blocks count");
        }
    }
    parameters_.allocate(settings.seed);
}

void StageModel::make_tables() {
    const models::ModelSpec& spec = place_.plan.model;
    const std::uint64_t half = spec.head_dim / 2, seq = place_.plan.training.seq, count = seq * half;
    std::vector<float> values(2 * count);
    for (std::uint64_t p = 0; p < seq; ++p)
        for (std::uint64_t i = 0; i < half; ++i) {
            const double turn = std::pow(rope_base, -2.0 * static_cast<double>(i) / spec.head_dim);
            values[p * half + i] = static_cast<float>(std::cos(static_cast<double>(p) * turn));
            values[count + p * half + i] = static_cast<float>(std::sin(static_cast<double>(p) * turn));
        }
    tables_ = DeviceMemory(device_, values.size() * sizeof(float));
    data_.cos = tables_.as<float>();
    data_.sin = data_.cos + count;
    const std::vector<float> zeros(std::max({spec.ffn, spec.expert_ffn, spec.shared_expert_ffn}));
    zeros_ = DeviceMemory(device_, zeros.size() * sizeof(float));
    using kernels::CopyKind;
    device_.copy(CopyKind::host_to_device, tables_.as<float>(), values.data(), values.size() * sizeof(float), 0);
    device_.copy(CopyKind::host_to_device, zeros_.as<float>(), zeros.data(), zeros.size() * sizeof(float), 0);
    device_.synchronize();
}

void StageModel::add_layer(std::int32_t index, const models::Layer& layer) {
    const bool block = index >= 0 && index < static_cast<std::int32_t>(place_.plan.model.layers);
    const std::string prefix = block ? "layer." + std::to_string(index) + "." : "";
    auto& made = layers_[index];
    for (std::size_t i = 0; i < layer.operators.size(); ++i) {
        if (const auto* experts = std::get_if<models::Experts>(&layer.operators[i])) {
            for (Made& piece : make_experts(*experts, prefix, place_, parameters_, device_, zeros_.as<void>()))
                made.push_back(std::move(piece));
            continue;
        }
        made.push_back(make_operator(layer, i, prefix));
    }
}

Made StageModel::make_operator(const models::Layer& layer, std::size_t i, const std::string& prefix) {
    const models::Operator* next = i + 1 < layer.operators.size() ? &layer.operators[i + 1] : nullptr;
    return std::visit(
        Overloaded{
            [&](const models::Linear& op) { return make_linear(op, next, prefix, place_, parameters_); },
            [&](const models::Embedding& op) { return make_embedding(op, place_, parameters_, data_); },
            [](const models::RelativePositions&) -> Made { return of_other_families(); },
            [&](const models::Norm& op) { return make_norm(op, before_shared_expert(layer, i), prefix, parameters_); },
            [&](const models::Rope& op) { return make_rope(op, place_, data_); },
            [&](const models::AttentionCore& op) { return make_attention(op, place_); },
            [&](const models::Activation& op) {
                return make_activation(op, bias_before(layer, i, prefix), zeros_.as<void>());
            },
            [&](const models::Experts&) -> Made { throw std::logic_error("experts are several operators"); },
            [&](const models::ResidualAdd&) { return make_residual(); },
            [&](const models::Loss&) { return make_loss(place_, data_); },
            [](const models::Convolution&) -> Made { return of_other_families(); },
            [](const models::BatchNorm&) -> Made { return of_other_families(); },
            [](const models::Relu&) -> Made { return of_other_families(); },
            [](const models::Pooling&) -> Made { return of_other_families(); },
            [](const models::Join&) -> Made { return of_other_families(); },
        },
        layer.operators[i]);
}

void StageModel::upload(const std::vector<std::vector<std::int32_t>>& sequences) {
    const strategies::Plan& plan = place_.plan;
    const auto before = static_cast<std::int32_t>(place_.tensor() * (plan.padded_vocab() / plan.strategy.tensor));
    std::vector<std::int32_t> ids, targets;
    for (const auto& sequence : sequences)
        for (std::size_t i = 0; i + 1 < sequence.size(); ++i) {
            ids.push_back(sequence[i] - before);
            targets.push_back(sequence[i + 1] - before);
        }
    using kernels::CopyKind;
    device_.copy(CopyKind::host_to_device, data_.ids, ids.data(), ids.size() * sizeof(std::int32_t), 0);
    device_.copy(CopyKind::host_to_device, data_.targets, targets.data(), targets.size() * sizeof(std::int32_t), 0);
    device_.synchronize();
}

double StageModel::loss() {
    const std::uint64_t all = place_.tokens() * place_.plan.micro_batches();
    std::vector<float> values(3 * all);
    device_.copy(kernels::CopyKind::device_to_host, values.data(), data_.loss, values.size() * sizeof(float), 0);
    device_.synchronize();
    double total = 0;
    for (std::uint64_t i = 0; i < all; ++i) {
        const double maximum = values[i], sum = values[all + i], picked = values[2 * all + i];
        total += place_.plan.strategy.tensor == 1 ? maximum : maximum + std::log(sum) - picked;
    }
    return total / static_cast<double>(all);
}

}  // namespace orrery::run
