// What carries an accelerator, and joins it to those beside it.
#pragma once

#include <cstdint>
#include <string_view>

namespace orrery::hardware {

/// Boards of the same socket can be exchanged within a node: they have the same generation of links and carrier.
enum class Socket : std::uint8_t {
    nvlink1,
    nvlink2,
    nvlink3,
    nvlink4,
    nvlink5,
    grace,
    grace_hopper,
    pcie,
    oam_mi250,  ///< the dies of AMD's MI250X, two to a module
    oam_mi300,  ///< AMD's MI300X and MI325X, every pair of eight joined by an xGMI link
    oam_mi350,  ///< the same of MI350X and MI355X
    chip,
    core
};
std::string_view name(Socket socket);

/// Whose accelerators sit on it; of a PCIe board NVIDIA, which has the only ones. host: a processor's own cores.
enum class Vendor : std::uint8_t { nvidia, amd, google, host };
Vendor vendor(Socket socket);
/// "NVIDIA", as drivers write before a device's name.
std::string_view name(Vendor vendor);

/// Chips with the router of their own network on them (TPUs); they sit in no node.
bool is_chip(Socket socket);

}  // namespace orrery::hardware
