// What the node builders must know of a GPU beyond its public datasheet row.
#pragma once

#include <string_view>

#include "topology/cluster.hpp"

namespace orrery::topology {

/// Boards of the same socket can be exchanged within a node: they have the same NVLink generation and carrier.
enum class Socket : std::uint8_t { nvlink1, nvlink2, nvlink3, nvlink4, nvlink5, grace, pcie, core };
std::string_view name(Socket socket);

/// The socket of a GPU out of gpus().
Socket socket_of(const Gpu& gpu);

/// Names of the GPUs that fit a socket, "A100-SXM4-40GB, A100-SXM4-80GB".
std::string gpus_with(Socket socket);

}  // namespace orrery::topology
