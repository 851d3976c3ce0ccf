#include "run/operators/routing.hpp"

namespace orrery::run {

RoutingTables route(const strategies::ExpertShapes& shapes, std::uint64_t experts, std::uint64_t top_k) {
    RoutingTables tables;
    const std::uint64_t copies = shapes.tokens * top_k, each = copies / experts;
    tables.source.resize(copies);
    for (std::uint64_t u = 0; u < copies; ++u) {
        const std::uint64_t expert = u % experts, row = expert * each + u / experts;
        tables.experts.push_back(static_cast<std::int32_t>(expert));
        tables.position.push_back(static_cast<std::int32_t>(row));
        tables.source[row] = static_cast<std::int32_t>(u);
    }
    // From every rank arrive `each` copies for each of this rank's experts.
    const std::uint64_t senders = shapes.rows / (shapes.experts * each);
    tables.sorted.resize(shapes.rows);
    for (std::uint64_t expert = 0; expert < shapes.experts; ++expert)
        for (std::uint64_t sender = 0; sender < senders; ++sender)
            for (std::uint64_t i = 0; i < each; ++i) {
                const std::uint64_t from = (sender * shapes.experts + expert) * each + i;
                tables.sorted[from] = static_cast<std::int32_t>(tables.arrived.size());
                tables.arrived.push_back(static_cast<std::int32_t>(from));
            }
    return tables;
}

Routing::Routing(const models::Experts& layer, const Place& place, kernels::Device& device)
    : op(layer), shapes(strategies::expert_shapes(layer, place.plan)) {
    const RoutingTables tables = route(shapes, op.experts, op.top_k);
    memory_ = DeviceMemory(device, (4 * shapes.sent + 2 * shapes.rows) * sizeof(std::int32_t));
    auto* at = memory_.as<std::int32_t>();
    const auto place_table = [&](const auto& values) {
        auto* const here = at;
        device.copy(kernels::CopyKind::host_to_device, here, values.data(), values.size() * sizeof(std::int32_t), 0);
        device.synchronize();
        at += values.size();
        return here;
    };
    experts = place_table(tables.experts);
    source = place_table(tables.source);
    position = place_table(tables.position);
    arrived = place_table(tables.arrived);
    sorted = place_table(tables.sorted);
    static_assert(sizeof(float) == sizeof(std::int32_t));
    ones = reinterpret_cast<float*>(place_table(std::vector<float>(shapes.sent, 1.0f)));
}

kernels::Settings Routing::settings() const {
    kernels::Settings settings;
    settings.top_k = op.top_k;
    return settings;
}

}  // namespace orrery::run
