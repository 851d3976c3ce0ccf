// A node of a Chakra execution trace (github.com/mlcommons/chakra, schema/protobuf/et_def.proto).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::doors::chakra {

/// NodeType of et_def.proto.
enum class NodeType : std::uint8_t { invalid, metadata, mem_load, mem_store, comp, send, recv, collective };
inline constexpr std::uint64_t node_types = 8;

/// What is read of a node. Attributes are looked up by name, whatever type of number they are written with, since
/// tools differ in that.
struct Node {
    std::uint64_t id = 0, type = 0, duration_micros = 0;
    std::string_view name, inputs_values;
    std::vector<std::uint64_t> waits;  ///< data_deps and ctrl_deps
    bool is_cpu_op = false;
    std::optional<double> runtime_seconds;  ///< as `orrery export chakra --durations` adds it: finer than microseconds
    std::optional<std::int64_t> num_ops, tensor_size, comm_type, comm_size, comm_src, comm_dst, comm_tag;
    std::string_view pg_name;
};

/// The fields of a message, which must stay where it is. Throws Damaged (wire.hpp).
Node parse_node(std::string_view message);

/// Whether a file's first message is what it should be: its version, and attributes of the whole. Throws Damaged.
bool is_metadata(std::string_view message);

}  // namespace orrery::doors::chakra
