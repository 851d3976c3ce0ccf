// [ ... ] and [[ ... ]]: decided where the script alone decides them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::doors::shell {

/// words: expanded, without the brackets. Nothing where it hangs on files, commands or numbers that are not known.
std::optional<bool> decide(const std::vector<std::string>& words);

/// Whether the text fits a pattern of *, ? and plain characters.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace orrery::doors::shell
