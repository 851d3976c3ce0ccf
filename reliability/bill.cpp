#include "reliability/bill.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "reliability/options.hpp"

namespace orrery::reliability {

namespace {

using documents::field;

constexpr double most_money = 1e9, hours_a_year = 365.25 * 24;

// clang-format off
constexpr std::array of_costs{
    field<&Costs::currency>({.name = "currency", .help = "What money is printed in."}),
    field<&Costs::gpu_hour>({.name = "price_per_gpu_hour", .min = 1e-6, .max = most_money,
        .help = "Rent of one GPU, energy included.", .when_absent = "none: no money is printed"}),
    field<&Costs::purchase>({.name = "purchase_price_per_gpu", .min = 1e-6, .max = most_money,
        .help = "Of one GPU with its part of the node. Needs years_of_use.", .when_absent = "none"}),
    field<&Costs::years_of_use>({.name = "years_of_use", .min = 0.01, .max = 100,
        .help = "Over which the purchase price is written off.", .when_absent = "none"}),
    field<&Costs::network_share>({.name = "network_share", .min = 0, .max = 10,
        .help = "Network and storage, as a share of the purchase price on top of it."}),
    field<&Costs::hosting_share>({.name = "hosting_share_per_year", .min = 0, .max = 10,
        .help = "Space, staff and maintenance of a year, as a share of the purchase price."}),
    field<&Costs::kwh>({.name = "price_per_kwh", .min = 0, .max = 1e6,
        .help = "Energy of what was purchased; rent includes it."}),
    field<&Costs::pue>({.name = "pue", .min = 1, .max = 10,
        .help = "Energy of the building over that of its machines."}),
    field<&Costs::co2_per_kwh>({.name = "co2_per_kwh", .min = 0, .max = 10,
        .help = "Of the grid, in kg; the mean of the US when absent."}),
    field<&Costs::gpu_watts>({.name = "gpu_watts", .min = 1, .max = 1e5,
        .help = "Mean draw of one GPU.", .when_absent = "its datasheet's design power"}),
    field<&Costs::host_watts>({.name = "host_watts_per_gpu", .min = 1, .max = 1e5,
        .help = "Mean draw of the node's other parts, over its GPUs.",
        .when_absent = "from nothing to what the vendor's node at its maximum leaves"}),
};
static_assert(of_costs.size() == documents::members_of<Costs>, "a field without a description");
// clang-format on

/// Of one GPU for an hour of energy.
double price(const Costs& costs, double kwh) {
    if (costs.gpu_hour > 0) return costs.gpu_hour;
    const double per_year = costs.purchase * ((1 + costs.network_share) / costs.years_of_use + costs.hosting_share);
    return per_year / hours_a_year + kwh * costs.kwh;
}

}  // namespace

std::span<const documents::Field<Costs>> costs_fields() { return of_costs; }

void check(const Costs& costs) {
    documents::check_fields(costs_fields(), costs, "/costs");
    if (costs.gpu_hour > 0 && costs.purchase > 0)
        throw Error("", "/costs/purchase_price_per_gpu", "given beside price_per_gpu_hour",
                    "keep one of price_per_gpu_hour and purchase_price_per_gpu");
    if (costs.purchase > 0 && costs.years_of_use == 0)
        throw Error("", "/costs/purchase_price_per_gpu", "says not how long the GPU is used",
                    "state costs.years_of_use, such as 4");
    const bool owned = costs.years_of_use > 0 || costs.network_share > 0 || costs.hosting_share > 0 || costs.kwh > 0;
    if (owned && costs.purchase == 0)
        throw Error("", "/costs/purchase_price_per_gpu", "is missing beside what a purchase costs further",
                    "state it, or leave years_of_use, network_share, hosting_share_per_year and price_per_kwh out");
}

double held_gpus(double gpus, std::uint32_t nodes, std::uint32_t spare_nodes, double idle_gpus) {
    const double spare = spare_nodes == Failures::as_needed ? 0 : gpus * spare_nodes / nodes;
    return gpus + std::max(spare, idle_gpus);
}

Bill bill(const Costs& costs, const hardware::Power& watts, double gpus, double seconds) {
    const double gpu = costs.gpu_watts > 0 ? costs.gpu_watts : watts.gpu;
    const double rest = std::max(0.0, watts.node - watts.gpu);
    const Range host = costs.host_watts > 0 ? Range{costs.host_watts, costs.host_watts} : Range{0, rest};
    const Range kilowatts{(gpu + host.low) * costs.pue / 1e3, (gpu + host.high) * costs.pue / 1e3};
    Bill all;
    all.gpu_hours = gpus * seconds / 3600;
    all.mwh = {all.gpu_hours * kilowatts.low / 1e3, all.gpu_hours * kilowatts.high / 1e3};
    all.co2_tonnes = {all.mwh.low * costs.co2_per_kwh, all.mwh.high * costs.co2_per_kwh};
    if (costs.kwh > 0 && gpu == 0)
        throw Error("", "/costs/price_per_kwh", "given, but what this GPU draws is not known",
                    "state costs.gpu_watts, or leave it out");
    if (costs.stated())
        all.money = {all.gpu_hours * price(costs, kilowatts.low), all.gpu_hours * price(costs, kilowatts.high)};
    return all;
}

}  // namespace orrery::reliability
