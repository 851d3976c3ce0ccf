#include "models/config_reader.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "documents/document.hpp"
#include "documents/message.hpp"

namespace orrery::models {

ConfigReader::ConfigReader(const std::filesystem::path& file) : file_(file.string()) {
    constexpr const char* wanted = "the path of a Hugging Face config.json";
    object_ = documents::parse_document(read_file(file, wanted, documents::max_document_bytes), file_,
                                        {.example = "name a Hugging Face config.json"});
    if (!object_.is_object())
        throw Error(file_, "", fmt::format("must be an object, found {}", object_.type_name()), wanted);
}

ConfigReader::ConfigReader(std::string file, std::string at, nlohmann::json object)
    : file_(std::move(file)), at_(std::move(at)), object_(std::move(object)) {}

ConfigReader ConfigReader::object(std::string_view key) const {
    const nlohmann::json* const found = value(key);
    if (found != nullptr && !found->is_object()) fail_type(key, *found, "an object");
    return {file_, fmt::format("{}/{}", at_, key), found == nullptr ? nlohmann::json::object() : *found};
}

const nlohmann::json* ConfigReader::value(std::string_view key) const {
    const auto found = object_.find(std::string(key));
    return found == object_.end() || found->is_null() ? nullptr : &*found;
}

bool ConfigReader::has_entries(std::string_view key) const {
    const nlohmann::json* found = value(key);
    return found != nullptr && found->is_array() && !found->empty();
}

bool ConfigReader::has_null(std::string_view key) const {
    const auto found = object_.find(std::string(key));
    return found != object_.end() && found->is_null();
}

void ConfigReader::fail(std::string_view key, std::string message, std::string hint) const {
    throw Error(file_, fmt::format("{}/{}", at_, key), std::move(message), std::move(hint));
}

void ConfigReader::fail_type(std::string_view key, const nlohmann::json& found, std::string_view wanted) const {
    fail(key, fmt::format("must be {}, found {}", wanted, documents::shown(found)), fmt::format("write {}", wanted));
}

std::uint32_t ConfigReader::count(std::string_view key) const {
    const auto found = optional_count(key);
    if (!found) fail(key, "missing", "this family of models needs it");
    return *found;
}

std::optional<std::uint32_t> ConfigReader::optional_count(std::string_view key, std::uint32_t least) const {
    const auto* found = value(key);
    if (found == nullptr) return std::nullopt;
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() < least || found->get<std::uint64_t>() > most)
        fail_type(key, *found, fmt::format("a whole number from {} to {}", least, most));
    return found->get<std::uint32_t>();
}

double ConfigReader::probability(std::string_view key, double otherwise) const {
    const auto* found = value(key);
    if (found == nullptr) return otherwise;
    if (!found->is_number() || !(found->get<double>() >= 0.0 && found->get<double>() < 1.0))
        fail_type(key, *found, "a number from 0 to below 1");
    return found->get<double>();
}

bool ConfigReader::flag(std::string_view key, bool otherwise) const {
    const auto* found = value(key);
    if (found == nullptr) return otherwise;
    if (!found->is_boolean()) fail_type(key, *found, "true or false");
    return found->get<bool>();
}

std::optional<std::string> ConfigReader::text(std::string_view key) const {
    const auto* found = value(key);
    if (found == nullptr) return std::nullopt;
    if (!found->is_string()) fail_type(key, *found, "a string");
    return found->get<std::string>();
}

std::vector<std::string> ConfigReader::texts(std::string_view key) const {
    const auto* found = value(key);
    if (found == nullptr) return {};
    if (!found->is_array()) fail_type(key, *found, "an array of strings");
    std::vector<std::string> all;
    for (std::size_t i = 0; i < found->size(); ++i) {
        const auto& element = (*found)[i];
        if (!element.is_string()) fail_type(fmt::format("{}/{}", key, i), element, "a string");
        all.push_back(element.get<std::string>());
    }
    return all;
}

std::size_t ConfigReader::entries(std::string_view key) const {
    const auto* found = value(key);
    if (found == nullptr) return 0;
    if (!found->is_structured()) fail_type(key, *found, "an object");
    return found->size();
}

}  // namespace orrery::models
