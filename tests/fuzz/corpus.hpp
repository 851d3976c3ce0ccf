// The inputs that a hunt begins with.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

struct Input {
    std::string file;
    std::string bytes;
};

/// tests/fuzz/corpus/NAME/*, and files of the project that the target reads, by name. The working directory is the
/// project's root.
std::vector<Input> corpus(const Target& target);

}  // namespace orrery::fuzz
