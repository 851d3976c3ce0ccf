#include "doors/megatron/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "documents/message.hpp"
#include "doors/shell/traced.hpp"

namespace orrery::doors::megatron {

namespace {

using Json = nlohmann::ordered_json;

/// The values of a flag as one: the only word, or all of them.
Json joined(const std::vector<std::string>& values) {
    if (values.empty()) return true;
    std::string text = values.front();
    for (std::size_t i = 1; i < values.size(); ++i) text += ' ' + values[i];
    return text;
}

class ArgumentReader {
public:
    ArgumentReader(const std::vector<Argument>& words, std::span<const Row> table, Draft& draft)
        : words_(words), table_(table), draft_(draft) {}

    Givens read() {
        while (at_ < words_.size()) {
            const Argument& word = words_[at_++];
            const std::string name = flag_name(word.text);
            if (name.empty())
                stray(word);
            else
                flag(word, name);
        }
        return std::move(givens_);
    }

private:
    void flag(const Argument& word, const std::string& name) {
        const std::size_t equals = word.text.find('=');
        const Origin origin{word.place, documents::printable(word.text.substr(0, equals))};
        const Row* const row = find_row(table_, name);
        std::vector<std::string> values;
        if (equals != std::string::npos) {
            values.push_back(word.text.substr(equals + 1));
        } else if (row == nullptr || row->takes == Takes::any) {
            while (next_is_value()) values.push_back(words_[at_++].text);
        } else if (row->takes == Takes::one) {
            if (next_is_value())
                values.push_back(words_[at_++].text);
            else if (row->act != Act::harmless)
                return draft_.findings.refuse(origin.place, origin.name, "has no value", "write one behind it");
        }
        givens_.add({name, joined(values), origin});
    }

    [[nodiscard]] bool next_is_value() const { return at_ < words_.size() && flag_name(words_[at_].text).empty(); }

    /// What a variable would have put in, or a word too many.
    void stray(const Argument& word) {
        if (shell::has_unknown(word.text)) {
            const std::string name = shell::first_unknown(word.text);
            draft_.findings.not_modelled(word.place, "$" + name, "is not set in the file: read as empty",
                                         fmt::format("--define {}=VALUE", name));
        } else if (!word.text.empty()) {
            draft_.findings.unknown(word.place, documents::printable(word.text), "it belongs to no flag; leave it out");
        }
    }

    const std::vector<Argument>& words_;
    std::span<const Row> table_;
    Draft& draft_;
    Givens givens_;
    std::size_t at_ = 0;
};

}  // namespace

std::string flag_name(std::string_view word) {
    if (!word.starts_with("--") || word.size() < 3) return "";
    word = word.substr(2, word.find('=') == word.npos ? word.npos : word.find('=') - 2);
    if (word.empty() || std::isalpha(static_cast<unsigned char>(word.front())) == 0) return "";
    std::string name(word);
    std::ranges::replace(name, '-', '_');
    return name;
}

Givens read_arguments(const std::vector<Argument>& words, std::span<const Row> table, Draft& draft) {
    return ArgumentReader(words, table, draft).read();
}

}  // namespace orrery::doors::megatron
