#include "doors/documents/interpolation.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/convert.hpp"

namespace orrery::doors {

namespace {

using Json = nlohmann::ordered_json;
using Path = std::vector<std::string>;

constexpr int most_depth = 12;
constexpr std::size_t most_steps = 20'000;  // sums of sums of sums make files of a kilobyte endless

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\n'\"";
    const std::size_t begin = text.find_first_not_of(blanks);
    return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Whether the text is one interpolation and nothing else.
bool is_one(std::string_view text) {
    if (!text.starts_with("${") || !text.ends_with('}')) return false;
    int level = 0;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == '{') ++level;
        if (text[i] == '}' && --level == 0) return i + 1 == text.size();
    }
    return false;
}

/// At commas that no bracket holds.
std::vector<std::string_view> arguments_of(std::string_view text) {
    std::vector<std::string_view> parts;
    int level = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        const char c = i < text.size() ? text[i] : ',';
        if (c == '{') ++level;
        if (c == '}') --level;
        if (c != ',' || (level > 0 && i < text.size())) continue;
        parts.push_back(trimmed(text.substr(begin, i - begin)));
        begin = i + 1;
    }
    return parts;
}

class Interpolator {
public:
    explicit Interpolator(const Json& document) : document_(document) {}

    void walk(Json& value, Path& path) {
        if (value.is_object()) {
            for (auto& [key, child] : value.items()) {
                path.push_back(key);
                walk(child, path);
                path.pop_back();
            }
        } else if (value.is_string()) {
            if (auto found = resolved(value.get<std::string>(), path, 0)) value = std::move(*found);
        }
    }

private:
    /// The value of a text that is one interpolation.
    std::optional<Json> resolved(std::string_view text, const Path& path, int depth) const {
        if (depth > most_depth || ++steps_ > most_steps || !is_one(text)) return std::nullopt;
        const std::string_view inside = text.substr(2, text.size() - 3);
        const std::size_t colon = inside.find(':');
        if (colon != inside.npos && inside.find('$') > colon)
            return calculated(trimmed(inside.substr(0, colon)), inside.substr(colon + 1), path, depth);
        return looked_up(trimmed(inside), path, depth);
    }

    std::optional<Json> value_of(std::string_view argument, const Path& path, int depth) const {
        if (is_one(argument)) return resolved(argument, path, depth + 1);
        return Json(std::string(argument));
    }

    std::optional<Json> calculated(std::string_view function, std::string_view rest, const Path& path,
                                   int depth) const {
        std::vector<std::uint64_t> numbers;
        for (const std::string_view argument : arguments_of(rest)) {
            const auto value = value_of(argument, path, depth);
            const auto number = value ? whole_number(*value) : std::nullopt;
            if (!number || *number > (std::uint64_t{1} << 31U)) return std::nullopt;
            numbers.push_back(*number);
        }
        if (numbers.size() != 2) return std::nullopt;
        const auto [a, b] = std::pair(numbers[0], numbers[1]);
        if (function == "multiply") return Json(a * b);
        if (function == "add") return Json(a + b);
        if (b == 0) return std::nullopt;
        if (function == "divide_ceil") return Json((a + b - 1) / b);
        if (function == "divide_floor" || function == "divide") return Json(a / b);
        return std::nullopt;
    }

    /// Leading dots go up from the key that holds the text; none begin at the document.
    std::optional<Json> looked_up(std::string_view name, const Path& path, int depth) const {
        std::size_t dots = 0;
        while (dots < name.size() && name[dots] == '.') ++dots;
        if (dots > path.size()) return std::nullopt;
        Path target;
        if (dots > 0) target.assign(path.begin(), path.end() - static_cast<std::ptrdiff_t>(dots));
        for (name.remove_prefix(dots); !name.empty();) {
            const std::size_t dot = std::min(name.find('.'), name.size());
            target.emplace_back(name.substr(0, dot));
            name.remove_prefix(std::min(dot + 1, name.size()));
        }
        const Json* at = find(target);
        // A launcher's file is mounted as "training" in the whole configuration.
        if (at == nullptr && !target.empty() && target.front() == "training") {
            target.erase(target.begin());
            at = find(target);
        }
        if (at == nullptr || at->is_structured()) return std::nullopt;
        if (at->is_string() && is_one(at->get_ref<const std::string&>()))
            return resolved(at->get_ref<const std::string&>(), target, depth + 1);
        return *at;
    }

    const Json* find(const Path& path) const {
        const Json* at = &document_;
        for (const std::string& key : path) {
            if (!at->is_object() || !at->contains(key)) return nullptr;
            at = &at->at(key);
        }
        return at;
    }

    const Json& document_;
    mutable std::size_t steps_ = 0;
};

}  // namespace

void interpolate(Json& document) {
    const Json original = document;
    Path path;
    Interpolator(original).walk(document, path);
}

}  // namespace orrery::doors
