#include "doors/chakra/wire.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace orrery::doors::chakra {

namespace {

/// Of a file: a rank's step of a million nodes has some hundred million bytes.
constexpr std::uint64_t most_bytes = std::uint64_t{16} << 30U;
/// Of a message: nodes of PyTorch carry the shapes of their tensors.
constexpr std::uint64_t most_message_bytes = std::uint64_t{64} << 20U;

constexpr trace::TextStream::Remedies remedies{
    "give a Chakra execution trace (.et), or what the names of a step's files begin with",
    "record one step, or fewer micro-batches"};

}  // namespace

std::uint64_t Fields::varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (bytes.empty()) throw Damaged{"a number without an end"};
        const auto byte = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        value |= std::uint64_t{byte & 0x7fU} << shift;
        if (byte < 0x80) return value;
    }
    throw Damaged{"a number of more than ten bytes"};
}

std::string_view Fields::take(std::uint64_t count) {
    if (count > rest_.size()) throw Damaged{"a field that is longer than its message"};
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
}

bool Fields::next() {
    if (rest_.empty()) return false;
    const std::uint64_t tag = varint(rest_);
    if (tag >> 3U == 0 || tag >> 3U > 0x1fffffffU) throw Damaged{"a field without a number"};
    field_ = static_cast<std::uint32_t>(tag >> 3U);
    type_ = static_cast<Type>(tag & 7U);
    number_ = 0;
    bytes_ = {};
    const auto fixed = [this](std::uint64_t count) {
        unsigned shift = 0;
        for (const char byte : take(count)) {
            number_ |= std::uint64_t{static_cast<unsigned char>(byte)} << shift;
            shift += 8;
        }
    };
    switch (type_) {
        case variable: number_ = varint(rest_); break;
        case wide: fixed(8); break;
        case delimited: bytes_ = take(varint(rest_)); break;
        case narrow: fixed(4); break;
        default: throw Damaged{"a field of no type that there is"};
    }
    return true;
}

Messages::Messages(const std::string& file) : file_(file), text_(file, most_bytes, remedies) {}

void Messages::refuse(const std::string& what) const {
    throw Error(file_, "", fmt::format("message {} (at byte {}) {}", count_, place_, what),
                "copy the file again, or write it anew: a Chakra trace is messages with their lengths before them");
}

bool Messages::next(std::string_view& message) {
    place_ = at_;
    std::uint64_t size = 0;
    for (unsigned shift = 0;; shift += 7) {
        const int byte = text_.sbumpc();
        if (byte == trace::TextStream::traits_type::eof()) {
            if (shift == 0) return false;
            refuse("is cut off in its length");
        }
        ++at_;
        size |= std::uint64_t{static_cast<unsigned>(byte) & 0x7fU} << shift;
        if (byte < 0x80) break;
        if (shift >= 28) refuse("has a length that no message has");
    }
    if (size > most_message_bytes) refuse(fmt::format("has {} bytes, more than any node", size));
    message_.resize(size);
    const auto got = static_cast<std::uint64_t>(text_.sgetn(message_.data(), static_cast<std::streamsize>(size)));
    at_ += got;
    if (got < size) refuse(fmt::format("is cut off: {} of {} bytes are there", got, size));
    ++count_;
    message = message_;
    return true;
}

}  // namespace orrery::doors::chakra
