// The fields of a struct as keys of a JSON object: one table reads, checks and documents them, and
// documents/write_fields.hpp writes them.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "documents/key.hpp"
#include "documents/reader.hpp"

namespace orrery::documents {

/// A key and the member of the struct that holds what stands under it.
template <class Struct>
struct Field {
    Key key;
    Setting (*get)(const Struct&);
    void (*set)(Struct&, const Setting&);  ///< of the alternative that get() returns
};

namespace detail {

template <class Member>
struct Of;
template <class Struct, class Type>
struct Of<Type Struct::*> {
    using type = Struct;
};

/// object.first.second...
template <auto... path>
constexpr auto& follow(auto& object) {
    return (object.*....*path);
}

/// Entries of a std::array of whole numbers; 0: another type.
template <class Type>
inline constexpr std::size_t entries_of = 0;
template <std::integral Whole, std::size_t count>
inline constexpr std::size_t entries_of<std::array<Whole, count>> = count;

template <class Type>
constexpr Kind kind_of() {
    if constexpr (std::is_enum_v<Type>)
        return Kind::choice;
    else if constexpr (std::same_as<Type, bool>)
        return Kind::boolean;
    else if constexpr (std::is_integral_v<Type>)
        return Kind::integer;
    else if constexpr (std::is_floating_point_v<Type>)
        return Kind::number;
    else if constexpr (entries_of<Type> > 0)
        return Kind::integers;
    else
        return Kind::text;
}

template <class Type>
Setting setting_of(const Type& value) {
    if constexpr (kind_of<Type>() == Kind::choice || kind_of<Type>() == Kind::integer)
        return static_cast<std::uint64_t>(value);
    else if constexpr (kind_of<Type>() == Kind::integers)
        return std::vector<std::uint64_t>(value.begin(), value.end());
    else
        return value;
}

template <class Type>
void assign(Type& member, const Setting& setting) {
    if constexpr (kind_of<Type>() == Kind::choice || kind_of<Type>() == Kind::integer)
        member = static_cast<Type>(std::get<std::uint64_t>(setting));
    else if constexpr (kind_of<Type>() == Kind::integers)
        std::ranges::transform(std::get<std::vector<std::uint64_t>>(setting), member.begin(),
                               [](std::uint64_t whole) { return static_cast<typename Type::value_type>(whole); });
    else
        member = std::get<Type>(setting);
}

/// Converts to anything: for counting the members of an aggregate.
struct Anything {
    template <class Type>
    operator Type() const;  // NOLINT(google-explicit-constructor)
};

template <class Aggregate, class... Members>
constexpr std::size_t members() {
    if constexpr (requires { Aggregate{std::declval<Members>()..., Anything{}}; })
        return members<Aggregate, Members..., Anything>();
    else
        return sizeof...(Members);
}

}  // namespace detail

/// How many members a struct without constructors has: so many fields must describe it.
template <class Aggregate>
inline constexpr std::size_t members_of = detail::members<Aggregate>();

/// A field by the way to its member: field<&Training::precision, &Precision::compute>. The member's type decides the
/// kind of the key.
template <auto first, auto... more>
constexpr auto field(Key key) {
    using Struct = typename detail::Of<decltype(first)>::type;
    using Type = std::remove_cvref_t<decltype(detail::follow<first, more...>(std::declval<Struct&>()))>;
    key.kind = detail::kind_of<Type>();
    key.entries = detail::entries_of<Type>;
    return Field<Struct>{
        key, [](const Struct& of) { return detail::setting_of(detail::follow<first, more...>(of)); },
        [](Struct& of, const Setting& value) { detail::assign(detail::follow<first, more...>(of), value); }};
}

/// The same of a size in bytes, which is written with its unit.
template <auto member>
constexpr auto bytes_field(Key key) {
    auto result = field<member>(key);
    result.key.kind = Kind::bytes;
    return result;
}

/// The same of a time in seconds.
template <auto member>
constexpr auto duration_field(Key key) {
    auto result = field<member>(key);
    result.key.kind = Kind::duration;
    return result;
}

/// The same of bytes per second.
template <auto member>
constexpr auto rate_field(Key key) {
    auto result = field<member>(key);
    result.key.kind = Kind::rate;
    return result;
}

/// Sets the fields that the object states; a field whose key is none of the object's section stays. Throws Error with
/// file and pointer.
template <class Struct>
void read_fields(const Reader& reader, std::span<const Field<Struct>> fields, Struct& to) {
    for (const Field<Struct>& field : fields)
        if (reader.has(field.key.name)) field.set(to, *reader.setting(field.key.name));
}

/// Refuses what no key can say, but for defaults of fields that need not be stated. Throws Error with pointer below
/// `at`, value and range.
template <class Struct>
void check_fields(std::span<const Field<Struct>> fields, const Struct& of, std::string_view at) {
    const Struct usual{};
    for (const Field<Struct>& field : fields) {
        const Setting setting = field.get(of);
        if (can_say(field.key, setting) || (!field.key.required && setting == field.get(usual))) continue;
        throw out_of_range(field.key, setting, at);
    }
}

/// The keys of a struct's fields.
template <class Struct>
std::vector<Key> keys_of(std::span<const Field<Struct>> fields) {
    std::vector<Key> keys;
    for (const Field<Struct>& field : fields) keys.push_back(field.key);
    return keys;
}

}  // namespace orrery::documents
