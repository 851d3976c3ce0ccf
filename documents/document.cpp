#include "documents/document.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "documents/message.hpp"

namespace orrery::documents {

namespace {

using nlohmann::json;

/// nlohmann's "[json.exception.parse_error.101] parse error at line 3, column 5: ..." without its identifier.
std::string explanation(const json::exception& error) {
    const std::string_view what = error.what();
    const auto end = what.find("] ");
    return printable(end == std::string_view::npos ? what : what.substr(end + 2), 300);
}

/// Makes the value of what the parser finds, and knows where it stands: refuses a key given twice and nesting without
/// end.
class Builder : public json::json_sax_t {
public:
    Builder(const std::string& file, bool comments) : file_(file), comments_(comments) {}

    json take() && { return std::move(root_); }

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(std::int64_t value) override { return add(value); }
    bool number_unsigned(std::uint64_t value) override { return add(value); }
    bool number_float(double value, const std::string&) override { return add(value); }
    bool string(std::string& value) override { return add(std::move(value)); }
    bool binary(json::binary_t& value) override { return add(std::move(value)); }
    bool start_object(std::size_t) override { return open(json::object()); }
    bool start_array(std::size_t) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(std::string& name) override {
        open_.back().key = std::move(name);
        if (!open_.back().value->contains(open_.back().key)) return true;
        throw Error(file_, pointer(),
                    fmt::format("the key \"{}\" appears twice in one object", printable(open_.back().key)),
                    "keep one of the two");
    }
    bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
        throw Error(file_, "", "not valid JSON: " + explanation(error),
                    fmt::format("mend the text at that position; {} no trailing commas and only double quotes",
                                comments_ ? "comments begin with //, and JSON has" : "JSON has no comments,"));
    }

private:
    struct Level {
        json* value;
        std::string key;  ///< of an object: the one that was read last
    };

    /// Puts a value where the parser stands.
    json& place(json value) {
        if (open_.empty()) return root_ = std::move(value);
        Level& level = open_.back();
        if (level.value->is_object()) return (*level.value)[level.key] = std::move(value);
        level.value->push_back(std::move(value));
        return level.value->back();
    }
    bool add(json value) {
        place(std::move(value));
        return true;
    }
    bool open(json value) {
        if (open_.size() >= max_depth)
            throw Error(file_, "", fmt::format("objects or lists are nested more than {} deep", max_depth),
                        "check for unbalanced brackets");
        open_.push_back({&place(std::move(value)), {}});
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }
    [[nodiscard]] std::string pointer() const {
        std::string text;
        for (const Level& level : open_)
            text =
                level.value->is_array() ? child_pointer(text, level.value->size() - 1) : child_pointer(text, level.key);
        return text;
    }

    const std::string& file_;
    bool comments_;
    json root_;
    std::vector<Level> open_;
};

void refuse_other_encodings(std::string_view bytes, const std::string& file) {
    const bool utf16 = bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF");
    const auto nul = bytes.find('\0');
    if (!utf16 && nul == std::string_view::npos) return;
    const std::string what = utf16 ? "the file starts with the mark of UTF-16 or UTF-32"
                                   : fmt::format("byte {} is NUL (\\x00): binary data or UTF-16", nul);
    throw Error(file, "", "not JSON text: " + what, "save the file as UTF-8 text");
}

}  // namespace

json parse_document(std::string_view bytes, const std::string& file, const Wanted& wanted) {
    refuse_other_encodings(bytes, file);
    if (bytes.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        throw Error(file, "", bytes.empty() ? "the file is empty" : "the file holds nothing but blanks",
                    "write a JSON object; " + wanted.example);
    }
    Builder builder(file, wanted.comments);
    (void)json::sax_parse(bytes, &builder, json::input_format_t::json, true,
                          wanted.comments);  // false only where the builder says so, and it throws instead
    return std::move(builder).take();
}

json read_document(const std::filesystem::path& file, const Wanted& wanted) {
    return parse_document(read_file(file, "name another file; " + wanted.example, wanted.most_bytes), file.string(),
                          wanted);
}

}  // namespace orrery::documents
