#include "planning/partition/chain.hpp"

#include <variant>

#include "base/error.hpp"
#include "strategies/partition/tensor.hpp"
#include "strategies/state_bytes.hpp"

namespace orrery::planning {

namespace {

using strategies::Plan;

/// Numbers in what a layer hands on of one micro-batch.
double numbers(const models::Shape& shape, const Plan& plan) {
    if (const auto* const image = std::get_if<models::Image>(&shape))
        return static_cast<double>(image->elements() * plan.training.micro_batch);
    const auto& tokens = std::get<models::Tokens>(shape);
    return static_cast<double>(plan.rank_tokens(tokens.sequence) * tokens.width);
}

/// Behind each node, what later ones take of it and of those before.
std::vector<double> sent(const models::Model& model, const Plan& plan) {
    const auto nodes = static_cast<std::uint32_t>(model.nodes.size());
    std::vector<std::uint32_t> last(nodes, 0);  // who takes it last
    for (std::uint32_t node = 0; node < nodes; ++node)
        for (const std::uint32_t input : model.nodes[node].inputs) last[input] = node;
    std::vector<double> bytes(nodes, 0);
    const std::uint64_t size = kernels::size_of(activation_dtype(plan));
    for (std::uint32_t node = 0; node < nodes; ++node) {
        const double own = static_cast<double>(size) * numbers(model.layers[model.nodes[node].layer].output, plan);
        for (std::uint32_t cut = node; cut < last[node]; ++cut) bytes[cut] += own;
    }
    return bytes;
}

std::vector<ChainLayer> layers_of(const Plan& plan, const LayerTable& table) {
    require_layers_alike(plan.strategy);
    const models::Model model = models::build(plan.model);
    const std::vector<double> cuts = sent(model, plan);
    const double gradient = strategies::state_bytes(plan.training).gradient;
    std::vector<ChainLayer> layers;
    for (std::uint32_t node = 0; node < cuts.size(); ++node) {
        const Run run{node, node + 1, node + 1};
        layers.push_back({model.layers[model.nodes[node].layer].name, table.pass(run).device,
                          gradient * static_cast<double>(table.parameters(run)), cuts[node]});
    }
    return layers;
}

}  // namespace

void require_layers_alike(const strategies::Strategy& strategy) {
    if (strategy.recompute_num_layers > 0)
        throw Error("", "/strategy/recompute_num_layers",
                    "which layers run again depends on the stages that are looked for",
                    "leave it out (all run again), or set recompute to \"none\"");
}

Chain::Chain(std::vector<ChainLayer> layers) : layers_(std::move(layers)), seconds_{0}, gradients_{0} {
    for (const ChainLayer& layer : layers_) {
        seconds_.push_back(seconds_.back() + layer.seconds);
        gradients_.push_back(gradients_.back() + layer.gradients);
    }
}

Chain::Chain(const Plan& plan, const LayerTable& table) : Chain(layers_of(plan, table)) {}

}  // namespace orrery::planning
