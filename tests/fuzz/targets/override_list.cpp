// `--set path=value`, one a line, over a sound scenario.
#include <nlohmann/json.hpp>
#include <sstream>

#include "documents/document.hpp"
#include "scenarios/override.hpp"
#include "tests/fuzz/resolved_again.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

namespace {

using nlohmann::json;

const json& sound() {
    static const json document = json::parse(R"({
        "name": "sound", "model": {"name": "gpt2"}, "cluster": {"preset": "dgx-a100", "nodes": 2},
        "strategy": {"tensor": 2, "pipeline": 2, "data": 4},
        "training": {"seq_length": 512, "micro_batch_size": 1, "global_batch_size": 32},
        "perturbations": {"stragglers": ["rank 3 x 1.5"]}, "outputs": {"token_budget": "300B"}})");
    return document;
}

/// An error names the file, the option that made it what it is, or a file that this names.
void require_helpful_of_options(const Error& error) {
    require(!error.file().empty(), std::string("an error names a file or an option: ") + error.what());
    require_helpful(error, error.file());
}

/// A value that was set stands where the path says; null removes what stood there.
void require_set(const json& document, const scenarios::Override& change) {
    const json::json_pointer pointer(scenarios::pointer_of(change));
    json value;
    try {
        value = documents::parse_document(change.value, "value");
    } catch (const Error&) {
        value = change.value;
    }
    if (!value.is_null())
        require(document.contains(pointer) && document.at(pointer) == value,
                "what --set says stands where it says: " + scenarios::describe(change));
}

}  // namespace

bool override_list(const std::string& input) {
    try {
        json document = sound();
        std::istringstream lines(input);
        std::size_t left = 8;
        for (std::string line; left > 0 && std::getline(lines, line); --left) {
            const scenarios::Override change = scenarios::parse_override(line);
            scenarios::apply_override(document, change);
            require_set(document, change);
        }
        require_resolves(scenarios::from_json(document, "input.json"));
        return true;
    } catch (const Error& error) {
        require_helpful_of_options(error);
        return false;
    }
}

}  // namespace orrery::fuzz
