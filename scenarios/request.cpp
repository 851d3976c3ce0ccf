#include "scenarios/request.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "documents/document.hpp"
#include "scenarios/override.hpp"
#include "scenarios/shipped.hpp"

namespace orrery::scenarios {

namespace {

/// The same error with an option as its remedy, where a key is missing that has one.
Error with_option(const Error& error) {
    if (error.message().find("is missing") == std::string::npos) return error;
    for (const UsualKeys::Key& key : UsualKeys::all())
        if (error.pointer() == pointer_of({key.path, ""}))
            return {error.file(), error.pointer(), error.message(), fmt::format("add --{}: {}", key.name, key.help)};
    return error;
}

}  // namespace

std::string Request::source() const { return file.empty() ? std::string(unnamed) : file; }

nlohmann::json Request::document() const {
    if (given) return *given;
    if (!file.empty()) return documents::read_document(file_of(file), documents::commented);
    if (!keys.given()) throw Error("no SCENARIO is named", std::string(remedy));
    return keys.scenario(source());
}

std::vector<Override> Request::overrides(const nlohmann::json& document) const {
    std::vector<Override> all;
    if (!file.empty() && keys.given()) all = keys.changes(document, file);
    for (const std::string& text : set) all.push_back(parse_override(text));
    return all;
}

Request Request::unchanged() const {
    Request request = *this;
    request.set.clear();
    if (!file.empty()) request.keys = {};
    return request;
}

Scenario Request::load() const {
    const bool of_options = !given && file.empty();
    try {
        const nlohmann::json read = document();
        return scenarios::load(read, source(), overrides(read));
    } catch (const Error& error) {
        if (!of_options) throw;
        throw with_option(error);
    }
}

topology::ClusterSpec Request::load_cluster() const {
    const nlohmann::json read = document();
    return scenarios::load_cluster(read, source(), overrides(read));
}

std::string Request::command(std::string_view name) const {
    std::string text = fmt::format("orrery {}", name);
    if (!file.empty()) text += ' ' + shell_word(file);
    text += keys.words();
    for (const std::string& each : set) text += " --set " + shell_word(each);
    return text;
}

}  // namespace orrery::scenarios
