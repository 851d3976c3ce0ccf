// A scenario as a file to begin with: its keys, what each means, and those that one may want next.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace orrery::scenarios {

/// The text of a scenario file with a comment (//) above every key, from the table of keys (schema.hpp): meaning,
/// values, what holds where it is absent, its names elsewhere. Beside the keys of `document` it holds the other usual
/// keys (usual_keys.hpp) as comments, with the values of `resolved`, the same scenario with every value written out:
/// without its slashes such a line changes nothing.
std::string commented(const nlohmann::ordered_json& document, const nlohmann::ordered_json& resolved);

}  // namespace orrery::scenarios
