#include "run/routing.hpp"

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

}  // namespace orrery::run
