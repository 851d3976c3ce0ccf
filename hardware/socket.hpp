// What carries an accelerator, and joins it to those beside it.
#pragma once

#include <cstdint>
#include <string_view>

namespace orrery::hardware {

/// Boards of the same socket can be exchanged within a node: they have the same NVLink generation and carrier.
enum class Socket : std::uint8_t { nvlink1, nvlink2, nvlink3, nvlink4, nvlink5, grace, grace_hopper, pcie, chip, core };
std::string_view name(Socket socket);

/// Chips with the router of their own network on them (TPUs); they sit in no node.
bool is_chip(Socket socket);

}  // namespace orrery::hardware
