// Time of any kernel or collective from a profile: interpolation of efficiency between measured points.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

struct Estimate {
    double seconds = 0;
    bool extrapolated = false;  ///< outside the measured range
    /// Relative half-width: one standard deviation of the interpolation, and the range between hot and cold caches.
    /// 0: unknown (published tables).
    double uncertainty = 0;
    /// Of that, what caches make: so much longer with operands from memory, and shorter with cached ones. 0: unknown,
    /// or measured from memory alone.
    double caches = 0;
    /// What was not measured but derived, where the profile holds no kernel of the kind, and from what: "attention
    /// backward from forward". A literal; empty: measured, or interpolated between measurements.
    std::string_view derived = {};
    /// Of a kernel that a power limit may hold back (PowerLimit): seconds at the clock of its table, and of a product
    /// those at the best rate of its table, and the share of that rate that a long run of it keeps. 0: of no such.
    struct Limited {
        double free = 0, best = 0, sustained = 1;
    } limited = {};
};

/// Thread-compatible after construction; keeps a reference to the profile.
class Predictor {
public:
    explicit Predictor(const Profile& profile);
    ~Predictor();
    Predictor(Predictor&&) noexcept;

    /// Device time of one kernel at the sustained clock, without launch overhead. Continuous and never decreasing
    /// when a dimension grows by a step that needs more tiles; positive for every valid kernel.
    [[nodiscard]] Estimate kernel(const kernels::Kernel& kernel) const;

    /// The same at the clock that the table was measured at: what a measured row is compared with.
    [[nodiscard]] Estimate at_table_clock(const kernels::Kernel& kernel) const;

    /// A collective among `ranks` GPUs of one node. Monotonic in bytes; ranks between measured counts are
    /// interpolated. nvlink: bytes per second of NVLinks from a rank to the others; where a table says on how much of
    /// it it was measured, it is read at the size that took there as long on the links. 0: as measured. Throws Error
    /// when the profile has no table for the kind and no formula stands in for it.
    [[nodiscard]] Estimate collective(kernels::CollectiveKind kind, std::uint32_t ranks, double bytes,
                                      double nvlink = 0) const;

    /// A collective of just so many ranks on just so many nodes: one node as above; several by the profile's own table
    /// of them, none where it has no such table.
    [[nodiscard]] std::optional<Estimate> measured(kernels::CollectiveKind kind, std::uint32_t ranks,
                                                   std::uint32_t nodes, double bytes) const;

    /// A copy by one device that has its host to itself; nothing where the profile has no table of the kind.
    [[nodiscard]] std::optional<Estimate> copy(kernels::CopyKind kind, double bytes) const;

    /// Which rows of which table the answer was interpolated between, or which formula; for `orrery explain`.
    [[nodiscard]] std::string explain(const kernels::Kernel& kernel) const;
    [[nodiscard]] std::string explain(kernels::CollectiveKind kind, std::uint32_t ranks, double bytes,
                                      double nvlink = 0) const;

    [[nodiscard]] const Profile& profile() const;
    /// FLOP/s of the fastest row of profile().gemm[table].
    [[nodiscard]] double best_product_rate(std::size_t table) const;
    /// profile().constants.at(name).value
    [[nodiscard]] double constant(const std::string& name) const;
    /// Of an optional constant; what stands in for it where the profile has none.
    [[nodiscard]] double constant_or(const std::string& name, double otherwise) const;

private:
    struct Tables;
    std::unique_ptr<Tables> tables_;
};

/// Predicts the points kept aside (20%, whole (n, k) pairs for GEMM, every second size for collectives) from the rest.
std::map<std::string, HeldOut> held_out_errors(const Profile& profile);

}  // namespace orrery::calibrate
