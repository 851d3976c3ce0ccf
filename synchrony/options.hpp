// What a scenario says of how its data-parallel replicas keep step with each other.
#pragma once

#include <cstdint>
#include <span>

#include "documents/fields.hpp"

namespace orrery::synchrony {

/// When a worker, which is a replica of the model, may begin its next step.
enum class Mode : std::uint8_t {
    bsp,        ///< when all have ended theirs (bulk synchronous)
    ssp,        ///< when the slowest is no more than `staleness` steps behind (Ho et al., NIPS 2013)
    asp,        ///< at once
    local_sgd,  ///< at once, and every `local_steps` steps parameters are averaged (Stich 2019)
    diloco,     ///< the same with a second optimizer for what the average changed (Douillard et al. 2023)
};

/// How parameters and gradients travel. usual: a parameter server where workers do not wait for each other.
enum class Exchange : std::uint8_t { usual, all_reduce, parameter_server };

/// Where the servers stand: on the workers' nodes, or on others of the cluster.
enum class ServerNodes : std::uint8_t { workers, own };

/// "synchrony".
struct Options {
    Mode mode = Mode::bsp;
    std::uint32_t staleness = 0;
    Exchange exchange = Exchange::usual;
    std::uint32_t servers = 0;  ///< one a node; 0: as many as the workers have nodes
    ServerNodes server_nodes = ServerNodes::workers;
    std::uint32_t local_steps = 0;
    double step_jitter = 0;     ///< standard deviation of the logarithm of a step's factor, whose mean is 1
    std::uint32_t steps = 100;  ///< of the window, of each worker in the mean

    bool operator==(const Options&) const = default;

    /// Whether workers average parameters once in a while.
    [[nodiscard]] bool averages() const { return mode == Mode::local_sgd || mode == Mode::diloco; }
    [[nodiscard]] bool serves() const {
        return exchange == Exchange::usual ? mode == Mode::ssp || mode == Mode::asp
                                           : exchange == Exchange::parameter_server;
    }
};

std::span<const documents::Field<Options>> options_fields();

/// Of Mode, as a scenario writes it.
std::string_view name(Mode mode);

/// Refuses what contradicts itself. Throws Error with pointers as in a scenario.
void check(const Options& options);

}  // namespace orrery::synchrony
