#include "doors/nsys/annotation.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace orrery::doors::nsys {

namespace {

constexpr std::size_t most_operands = 16, most_extents = 8;

/// What follows `label` in the text; nothing where it has none.
std::optional<std::string_view> after(std::string_view text, std::string_view label) {
    const std::size_t at = text.find(label);
    return at == text.npos ? std::nullopt : std::optional(text.substr(at + label.size()));
}

/// The lists of numbers in "[[64], [32, 16], []]"; a list in a list of tensors counts for itself.
std::vector<std::vector<std::int64_t>> sizes_in(std::string_view text) {
    std::vector<std::vector<std::int64_t>> sizes;
    std::size_t depth = 0;
    for (const char* at = text.data(); at != text.data() + text.size(); ++at) {
        if (*at == '[' && ++depth == 2) {
            if (sizes.size() == most_operands) return sizes;
            sizes.emplace_back();
        }
        if (*at == ']' && (depth == 0 || --depth == 0)) return sizes;
        if (depth != 2 || (*at != '-' && (*at < '0' || *at > '9'))) continue;
        std::int64_t extent = 0;
        const auto [end, error] = std::from_chars(at, text.data() + text.size(), extent);
        if (error != std::errc()) return {};
        if (sizes.back().size() < most_extents) sizes.back().push_back(extent);
        at = end - 1;
    }
    return {};
}

}  // namespace

Annotation annotation_in(std::string_view text) {
    Annotation found{text, -1, {}};
    std::size_t end = text.npos;
    for (const std::string_view label : {", seq = ", ", op_id = ", ", sizes = "}) end = std::min(end, text.find(label));
    if (end == text.npos) return found;
    found.name = text.substr(0, end);
    const std::string_view rest = text.substr(end);
    if (const auto digits = after(rest, ", seq = ")) {
        const auto [last, error] = std::from_chars(digits->data(), digits->data() + digits->size(), found.sequence);
        if (error != std::errc() || found.sequence < 0) found.sequence = -1;
    }
    if (const auto list = after(rest, ", sizes = ")) found.sizes = sizes_in(*list);
    return found;
}

}  // namespace orrery::doors::nsys
