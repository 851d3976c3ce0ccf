// Collectives inside a node: measured sweeps, monotone in bytes, interpolated between rank counts. Among nodes:
// measured sweeps of the same ranks on the same number of nodes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "calibrate/interpolate.hpp"
#include "calibrate/predictor.hpp"

namespace orrery::calibrate {

class CollectivePredictor {
public:
    explicit CollectivePredictor(const Profile& profile);
    /// Zero seconds for a single rank. Throws Error when the profile has no collective table at all, or bytes is
    /// negative or not finite.
    [[nodiscard]] Estimate estimate(kernels::CollectiveKind kind, std::uint32_t ranks, double bytes,
                                    double nvlink = 0) const;
    /// None where these ranks on these nodes have no table of this kind.
    [[nodiscard]] std::optional<Estimate> among_nodes(kernels::CollectiveKind kind, std::uint32_t ranks,
                                                      std::uint32_t nodes, double bytes) const;
    [[nodiscard]] std::string explain(kernels::CollectiveKind kind, std::uint32_t ranks, double bytes,
                                      double nvlink = 0) const;

private:
    struct Lookup {
        const CollectiveTable* table;
        Sweep seconds;
    };
    using Sweeps = std::map<std::uint32_t, Lookup>;  // by rank count
    /// How a kind without its own table is read from another's: the size there, and the share of the time.
    struct Rule {
        const Sweeps* sweeps;
        double bytes, factor;
        std::string text;
    };
    [[nodiscard]] Rule rule(kernels::CollectiveKind kind, std::uint32_t ranks, double bytes) const;
    static Estimate sweep_time(const Lookup& lookup, double bytes);
    /// The size that took as long on the links where the table was measured.
    static double size_there(const Lookup& lookup, double bytes, double nvlink);
    static double added_latency(const Sweeps& sweeps, Sweeps::const_iterator largest, std::uint32_t ranks);
    static Estimate between(const Sweeps& sweeps, std::uint32_t ranks, double bytes, double nvlink);

    std::string profile_name_;
    std::map<kernels::CollectiveKind, Sweeps> kinds_;
    std::map<std::tuple<kernels::CollectiveKind, std::uint32_t, std::uint32_t>, Lookup> among_nodes_;  // ranks, nodes
};

}  // namespace orrery::calibrate
