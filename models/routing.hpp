// How many places a router's choice of experts takes a token to.
#pragma once

#include <cstdint>

namespace orrery::models {

/// Of `experts` a token is sent to `top_k`, every choice alike. With groups (DeepSeek-V2, arXiv:2405.04434, section
/// 2.2.2, and V3, arXiv:2412.19437, section 2.1.2: at most so many nodes) the experts lie in `groups` equal parts, and
/// those of a token in `top_groups` of them.
struct Routing {
    std::uint32_t experts = 0, top_k = 0;
    std::uint32_t groups = 1, top_groups = 1;
    bool operator==(const Routing&) const = default;
};

/// When the experts lie in `parts` equal parts (those of a rank, of a node; at least 1, at most the experts), in how
/// many of them a token has experts, on average: hypergeometric, over the groups that a part has and over their
/// experts. Groups that parts cut anew (neither divides the other) are not told apart.
double expected_parts(const Routing& routing, double parts);

}  // namespace orrery::models
