// What a plan takes at least, without simulating it: seconds of a step that no schedule of its operations undercuts,
// and bytes that some GPU must hold.
//
// Each term follows from the step program alone. A stage's calls share its compute lane, so that their times add up;
// before its first call a forward has gone through the stages before it, and behind its last backward a gradient goes
// back through them; where the host waits for messages (schedules without overlap) these stand between calls; gradients
// and parameters move behind the last backward as far as nothing can hide them; calls wait for copies to the host and
// back that take longer than what runs beside them, and for sums of gradients without overlap; kernels are slower
// beside the data lane, which carries what it must. Calls take what they take alone on a free device, messages and
// collectives what they take on free links: contention and waiting only add. So a bound is never above the simulated
// step (tests/planning holds all of it against it).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "planning/search/layer_table.hpp"
#include "planning/search/update_times.hpp"

namespace orrery::planning {

/// Layer tables of all threads: what one has worked out the others find.
class LayerTables {
public:
    /// kind: as LayerTable has it.
    std::shared_ptr<const LayerTable> find(const strategies::Plan& plan, const Prices& prices,
                                           std::optional<std::uint32_t> kind = {});

private:
    std::mutex mutex_;
    std::map<std::pair<LayerTable::Key, std::optional<std::uint32_t>>, std::shared_ptr<const LayerTable>> known_;
};

/// The way of a replica through its stages: its layers on the kinds of GPU that it has there.
struct ReplicaPath {
    std::vector<std::shared_ptr<const LayerTable>> layers;  ///< by stage
    bool first = true;  ///< of the first replica, whose messages are known; those of others count as none
};

struct Bound {
    double seconds = 0;
    std::uint64_t bytes = 0;  ///< of the fuller of the first and the last stage
};

/// Not for several threads: each has its own. Plans that follow each other should differ in the last rows of the space
/// first (space.hpp): what only the rows before decide is then worked out once.
class Bounds {
public:
    Bounds(const Site& site, LayerTables& tables)
        : tables_(tables), prices_(site), lost_(prices_.least_contention()), updates_(prices_) {}

    Bound of(const strategies::Plan& plan);

private:
    [[nodiscard]] Bound of_layers(const strategies::Plan& plan) const;
    /// What one stage, the first or the last, holds and does whatever offloading, sharding and overlap of data ranks.
    struct Stage {
        std::uint32_t index = 0;
        double between = 0;       ///< its slots: messages that it waits for, and what puts their parts together
        double kernels = 0;       ///< of all its calls
        std::uint64_t turns = 0;  ///< of a forward and a backward behind it
        double behind_fill = 0;   ///< until the end of its last backward
        double first_pass = 0;    ///< until the end of its first backward
        std::vector<Run> chunks;
        std::vector<std::uint64_t> alive;  ///< by chunk: micro-batches that are kept when the first backward begins
        std::uint64_t working = 0;         ///< of the calls there
        std::uint64_t last_parameters = 0, last_experts = 0;  ///< of the layer whose backward is the first
        std::uint64_t parameters = 0, experts = 0;
    };
    /// Of offloaded layers, over all micro-batches.
    struct Copies {
        double waited = 0;   ///< what calls wait for them
        double one_way = 0;  ///< of one direction with what it cannot run beside
    };
    /// What the rows before `placement`, that one included, decide.
    struct Shape {
        std::array<std::uint32_t, 14> key{};
        std::shared_ptr<const LayerTable> layers;  ///< on whichever kind of GPU is quickest
        double through = 0;  ///< until the first stage's last backward has ended, by the stage that takes longest
        double host = 0;     ///< of the stage whose host is busiest
        Stage first, last;
        std::map<std::uint32_t, Copies> copies;  ///< of the first stage, by layers that are offloaded
    };

    void shape(const strategies::Plan& plan);
    /// Each of the plan's once: one on a cluster of one kind of GPU. All replicas end before weights are updated.
    [[nodiscard]] std::vector<ReplicaPath> paths(const strategies::Plan& plan);
    void walk(const strategies::Plan& plan, const ReplicaPath& path);
    [[nodiscard]] Stage stage(const strategies::Plan& plan, std::uint32_t index);
    [[nodiscard]] std::uint64_t bytes(const strategies::Plan& plan, const Stage& of) const;
    const Copies& copies(const strategies::Plan& plan, const Stage& of);
    /// before: until the first forward may begin; copied: what calls wait for copies.
    [[nodiscard]] double end(const strategies::Plan& plan, const Stage& of, const UpdateTimes& times, double before,
                             double copied) const;

    LayerTables& tables_;
    Prices prices_;
    double lost_;  // by kernels, of each second of a collective beside them, at least
    UpdateTable updates_;
    Shape shape_;
};

}  // namespace orrery::planning
