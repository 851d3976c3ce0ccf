#include "hardware/socket.hpp"

#include "base/enum_table.hpp"

namespace orrery::hardware {

namespace {

constexpr EnumNames<Socket> names_of_sockets{
    "SXM with NVLink 1", "SXM with NVLink 2", "SXM with NVLink 3",      "SXM with NVLink 4",
    "SXM with NVLink 5", "Grace superchip",   "Grace Hopper superchip", "PCIe",
    "OAM of MI250",      "OAM of MI300",      "OAM of MI350",           "chip with links of its own",
    "core of a host"};

}  // namespace

std::string_view name(Socket socket) { return names_of_sockets[socket]; }

Vendor vendor(Socket socket) {
    switch (socket) {
        case Socket::oam_mi250:
        case Socket::oam_mi300:
        case Socket::oam_mi350: return Vendor::amd;
        case Socket::chip: return Vendor::google;
        case Socket::core: return Vendor::host;
        default: return Vendor::nvidia;
    }
}

std::string_view name(Vendor vendor) {
    constexpr EnumNames<Vendor> names{"NVIDIA", "AMD", "Google", ""};
    return names[vendor];
}

bool is_chip(Socket socket) { return socket == Socket::chip; }

}  // namespace orrery::hardware
