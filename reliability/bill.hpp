// What a training takes: GPU-hours, energy, CO2, and money where prices are stated.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "documents/fields.hpp"
#include "hardware/power.hpp"

namespace orrery::reliability {

/// "costs". Money has no default; 0: not stated.
struct Costs {
    std::string currency = "USD";
    double gpu_hour = 0;       ///< price of one GPU for an hour, everything included
    double purchase = 0;       ///< price of one GPU with its part of the node
    double years_of_use = 0;   ///< over which it is written off
    double network_share = 0;  ///< of the purchase price: network and storage on top
    double hosting_share = 0;  ///< of the same, a year: space, staff, maintenance
    double kwh = 0;            ///< price of energy, on top of a purchase
    double pue = hardware::usual_pue;
    double co2_per_kwh = hardware::usual_co2_per_kwh;  ///< kg
    double gpu_watts = 0;                              ///< mean draw; 0: hardware/power.hpp
    double host_watts = 0;                             ///< the node's other parts, over its GPUs

    /// Whether money can be counted.
    [[nodiscard]] bool stated() const { return gpu_hour > 0 || purchase > 0; }
    bool operator==(const Costs&) const = default;
};
std::span<const documents::Field<Costs>> costs_fields();

/// Throws Error with pointers below "/costs": two ways to pay, or one that lacks its other half.
void check(const Costs& costs);

/// From machines that draw little to machines that draw what they can.
struct Range {
    double low = 0, high = 0;
};

struct Bill {
    double gpu_hours = 0;
    Range mwh;  ///< GPUs at their design power alone, to whole nodes at their maximum; both times PUE
    Range co2_tonnes;
    std::optional<Range> money;  ///< where prices are stated
};
/// GPUs that are paid while a job runs on `gpus` of them, of so many nodes: its spare nodes' too where they are stated
/// (Failures::as_needed: none), or those of its cluster that it leaves idle, which are its first spares.
double held_gpus(double gpus, std::uint32_t nodes, std::uint32_t spare_nodes, double idle_gpus);

/// gpus: that are held, spares too, for so many seconds. Throws Error (pointer below "/costs") where energy has a price
/// and what a GPU draws is not known.
Bill bill(const Costs& costs, const hardware::Power& watts, double gpus, double seconds);

}  // namespace orrery::reliability
