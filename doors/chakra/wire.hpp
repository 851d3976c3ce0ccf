// Protocol Buffers' wire format, as far as reading takes it (protobuf.dev/programming-guides/encoding).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "doors/trace/text_stream.hpp"

namespace orrery::doors::chakra {

/// What is no message: "a number without an end". Whoever knows the file and the message makes an Error of it.
struct Damaged {
    const char* what;
};

/// Goes through the fields of a message, in their order. Throws Damaged.
class Fields {
public:
    explicit Fields(std::string_view message) : rest_(message) {}

    /// Moves to the next; false behind the last.
    bool next();
    /// Of the field at hand.
    [[nodiscard]] std::uint32_t field() const { return field_; }
    [[nodiscard]] bool has_bytes() const { return type_ == delimited; }
    /// uint64, int64 and int32 (in two's complement), bool, enumerations, and what has a fixed width as its bits; 0 of
    /// a text.
    [[nodiscard]] std::uint64_t number() const { return number_; }
    /// Text, bytes, message, or a packed list; empty of a number.
    [[nodiscard]] std::string_view bytes() const { return bytes_; }

    /// Takes a number of variable length from the front. Throws Damaged.
    static std::uint64_t varint(std::string_view& bytes);

private:
    enum Type : std::uint8_t { variable = 0, wide = 1, delimited = 2, narrow = 5 };
    std::string_view take(std::uint64_t count);

    std::string_view rest_, bytes_;
    std::uint64_t number_ = 0;
    std::uint32_t field_ = 0;
    Type type_ = variable;
};

/// Messages of a file, each with its length before it; the file may be gzip's. No more than a message is in memory.
class Messages {
public:
    explicit Messages(const std::string& file);

    /// The next, valid until the one after it; false at the file's end. Throws Error (file) for one that is cut off, or
    /// longer than any of a trace.
    bool next(std::string_view& message);
    /// Where the last message begins, in bytes.
    [[nodiscard]] std::uint64_t place() const { return place_; }
    /// So many were read.
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] std::uint64_t bytes() const { return at_; }

private:
    [[noreturn]] void refuse(const std::string& what) const;

    std::string file_;
    trace::TextStream text_;
    std::string message_;
    std::uint64_t at_ = 0, place_ = 0, count_ = 0;
};

}  // namespace orrery::doors::chakra
