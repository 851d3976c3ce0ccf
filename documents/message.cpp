#include "documents/message.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace orrery::documents {

namespace {

using nlohmann::json;

/// Length of the UTF-8 sequence that starts here, 0 when the bytes are no UTF-8.
std::size_t utf8_length(std::string_view rest) {
    const auto lead = static_cast<unsigned char>(rest[0]);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length > rest.size()) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((static_cast<unsigned char>(rest[i]) & 0xC0U) != 0x80U) return 0;
    }
    return length;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        if (out.size() >= limit) return out + "...";
        const std::size_t length = utf8_length(text.substr(i));
        const auto byte = static_cast<unsigned char>(text[i]);
        if (length == 0 || byte < 0x20 || byte == 0x7F) {
            out += fmt::format("\\x{:02X}", byte);
            ++i;
        } else {
            out += text.substr(i, length);
            i += length;
        }
    }
    return out;
}

std::string shown(const json& value) {
    if (value.is_object() && !value.empty())
        return fmt::format("an object with \"{}\"", printable(value.begin().key()));
    if (value.is_array() && !value.empty()) return fmt::format("a list of {}", value.size());
    return printable(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string child_pointer(std::string_view parent, std::string_view key) {
    std::string text(parent);
    text += '/';
    for (const char c : key) {
        if (c == '~') {
            text += "~0";
        } else if (c == '/') {
            text += "~1";
        } else {
            text += c;
        }
    }
    return text;
}

std::string child_pointer(std::string_view parent, std::size_t index) { return fmt::format("{}/{}", parent, index); }

}  // namespace orrery::documents
