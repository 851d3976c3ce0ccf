#include "report/wire_format.hpp"

#include <bit>

namespace orrery::report {

namespace {

constexpr std::uint64_t varint_type = 0, wide_type = 1, length_type = 2;

/// Seven bits a byte, the lowest first; the eighth says that more follow.
void append_varint(std::string& to, std::uint64_t value) {
    for (; value > 0x7f; value >>= 7U) to += static_cast<char>(value | 0x80U);
    to += static_cast<char>(value);
}

void append_tag(std::string& to, std::uint32_t field, std::uint64_t type) {
    append_varint(to, std::uint64_t{field} << 3U | type);
}

}  // namespace

void WireMessage::number(std::uint32_t field, std::uint64_t value) {
    append_tag(bytes_, field, varint_type);
    append_varint(bytes_, value);
}

void WireMessage::real(std::uint32_t field, double value) {
    append_tag(bytes_, field, wide_type);
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(bits >> shift & 0xffU);
}

void WireMessage::text(std::uint32_t field, std::string_view value) {
    append_tag(bytes_, field, length_type);
    append_varint(bytes_, value.size());
    bytes_ += value;
}

void WireMessage::numbers(std::uint32_t field, std::span<const std::uint64_t> values) {
    if (values.empty()) return;
    std::string packed;
    for (const std::uint64_t value : values) append_varint(packed, value);
    text(field, packed);
}

std::string WireMessage::delimited() const {
    std::string all;
    append_varint(all, bytes_.size());
    return all + bytes_;
}

}  // namespace orrery::report
