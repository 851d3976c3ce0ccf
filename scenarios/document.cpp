#include "scenarios/document.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.hpp"

namespace orrery::scenarios {

namespace {

using nlohmann::json;

/// Follows the parser to know where it stands: refuses a key given twice and nesting without end.
class Watch {
public:
    explicit Watch(std::string file) : file_(std::move(file)) {}

    bool operator()(int depth, json::parse_event_t event, const json& parsed) {
        using Event = json::parse_event_t;
        if (event == Event::object_start || event == Event::array_start) {
            if (depth >= max_document_depth) fail_depth();
            open_.push_back(Level{.is_array = event == Event::array_start, .key = {}, .index = 0, .keys = {}});
        } else if (event == Event::key) {
            note_key(parsed.get<std::string>());
        } else {
            if (event == Event::object_end || event == Event::array_end) open_.pop_back();
            if (!open_.empty() && open_.back().is_array) ++open_.back().index;
        }
        return true;
    }

private:
    struct Level {
        bool is_array;
        std::string key;
        std::size_t index;
        std::set<std::string> keys;
    };

    void note_key(const std::string& key) {
        Level& level = open_.back();
        level.key = key;
        if (level.keys.insert(key).second) return;
        throw Error(file_, pointer(), fmt::format("the key \"{}\" appears twice in one object", printable(key)),
                    "keep one of the two");
    }

    [[noreturn]] void fail_depth() const {
        throw Error(file_, "", fmt::format("objects or lists are nested more than {} deep", max_document_depth),
                    "a scenario needs two levels: check for unbalanced brackets");
    }

    [[nodiscard]] std::string pointer() const {
        std::string text;
        for (const Level& level : open_) {
            text = child_pointer(text, level.is_array ? std::to_string(level.index) : level.key);
        }
        return text;
    }

    std::string file_;
    std::vector<Level> open_;
};

/// nlohmann's "[json.exception.parse_error.101] parse error at line 3, column 5: ..." without its identifier.
std::string explanation(const json::exception& error) {
    const std::string_view what = error.what();
    const auto end = what.find("] ");
    return printable(end == std::string_view::npos ? what : what.substr(end + 2), 300);
}

void refuse_other_encodings(std::string_view bytes, const std::string& file) {
    const bool utf16 = bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF");
    const auto nul = bytes.find('\0');
    if (!utf16 && nul == std::string_view::npos) return;
    const std::string what = utf16 ? "the file starts with the mark of UTF-16 or UTF-32"
                                   : fmt::format("byte {} is NUL (\\x00): binary data or UTF-16", nul);
    throw Error(file, "", "not JSON text: " + what, "save the scenario as UTF-8 text");
}

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

json parse_document(std::string_view bytes, const std::string& file) {
    refuse_other_encodings(bytes, file);
    if (bytes.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        throw Error(file, "", bytes.empty() ? "the file is empty" : "the file holds nothing but blanks",
                    "write a JSON object; the shipped scenarios are examples");
    }
    try {
        Watch watch(file);
        return json::parse(bytes, [&](int depth, json::parse_event_t event, const json& parsed) {
            return watch(depth, event, parsed);
        });
    } catch (const json::exception& error) {
        throw Error(file, "", "not valid JSON: " + explanation(error),
                    "mend the text at that position; JSON has no comments, no trailing commas and only double quotes");
    }
}

std::string read_bytes(const std::filesystem::path& file, const std::string& hint) {
    const std::string name = file.string();
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored)) {
        throw Error(name, "", fmt::format("'{}' is a folder", printable(name)), "name a file inside it");
    }
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
        throw Error(name, "", fmt::format("cannot open '{}': {}", printable(name), std::strerror(errno)),
                    "check the path and its permissions");
    }
    std::string bytes;
    std::array<char, 65536> chunk{};
    while (bytes.size() <= max_document_bytes && (stream.read(chunk.data(), chunk.size()), stream.gcount() > 0))
        bytes.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
    if (stream.bad()) {
        throw Error(name, "", fmt::format("cannot read '{}': {}", printable(name), std::strerror(errno)),
                    "check the file and its disk");
    }
    if (bytes.size() > max_document_bytes) {
        throw Error(name, "", fmt::format("the file is larger than {} MiB", max_document_bytes >> 20U), hint);
    }
    return bytes;
}

json read_document(const std::filesystem::path& file) {
    return parse_document(
        read_bytes(file, "this is no scenario: name a file such as scenarios/gpt3-175b-superpod-a100.json"),
        file.string());
}

}  // namespace orrery::scenarios
