// The usual keys of a scenario as options of their own: --model llama3-70b --gpus 512 --tensor 8. Each says the same as
// --set with its key; together they make a scenario without a file.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario.hpp"

namespace CLI {
class App;
}

namespace orrery::cli {

class ScenarioFlags {
public:
    /// taken: options that mean something else in this command.
    void add_to(CLI::App& command, std::initializer_list<std::string_view> taken);
    [[nodiscard]] bool given() const { return !values_.empty() || gpus_ > 0; }
    /// What they change in a document. `file`: for messages, and for paths relative to it. Throws Error for what is no
    /// value of its key.
    [[nodiscard]] std::vector<scenarios::Override> changes(const nlohmann::json& document,
                                                           const std::string& file) const;
    /// The scenario that they make without a file. Throws Error.
    [[nodiscard]] nlohmann::json scenario() const;
    /// The words of a command line that say the same; each begins with a blank.
    [[nodiscard]] std::string words() const;

private:
    [[nodiscard]] std::string name() const;

    std::map<std::string, std::string, std::less<>> values_;  ///< by option
    std::uint32_t gpus_ = 0;
};

/// What stands in for the scenario's file in messages.
inline constexpr std::string_view no_file = "command line";

}  // namespace orrery::cli
