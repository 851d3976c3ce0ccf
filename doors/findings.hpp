// What an importer has to say of a file beside the scenario: everything that did not simply become a key of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace orrery::doors {

/// Where something stands: a line of a script ("12") or a JSON pointer ("/model/hidden_size") in a file.
struct Place {
    std::string file, at;
};
/// "train.sh:12", "config.yaml:/model/hidden_size".
std::string to_text(const Place& place);

enum class Verdict : std::uint8_t {
    harmless,      ///< has no effect on time or memory
    not_modelled,  ///< has one, which the prediction leaves out
    unknown,       ///< nobody here knows it
    refused,       ///< without it the scenario would be of another training, or of none
};

struct Finding {
    Verdict verdict{};
    Place place;
    std::string name;    ///< the flag or key, as its author wrote it; "" where it is about none
    std::string what;    ///< a clause: "the optimizer in host memory is not modelled yet"
    std::string remedy;  ///< empty for what is harmless
};

/// The finding as the error that a strict reader makes of it.
Error error_of(const Finding& finding);

class Findings {
public:
    void harmless(const Place& place, std::string name);
    void not_modelled(const Place& place, std::string name, std::string what, std::string remedy);
    void unknown(const Place& place, std::string name, std::string remedy);
    void refuse(const Place& place, std::string name, std::string what, std::string remedy);
    /// The same of an error that something else found.
    void refuse(const Error& error, const Place& place, std::string name = "");

    [[nodiscard]] const std::vector<Finding>& all() const { return all_; }
    [[nodiscard]] bool any(Verdict verdict) const;

private:
    std::vector<Finding> all_;
};

}  // namespace orrery::doors
