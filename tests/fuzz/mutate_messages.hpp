// Changes of files of Protocol Buffers' messages, each with its length before it, that stay such files: fields are
// changed, left out, repeated and moved, and all lengths around them are those of what is there then.
#pragma once

#include <optional>
#include <string>

#include "tests/fuzz/mutate.hpp"

namespace orrery::fuzz {

/// Lies between the files of an input that has several: one rank's after the other.
inline constexpr std::string_view between_ranks = "\nRANK\n";

/// The files with one change; nothing where the bytes are no messages.
std::optional<std::string> mutated_messages(const std::string& bytes, Random& random);

/// A message of one in the place of one of the other, or beside it.
std::optional<std::string> spliced_messages(const std::string& into, const std::string& from, Random& random);

}  // namespace orrery::fuzz
