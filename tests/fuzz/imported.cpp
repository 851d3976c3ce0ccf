#include "tests/fuzz/imported.hpp"

#include <nlohmann/json.hpp>

#include "doors/import.hpp"
#include "scenarios/scenario.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

namespace {

/// 32 H100, and what files of some kinds leave to the command line.
doors::Request request_for(std::string_view importer) {
    doors::Request request;
    request.file = InputFile::path();
    request.cluster = "dgx-h100";
    request.gpus = 32;
    const bool is_model = importer == "hf", is_plan = importer == "deepspeed";
    if (is_plan) request.changes.push_back({"model.name", "gpt2"});
    if (is_plan || is_model) request.changes.push_back({"training.seq_length", "512"});
    if (is_model) request.changes.push_back({"training.global_batch_size", "64"});
    return request;
}

}  // namespace

bool becomes_scenario(std::string_view importer, const std::string& input) {
    const InputFile file(input);
    doors::Imported imported;
    const bool read = accepts(InputFile::path(), [&] {
        imported = doors::import_scenario(doors::find_importer(importer), request_for(importer));
    });
    if (!read) return false;
    for (const doors::Finding& finding : imported.findings) {
        if (finding.verdict == doors::Verdict::harmless) continue;
        require(!finding.what.empty(), "a finding says what it is about");
        require(!finding.remedy.empty(), "a finding says what to do: " + finding.what);
    }
    if (imported.refused()) return false;
    try {
        (void)scenarios::from_json(nlohmann::json::parse(imported.scenario), "imported.json");
    } catch (const std::exception& error) {
        throw Broken("broken: what was imported is no scenario: " + std::string(error.what()));
    }
    return true;
}

}  // namespace orrery::fuzz
