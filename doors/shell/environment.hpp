// The variables of a script while it is read.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "doors/shell/traced.hpp"

namespace orrery::doors::shell {

/// A scalar has one value; a list any number.
struct Variable {
    std::vector<Traced> values = {};
    bool list = false;
};

class Environment {
public:
    /// nullptr for a name that nothing has set.
    [[nodiscard]] const Variable* find(std::string_view name) const;
    void set(const std::string& name, Variable value) { variables_[name] = std::move(value); }

    /// $1, $2, ...: of the script, or of the function that is being read.
    std::vector<Traced> arguments;

    /// Counts text that was made, so that a script that doubles a variable a hundred times ends with an Error.
    void spend(std::size_t characters) const;

private:
    std::map<std::string, Variable, std::less<>> variables_;
    mutable std::size_t spent_ = 0;
};

}  // namespace orrery::doors::shell
