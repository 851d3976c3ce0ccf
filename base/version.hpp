// Versions of libraries: "2.18.5".
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery {

struct Version {
    std::uint32_t major = 0, minor = 0, patch = 0;
    auto operator<=>(const Version&) const = default;
};

/// "2.18", "2.18.5", "v1.7.3-aws": two or three numbers, of which a missing one is 0; what follows behind a '-' or '+'
/// does not count. None for any other text.
std::optional<Version> version_from(std::string_view text);

}  // namespace orrery
