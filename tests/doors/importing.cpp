#include "tests/doors/importing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/temporary_folder.hpp"
#include "base/text.hpp"

namespace orrery::doors {

Imported imported(std::string_view importer, std::string_view text, Request request,
                  const std::vector<std::string>& changes) {
    const TemporaryFolder folder("doors");
    request.file = (folder.path() / "input").string();
    std::ofstream(request.file, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
    for (const std::string& change : changes) request.changes.push_back(scenarios::parse_override(change));
    return import_scenario(find_importer(importer), request);
}

Imported of_arguments(const std::string& arguments, Request request) {
    std::istringstream words(arguments);
    for (std::string word; words >> word;) request.arguments.push_back(word);
    if (request.cluster.empty() && request.gpu.empty()) request.cluster = "dgx-a100";
    if (request.gpus == 0) request.gpus = 64;
    return import_scenario(find_importer("megatron"), request);
}

nlohmann::json at(const Imported& imported, const std::string& pointer) {
    const auto document = nlohmann::json::parse(imported.scenario);
    const nlohmann::json::json_pointer path(pointer);
    return document.contains(path) ? document.at(path) : nlohmann::json();
}

std::vector<std::string> said(const Imported& imported, Verdict verdict) {
    std::vector<std::string> all;
    for (const Finding& each : imported.findings)
        if (each.verdict == verdict) all.push_back(fmt::format("{} {}: {}", each.place.at, each.name, each.what));
    return all;
}

bool says(const Imported& imported, Verdict verdict, std::string_view text) {
    return std::ranges::any_of(said(imported, verdict),
                               [&](const std::string& each) { return each.find(text) != std::string::npos; });
}

std::string refusals(const Imported& imported) { return join(said(imported, Verdict::refused), "\n"); }

}  // namespace orrery::doors
