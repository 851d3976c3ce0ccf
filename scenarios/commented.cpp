#include "scenarios/commented.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "scenarios/schema.hpp"
#include "scenarios/usual_keys.hpp"

namespace orrery::scenarios {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t columns = 110;

/// Lines that begin with the indentation and "// ".
std::string comment(const std::string& text, std::size_t indent) {
    const std::string begin = std::string(indent, ' ') + "//";
    std::istringstream in(text);
    std::string lines, line = begin;
    for (std::string word; in >> word;) {
        if (line.size() + 1 + word.size() > columns && line.size() > begin.size()) {
            lines += line + '\n';
            line = begin;
        }
        line += ' ' + word;
    }
    return lines + line + '\n';
}

class Writer {
public:
    Writer(const Json& document, const Json& resolved)
        : document_(document), resolved_(resolved), words_(keys_in_words()) {}

    std::string text() {
        std::string out =
            "// A scenario of Orrery: `orrery simulate FILE` predicts it. What stands behind // is a comment.\n"
            "// `orrery list keys` names every key; those in comments here have the value that holds now.\n{\n";
        std::vector<std::string> live;
        for (const auto& [key, value] : document_.items()) live.push_back(key);
        for (const std::string& key : live) {
            out += what("", key, 4);
            const Json& value = document_.at(key);
            out += fmt::format("    \"{}\": {}{}\n", key, value.is_object() ? object(key, value) : value.dump(),
                               key == live.back() ? "" : ",");
            if (key != live.back()) out += '\n';
        }
        return out + "}\n";
    }

private:
    /// What the table of keys says of one.
    [[nodiscard]] std::string what(std::string_view object, std::string_view key, std::size_t indent) const {
        for (const KeyWords& words : words_) {
            if (words.object != object || words.key != key) continue;
            std::string text = words.meaning;
            if (!words.values.starts_with("an object")) text += fmt::format(" Values: {}.", words.values);
            const bool optional = !words.when_absent.empty() && words.when_absent != "must be given";
            if (optional) text += fmt::format(" When absent: {}.", words.when_absent);
            if (!words.elsewhere.empty()) text += fmt::format(" Elsewhere: {}.", words.elsewhere);
            std::erase(text, '`');
            return comment(text, indent);
        }
        return "";
    }

    /// Keys that one may want come first: a line of them that is made one of the object's ends with a comma.
    std::string object(const std::string& name, const Json& value) {
        std::string out = "{\n";
        for (const UsualKeys::Key& usual : UsualKeys::all()) {
            const std::string path = usual.path;
            if (!path.starts_with(name + '.')) continue;
            const std::string key = path.substr(name.size() + 1);
            const bool known = resolved_.contains(name) && resolved_.at(name).contains(key);
            if (value.contains(key) || !known || resolved_.at(name).at(key).is_null()) continue;
            out += what(name, key, 8) + fmt::format("        // \"{}\": {},\n", key, resolved_.at(name).at(key).dump());
        }
        std::size_t left = value.size();
        for (const auto& [key, child] : value.items())
            out += what(name, key, 8) + fmt::format("        \"{}\": {}{}\n", key, child.dump(), --left > 0 ? "," : "");
        return out + "    }";
    }

    const Json& document_;
    const Json& resolved_;
    std::vector<KeyWords> words_;
};

}  // namespace

std::string commented(const Json& document, const Json& resolved) { return Writer(document, resolved).text(); }

}  // namespace orrery::scenarios
