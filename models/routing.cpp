#include "models/routing.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::models {

namespace {

/// The probability that `drawn` of `all`, taken at random, leave out each of `own`.
double none_drawn(double all, double own, std::uint32_t drawn) {
    double none = 1;
    for (std::uint32_t i = 0; i < drawn; ++i) none *= all - i > own ? (all - i - own) / (all - i) : 0;
    return none;
}

/// n over k, for the few groups that there are.
double choices(std::uint32_t n, std::uint32_t k) {
    if (k > n) return 0;
    double product = 1;
    for (std::uint32_t i = 0; i < k; ++i) product = product * (n - i) / (i + 1);
    return product;
}

bool divides(double whole, double part) { return std::fmod(whole, part) == 0; }

}  // namespace

double expected_parts(const Routing& routing, double parts) {
    const double experts = routing.experts, groups = routing.groups;
    const double open = experts * routing.top_groups / groups;  // experts of the groups that a token may take
    if (routing.top_groups < routing.groups && divides(parts, groups))
        return parts * routing.top_groups / groups * (1 - none_drawn(open, experts / parts, routing.top_k));
    if (routing.top_groups == routing.groups || !divides(groups, parts))
        return parts * (1 - none_drawn(experts, experts / parts, routing.top_k));
    const auto own = static_cast<std::uint32_t>(groups / parts);  // groups of a part
    double met = 0;
    for (std::uint32_t taken = 1; taken <= std::min(own, routing.top_groups); ++taken) {
        const double share = choices(own, taken) * choices(routing.groups - own, routing.top_groups - taken) /
                             choices(routing.groups, routing.top_groups);
        met += share * (1 - none_drawn(open, experts / groups * taken, routing.top_k));
    }
    return parts * met;
}

}  // namespace orrery::models
