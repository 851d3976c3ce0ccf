#include "topology/fabric_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"

namespace orrery::topology {

namespace {

constexpr std::uint64_t most_ports = 1U << 24, largest_size = 65536;

[[noreturn]] void refuse(const char* field, const std::string& message, const std::string& hint) {
    throw Error("", std::string("/cluster/") + field, message, hint);
}

}  // namespace

std::vector<std::uint32_t> parse_shape(const std::string& text, const char* field, std::size_t most_dimensions) {
    std::vector<std::uint32_t> sizes;
    std::uint64_t product = 1;
    const char *at = text.data(), *const end = at + text.size();
    while (true) {
        std::uint32_t size = 0;
        const auto [after, error] = std::from_chars(at, end, size);
        if (error != std::errc{} || size == 0 || size > largest_size || (after != end && *after != 'x')) {
            refuse(field, fmt::format("\"{}\" is no list of sizes", text), "write them like \"4x4x8\"");
        }
        sizes.push_back(size);
        product *= size;
        if (product > most_ports) {
            refuse(field, fmt::format("\"{}\" has more than {} places", text, most_ports), "choose smaller sizes");
        }
        if (after == end) break;
        at = after + 1;
    }
    if (sizes.size() > most_dimensions) {
        refuse(field, fmt::format("\"{}\" has {} sizes", text, sizes.size()),
               fmt::format("give at most {}", most_dimensions));
    }
    return sizes;
}

std::vector<std::uint32_t> even_shape(std::uint32_t count, std::size_t dimensions) {
    std::vector<std::uint32_t> sizes;
    for (std::size_t left = dimensions; left > 1; --left) {
        // The largest divisor that is no more than the even share.
        const double share = std::pow(count, 1.0 / static_cast<double>(left));
        auto size = std::max(1U, static_cast<std::uint32_t>(share + 1e-9));
        while (count % size != 0) --size;
        sizes.push_back(size);
        count /= size;
    }
    sizes.push_back(count);
    return sizes;
}

FabricParts fit(FabricParts parts, std::uint64_t ports, std::string_view kind) {
    const std::uint64_t room = ports / parts.nics_per_node;
    if (room == 0 || parts.nodes > room) {
        throw Error("", "/cluster/nodes",
                    fmt::format("{} nodes with {} NICs do not fit on this {}, which has {} ports",
                                std::max(parts.nodes, 1U), parts.nics_per_node, kind, ports),
                    fmt::format("nearest legal value: {}; or a larger fabric", room));
    }
    if (parts.nodes == 0) parts.nodes = static_cast<std::uint32_t>(room);
    if (parts.on_chip && parts.nodes != ports) {
        throw Error("", "/cluster/nodes",
                    fmt::format("{} chips do not fill this {}, which has {}", parts.nodes, kind, ports),
                    "leave nodes out, or give a shape of that many chips");
    }
    return parts;
}

std::uint32_t parameter(std::uint32_t asked, std::uint32_t usual, const char* field, std::uint32_t most) {
    const std::uint32_t value = asked == 0 ? usual : asked;
    if (value > most) {
        refuse(field, fmt::format("{} is too many", value), fmt::format("legal values: 1 to {}", most));
    }
    return value;
}

}  // namespace orrery::topology
