// A Hugging Face config.json. The model of one that is accepted is sound, and the same from a scenario's keys.
#include <nlohmann/json.hpp>

#include "models/catalog.hpp"
#include "models/operators.hpp"
#include "report/model_keys.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool hugging_face(const std::string& input) {
    const InputFile file(input);
    models::ModelSpec model;
    if (!accepts(InputFile::path(), [&] { model = models::import_hugging_face(InputFile::path()); })) return false;
    try {
        models::validate(model);
        require(!report::model_keys(model).dump().empty(), "a model can be written in the words of a scenario");
    } catch (const Error& error) {
        throw Broken("broken: an accepted model is unsound: " + std::string(error.what()));
    }
    return true;
}

}  // namespace orrery::fuzz
