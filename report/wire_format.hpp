// Protocol Buffers' wire format, as far as writing takes it (protobuf.dev/programming-guides/encoding): fields in the
// order in which they are added, repeated numbers packed, as proto3 does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace orrery::report {

/// A message in the making. Field numbers are those of its .proto.
class WireMessage {
public:
    /// uint64, int64, int32, bool and enumerations; negative numbers take ten bytes.
    void number(std::uint32_t field, std::uint64_t value);
    void real(std::uint32_t field, double value);
    void text(std::uint32_t field, std::string_view value);
    void message(std::uint32_t field, const WireMessage& value) { text(field, value.bytes_); }
    /// A repeated field of numbers; nothing where there are none.
    void numbers(std::uint32_t field, std::span<const std::uint64_t> values);

    [[nodiscard]] const std::string& bytes() const { return bytes_; }
    /// With its length before it: messages one behind the other in a file.
    [[nodiscard]] std::string delimited() const;

private:
    std::string bytes_;
};

}  // namespace orrery::report
