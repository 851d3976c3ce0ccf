// What may stand under a key of a JSON object: one description for reading, writing, the schema and the documentation.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace orrery::documents {

enum class Kind : std::uint8_t {
    object,
    objects,  ///< a list of objects
    nested,   ///< objects in each other, which a reader of its own takes apart: Key::form
    text,
    texts,        ///< a list of texts
    named_texts,  ///< a text, or an object of texts
    numbers,      ///< a list of real numbers in [min, max]
    integers,     ///< a list of `entries` whole numbers in [min, max]
    boolean,
    integer,   ///< whole number in [min, max]
    number,    ///< real number in [min, max]
    choice,    ///< the name of a value of an enumeration: one of words
    bytes,     ///< "160 MB", in [min, max] bytes
    rate,      ///< "200 Gb/s", in [min, max] bytes per second
    tokens,    ///< "300B" or a bare number, in [min, max]
    duration,  ///< "5 min", in [min, max] seconds
};

/// A name of a value of an enumeration. Of several names of one value the first is written.
struct Word {
    std::string_view name;
    std::uint8_t value = 0;
};
template <class Enum>
constexpr Word word(std::string_view name, Enum value) {
    return {name, static_cast<std::uint8_t>(value)};
}

/// Whose spelling it is.
enum class Source : std::uint8_t { megatron, hugging_face, deepspeed };
/// "Megatron-LM", ...
std::string_view name(Source source);

/// Another spelling of a key. A plain one has the same values; a switch is a boolean that stands for a JSON value
/// of the key ("use_distributed_optimizer": true is "sharding": "zero1").
struct Spelling {
    Source source{};
    std::string_view name;
    std::string_view when_true = {}, when_false = {};  ///< JSON texts; both empty: plain; one empty: says nothing

    [[nodiscard]] constexpr bool is_switch() const { return !when_true.empty() || !when_false.empty(); }
};
constexpr Spelling megatron(std::string_view name, std::string_view when_true = {}, std::string_view when_false = {}) {
    return {Source::megatron, name, when_true, when_false};
}
constexpr Spelling hugging_face(std::string_view name) { return {Source::hugging_face, name}; }
constexpr Spelling deepspeed(std::string_view name) { return {Source::deepspeed, name}; }

struct Key {
    std::string_view name;
    Kind kind{};
    double min = 0, max = 0;
    std::span<const Word> words = {};
    bool required = false;
    std::string_view help = {};         ///< a sentence
    std::string_view when_absent = {};  ///< what then holds, where it is not simply the default
    std::array<Spelling, 3> others = {};
    std::size_t entries = 0;          ///< entries of a list of integers
    std::string_view origin = {};     ///< who came up with it: a paper, or the software whose option it is
    std::string_view published = {};  ///< path in a row of published measurements that says it as it is (validate/)
    std::string_view form = {};       ///< of nested: what stands there, "a list of scopes"

    /// The other spellings.
    [[nodiscard]] constexpr std::span<const Spelling> spellings() const {
        std::size_t count = 0;
        while (count < others.size() && !others[count].name.empty()) ++count;
        return {others.data(), count};
    }
};

/// What stands under a key: whole numbers, bytes and values of enumerations as std::uint64_t.
using Setting = std::variant<std::uint64_t, double, bool, std::string, std::vector<std::uint64_t>>;

/// Whether the key can say this: the number is in its range, the text not empty, the value of the enumeration named.
bool can_say(const Key& key, const Setting& setting);
/// As it is written under the key: names of enumerations, bytes with their unit. Throws std::logic_error where
/// can_say() is false.
nlohmann::ordered_json to_json(const Key& key, const Setting& setting);

/// What is said of a setting for which can_say() is false; at: pointer of the object.
Error out_of_range(const Key& key, const Setting& setting, std::string_view at);

/// "write a whole number from 1 to 4096, without quotes": what the key accepts.
std::string remedy(const Key& key);

}  // namespace orrery::documents
