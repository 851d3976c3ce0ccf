#include "base/version.hpp"

#include <charconv>

namespace orrery {

std::optional<Version> version_from(std::string_view text) {
    if (text.starts_with('v')) text.remove_prefix(1);
    Version version;
    std::uint32_t* const parts[] = {&version.major, &version.minor, &version.patch};
    std::size_t read = 0;
    const char *at = text.data(), *const end = text.data() + text.size();
    for (std::uint32_t* const part : parts) {
        const auto [next, error] = std::from_chars(at, end, *part);
        if (error != std::errc{}) return std::nullopt;
        at = next;
        ++read;
        if (at == end || *at != '.' || read == std::size(parts)) break;
        ++at;
    }
    if (read < 2 || (at != end && *at != '-' && *at != '+')) return std::nullopt;
    return version;
}

}  // namespace orrery
