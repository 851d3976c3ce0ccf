// A step program as MLCommons' Chakra execution traces, one file a rank, for ASTRA-sim and other simulators (Sridharan
// et al., Chakra, arXiv 2305.14516; github.com/mlcommons/chakra, schema/protobuf/et_def.proto).
//
// Each file is one GlobalMetadata message and then a Node for each operation, every message with its length before it.
// Attributes are those that ASTRA-sim's feeder reads (src/feeder), with their types there:
//   COMP_NODE: is_cpu_op (only of what the host computes), num_ops (FLOP, at least one), tensor_size (bytes that it
//   moves) COMM_COLL_NODE: comm_type, comm_size (bytes that each rank brings, as ASTRA-sim's rings count them: of an
//       all-gather its own part, of the others the whole vector), involved_dim (all), pg_name (of groups(), by
//       number); none of a group of one rank
//   COMM_SEND_NODE, COMM_RECV_NODE: comm_src, comm_dst, comm_tag (which pairs the k-th of both sides), comm_size; a
//       ring that passes something on is one of each, the one that sends with an id behind those of all operations
//   MEM_STORE_NODE, MEM_LOAD_NODE: copies to the host and back, tensor_size
// Dependencies are data_deps: the operation before it in its lane, the last writers and readers of its buffers
// (strategies/hazards.hpp), and of a host that waits, what it waits for. The node's id is the operation's number in the
// unrolled program; waits of the host have no node. Times are left to whoever simulates, or written down (ChakraTimes):
// kernels and copies then have duration_micros (whole, at least one, so rounded that their sum over the rank is right)
// and the attribute runtime_seconds; and where the host takes time to launch, each operation waits for a COMP_NODE of
// the host's, is_cpu_op, that waits for the launch before it. Ids are then 2 x number + 1, of launches 2 x number.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/step_program.hpp"

namespace orrery::report {

/// Seconds of a rank's operation, by its number in the unrolled program.
struct ChakraTimes {
    using Seconds = std::function<double(std::uint32_t rank, std::uint32_t op)>;
    Seconds device;  ///< of kernels and copies
    Seconds launch;  ///< of the host, for any operation
};

inline constexpr std::string_view chakra_version = "0.0.4";

class ChakraTrace {
public:
    /// The step without calls (strategies::unrolled); must outlive the trace. Throws std::invalid_argument for one with
    /// calls. times: written down where there are any.
    explicit ChakraTrace(const strategies::StepProgram& unrolled, std::optional<ChakraTimes> times = {});

    /// Ranks of each group that communicates, by the number that pg_name says; from 1 on, as ASTRA-sim wants it.
    [[nodiscard]] std::map<std::uint32_t, std::vector<std::uint32_t>> groups() const;
    /// {"1": [0, 1], ...}: ASTRA-sim's --comm-group-configuration.
    [[nodiscard]] std::string groups_json() const;

    /// Writes one rank's file, a piece at a time.
    void write(std::uint32_t rank, const std::function<void(std::string_view)>& sink) const;
    /// About how many bytes it has.
    [[nodiscard]] std::uint64_t bytes(std::uint32_t rank) const;

private:
    [[nodiscard]] std::uint32_t group_of(std::uint32_t rank, strategies::AxisSet set) const;

    const strategies::StepProgram& step_;
    std::optional<ChakraTimes> times_;
    std::map<std::pair<strategies::AxisSet::Bits, std::uint32_t>, std::uint32_t> group_;  ///< by axes and first rank
};

}  // namespace orrery::report
