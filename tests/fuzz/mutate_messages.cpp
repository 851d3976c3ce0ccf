#include "tests/fuzz/mutate_messages.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <variant>
#include <vector>

namespace orrery::fuzz {

namespace {

enum Wire : std::uint8_t { variable = 0, wide = 1, delimited = 2, narrow = 5 };

struct Field;
using Message = std::vector<Field>;

/// A field of a message, or (number 0) a message of a file.
struct Field {
    std::uint32_t number = 0;
    Wire wire = variable;
    std::uint64_t value = 0;                   ///< of what is not delimited
    std::variant<std::string, Message> holds;  ///< of what is: text, bytes, packed numbers; or a message
};

using Rank = Message;
using Trace = std::vector<Rank>;

std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
        const auto byte = static_cast<std::uint8_t>(bytes.front());
        bytes.remove_prefix(1);
        value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
        if (byte < 0x80) return value;
    }
    return std::nullopt;
}

std::optional<std::string_view> take(std::string_view& bytes, std::uint64_t count) {
    if (count > bytes.size()) return std::nullopt;
    const std::string_view taken = bytes.substr(0, count);
    bytes.remove_prefix(count);
    return taken;
}

std::optional<std::string_view> take_delimited(std::string_view& bytes) {
    const auto length = take_varint(bytes);
    return length ? take(bytes, *length) : std::nullopt;
}

std::optional<Message> message_of(std::string_view bytes);

std::variant<std::string, Message> content_of(std::string_view bytes) {
    const bool is_text = std::ranges::all_of(bytes, [](unsigned char c) { return std::isprint(c) != 0; });
    if (!is_text)
        if (auto message = message_of(bytes)) return std::move(*message);
    return std::string(bytes);
}

std::optional<Field> take_field(std::string_view& bytes) {
    const auto tag = take_varint(bytes);
    if (!tag || *tag >> 3U == 0 || *tag >> 3U > 1000) return std::nullopt;
    Field field{static_cast<std::uint32_t>(*tag >> 3U), static_cast<Wire>(*tag & 7U), 0, {}};
    if (field.wire == variable) {
        const auto value = take_varint(bytes);
        if (!value) return std::nullopt;
        field.value = *value;
    } else if (field.wire == wide || field.wire == narrow) {
        const auto fixed = take(bytes, field.wire == wide ? 8 : 4);
        if (!fixed) return std::nullopt;
        for (std::size_t i = 0; i < fixed->size(); ++i)
            field.value |= std::uint64_t{static_cast<std::uint8_t>((*fixed)[i])} << 8 * i;
    } else {
        const auto inner = field.wire == delimited ? take_delimited(bytes) : std::nullopt;
        if (!inner) return std::nullopt;
        field.holds = content_of(*inner);
    }
    return field;
}

std::optional<Message> message_of(std::string_view bytes) {
    Message message;
    while (!bytes.empty()) {
        auto field = take_field(bytes);
        if (!field) return std::nullopt;
        message.push_back(std::move(*field));
    }
    return message;
}

std::optional<Trace> trace_of(std::string_view bytes) {
    Trace trace(1);
    while (!bytes.empty()) {
        if (bytes.starts_with(between_ranks)) {
            bytes.remove_prefix(between_ranks.size());
            trace.emplace_back();
            continue;
        }
        const auto inner = take_delimited(bytes);
        if (!inner) return std::nullopt;
        trace.back().push_back({0, delimited, 0, content_of(*inner)});
    }
    return trace;
}

void put_varint(std::string& into, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) into += static_cast<char>(value | 0x80U);
    into += static_cast<char>(value);
}

void put(std::string& into, const Field& field) {
    if (field.number != 0) put_varint(into, std::uint64_t{field.number} << 3U | field.wire);
    if (field.wire == variable) return put_varint(into, field.value);
    if (field.wire != delimited) {
        for (unsigned i = 0; i < (field.wire == wide ? 8U : 4U); ++i) into += static_cast<char>(field.value >> 8 * i);
        return;
    }
    std::string inner;
    if (const auto* const message = std::get_if<Message>(&field.holds))
        for (const Field& each : *message) put(inner, each);
    else
        inner = std::get<std::string>(field.holds);
    put_varint(into, inner.size());
    into += inner;
}

std::string bytes_of(const Trace& trace) {
    std::string bytes;
    for (const Rank& rank : trace) {
        if (&rank != trace.data()) bytes += between_ranks;
        for (const Field& message : rank) put(bytes, message);
    }
    return bytes;
}

std::size_t below(Random& random, std::size_t count) { return static_cast<std::size_t>(random() % count); }

/// A field anywhere in the message, and the message that it stands in; none where it has none.
struct Place {
    Message* in;
    std::size_t at;
};

std::optional<Place> somewhere(Message& message, Random& random) {
    if (message.empty()) return std::nullopt;
    const std::size_t at = below(random, message.size());
    if (auto* const inner = std::get_if<Message>(&message[at].holds); inner != nullptr && below(random, 5) != 0)
        if (auto deeper = somewhere(*inner, random)) return deeper;
    return Place{&message, at};
}

std::uint64_t other_number(std::uint64_t now, Random& random) {
    static constexpr std::uint64_t odd[] = {
        0, 1, 2, 3, 7, 255, 4096, 1ULL << 31U, ~0ULL, 1ULL << 40U, 1ULL << 62U, 1ULL << 63U, 0x7FF0ULL << 48U};
    switch (below(random, 4)) {
        case 0: return now + 1;
        case 1: return now - 1;
        case 2: return below(random, 10);
        default: return odd[below(random, std::size(odd))];
    }
}

void change(Field& field, Random& random) {
    if (field.wire != delimited)
        field.value = other_number(field.value, random);
    else if (auto* const text = std::get_if<std::string>(&field.holds))
        *text = with_other_bytes(std::move(*text), random);
    else
        field.number = field.number == 0 ? 0 : 1 + static_cast<std::uint32_t>(below(random, 30));
}

/// One change of one rank's file.
void change(Rank& rank, Random& random) {
    const auto place = somewhere(rank, random), other = somewhere(rank, random);
    if (!place) return;
    Message& in = *place->in;
    const auto begin = in.begin() + static_cast<std::ptrdiff_t>(place->at);
    switch (below(random, 8)) {
        case 0: in.erase(begin); break;
        case 1: in.insert(begin, Field(*begin)); break;
        case 2: std::swap(*begin, in[below(random, in.size())]); break;
        case 3:
            if (Field& from = (*other->in)[other->at]; begin->wire == from.wire) begin->value = from.value;
            break;
        default: change(*begin, random);
    }
}

}  // namespace

std::optional<std::string> mutated_messages(const std::string& bytes, Random& random) {
    auto trace = trace_of(bytes);
    if (!trace) return std::nullopt;
    const std::size_t at = below(random, trace->size());
    if (below(random, 20) == 0)
        trace->push_back(Rank((*trace)[at]));
    else
        change((*trace)[at], random);
    return bytes_of(*trace);
}

std::optional<std::string> spliced_messages(const std::string& into, const std::string& from, Random& random) {
    auto trace = trace_of(into);
    const auto other = trace_of(from);
    if (!trace || !other) return std::nullopt;
    Rank& rank = (*trace)[below(random, trace->size())];
    const Rank& source = (*other)[below(random, other->size())];
    if (source.empty()) return std::nullopt;
    const Field& taken = source[below(random, source.size())];
    const std::size_t at = below(random, rank.size() + 1);
    if (at < rank.size() && below(random, 2) == 0)
        rank[at] = taken;
    else
        rank.insert(rank.begin() + static_cast<std::ptrdiff_t>(at), taken);
    return bytes_of(*trace);
}

}  // namespace orrery::fuzz
