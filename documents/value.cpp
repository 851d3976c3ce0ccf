#include "documents/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "documents/message.hpp"

namespace orrery::documents {

Value::Value(const nlohmann::json& value, std::string file, std::string remedy, std::string pointer)
    : value_(&value), file_(std::move(file)), remedy_(std::move(remedy)), pointer_(std::move(pointer)) {}

void Value::fail(std::string message, std::string hint) const {
    throw Error(file_, pointer_, std::move(message), hint.empty() ? remedy_ : std::move(hint));
}

const Value& Value::only(std::span<const std::string_view> keys) const {
    if (!value_->is_object()) fail(fmt::format("{} is no object", shown(*value_)));
    for (const auto& [key, ignored] : value_->items()) {
        if (std::ranges::find(keys, key) != keys.end()) continue;
        throw Error(file_, child_pointer(pointer_, key), fmt::format("unknown key \"{}\"", printable(key)),
                    fmt::format("the nearest known key is \"{}\"; {}",
                                nearest(std::string_view(key).substr(0, 64), keys, 1).front(), remedy_));
    }
    return *this;
}

bool Value::has(std::string_view key) const { return value_->is_object() && value_->contains(key); }

Value Value::at(std::string_view key) const {
    if (!value_->is_object()) fail(fmt::format("{} is no object", shown(*value_)));
    const auto found = value_->find(key);
    std::string place = child_pointer(pointer_, key);
    if (found == value_->end())
        throw Error(file_, std::move(place), fmt::format("the key \"{}\" is missing", key), remedy_);
    return {*found, file_, remedy_, std::move(place)};
}

std::vector<std::pair<std::string, Value>> Value::entries() const {
    if (!value_->is_object()) fail(fmt::format("{} is no object", shown(*value_)));
    std::vector<std::pair<std::string, Value>> all;
    for (const auto& [key, ignored] : value_->items()) all.emplace_back(key, at(std::string_view(key)));
    return all;
}

std::size_t Value::size() const {
    if (!value_->is_array()) fail(fmt::format("{} is no list", shown(*value_)));
    return value_->size();
}

Value Value::at(std::size_t index) const { return {(*value_)[index], file_, remedy_, child_pointer(pointer_, index)}; }

std::vector<Value> Value::list() const {
    std::vector<Value> all;
    for (std::size_t i = 0; i < size(); ++i) all.push_back(at(i));
    return all;
}

std::vector<double> Value::numbers() const {
    std::vector<double> all(size());
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = (*value_)[i].is_number() ? (*value_)[i].get<double>() : at(i).number();
    return all;
}

std::vector<std::uint32_t> Value::counts() const {
    std::vector<std::uint32_t> all(size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = at(i).count32();
    return all;
}

void Value::expect_size(std::size_t rows) const {
    if (size() != rows) fail(fmt::format("has {} values where the table has {} rows", size(), rows));
}

std::string Value::text() const {
    if (!value_->is_string()) fail(fmt::format("{} is not text", shown(*value_)));
    return value_->get<std::string>();
}

bool Value::boolean() const {
    if (!value_->is_boolean()) fail(fmt::format("{} is neither true nor false", shown(*value_)));
    return value_->get<bool>();
}

double Value::number(double least) const {
    if (!value_->is_number()) fail(fmt::format("{} is not a number", shown(*value_)));
    const auto number = value_->get<double>();
    if (!std::isfinite(number) || number < least) fail(fmt::format("{} is out of range", shown(*value_)));
    return number;
}

std::uint64_t Value::count(std::uint64_t most) const {
    if (!value_->is_number_unsigned()) fail(fmt::format("{} is not a whole number of at least 0", shown(*value_)));
    const auto count = value_->get<std::uint64_t>();
    if (count > most) fail(fmt::format("{} is out of range", count), fmt::format("at most {}", most));
    return count;
}

std::uint32_t Value::count32() const {
    return static_cast<std::uint32_t>(count(std::numeric_limits<std::uint32_t>::max()));
}

bool Value::is_null() const { return value_->is_null(); }

}  // namespace orrery::documents
