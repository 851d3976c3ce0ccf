#include "hardware/socket.hpp"

#include "base/enum_table.hpp"

namespace orrery::hardware {

namespace {

constexpr EnumNames<Socket> names_of_sockets{
    "SXM with NVLink 1",          "SXM with NVLink 2", "SXM with NVLink 3",      "SXM with NVLink 4",
    "SXM with NVLink 5",          "Grace superchip",   "Grace Hopper superchip", "PCIe",
    "chip with links of its own", "core of a host"};

}  // namespace

std::string_view name(Socket socket) { return names_of_sockets[socket]; }

bool is_chip(Socket socket) { return socket == Socket::chip; }

}  // namespace orrery::hardware
