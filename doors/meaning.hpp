// What a flag or key of another program means for a scenario: one row each, in a table for every format. The names that
// a scenario's own keys have elsewhere are not repeated here: documents/key.hpp has them (Spelling).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/draft.hpp"

namespace orrery::doors {

/// How many words follow a flag of a command line.
enum class Takes : std::uint8_t { none, one, any };

enum class Act : std::uint8_t {
    key,       ///< its value is that of a key of the scenario which has this spelling, or which is refused by it
    sets,      ///< switched on or off, a key has a certain value
    harmless,  ///< has no effect on time or memory
    noted,     ///< has one that no prediction stands for yet
    refused,   ///< makes another training of it
    rule,      ///< read by the format's own rules, together with others
};

struct Row {
    std::string_view name;  ///< with '_' for '-'; of nested keys the path, "fp16.enabled"; "fp16.*": all others below
    Act act{};
    Takes takes = Takes::one;
    std::string_view pointer = {};             ///< sets: the key
    std::string_view on = {}, off = {};        ///< sets: its JSON value when switched on, and off
    std::string_view idle = {};                ///< key, noted, refused: a value with which it does nothing
    std::string_view what = {}, instead = {};  ///< noted, refused
};

constexpr Row key(std::string_view name, std::string_view idle = {}) {
    return {.name = name, .act = Act::key, .idle = idle};
}
/// A key that a command line switches on.
constexpr Row key_switch(std::string_view name) { return {.name = name, .act = Act::key, .takes = Takes::none}; }
constexpr Row sets(std::string_view name, std::string_view pointer, std::string_view on, std::string_view off = "") {
    return {.name = name, .act = Act::sets, .takes = Takes::none, .pointer = pointer, .on = on, .off = off};
}
constexpr Row harmless(std::string_view name, Takes takes = Takes::one) {
    return {.name = name, .act = Act::harmless, .takes = takes};
}
constexpr Row noted(std::string_view name, std::string_view what, std::string_view instead, Takes takes = Takes::one,
                    std::string_view idle = "") {
    return {.name = name, .act = Act::noted, .takes = takes, .idle = idle, .what = what, .instead = instead};
}
constexpr Row refused(std::string_view name, std::string_view what, std::string_view instead, Takes takes = Takes::one,
                      std::string_view idle = "") {
    return {.name = name, .act = Act::refused, .takes = takes, .idle = idle, .what = what, .instead = instead};
}
constexpr Row rule(std::string_view name, Takes takes = Takes::one) {
    return {.name = name, .act = Act::rule, .takes = takes};
}

/// One thing that a file says.
struct Given {
    std::string name;  ///< as rows have it
    nlohmann::ordered_json value;
    Origin origin;
};

/// What a file says, in its order; the last word on a name counts.
class Givens {
public:
    /// Throws Error when there are more than anybody has written.
    void add(Given given);
    [[nodiscard]] const std::vector<Given>& all() const { return all_; }

    /// nullptr where it is not given, or null.
    [[nodiscard]] const Given* find(std::string_view name) const;
    /// The first of several names that is given.
    [[nodiscard]] const Given* find_any(std::initializer_list<std::string_view> names) const;
    /// Whether it is given and neither false nor 0.
    [[nodiscard]] bool is_on(std::string_view name) const;
    /// Its text; "" where it is not given.
    [[nodiscard]] std::string text(std::string_view name) const;

private:
    std::vector<Given> all_;
};

/// A value in messages and comparisons: a text as it is, others as JSON.
std::string text_of(const nlohmann::ordered_json& value);

/// Does what the rows say of every name that is given; those of no row are unknown. `rule`s are left to the caller.
void apply(std::span<const Row> table, const Givens& givens, Draft& draft);

/// A whole number that a rule needs; nothing (and a finding) where it is none. least: below it is refused.
std::optional<std::uint64_t> whole_of(const Given& given, Draft& draft, std::uint64_t least = 1);

/// Sets a key by its own name from what a file says, converted as the key wants it; what it cannot be is refused with
/// the key's remedy, and what is not known is wanted.
void set_key(const std::string& pointer, const Given& given, Draft& draft);

/// What asks for tensor-parallel collectives in parts beside products: without effect where the draft, whose division
/// among ranks is known, has no sequence parallelism.
void overlap_tensor_comm(const Given& given, Draft& draft);

/// The row of a name, else that of the nearest group ("fp16.*") around it; nullptr where there is none.
const Row* find_row(std::span<const Row> table, std::string_view name);

}  // namespace orrery::doors
