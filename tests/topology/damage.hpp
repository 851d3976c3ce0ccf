// Files that something went wrong with.
#pragma once

#include <random>
#include <string>

namespace orrery::topology {

/// The text with so many of its characters replaced or runs of them left out.
inline std::string damaged(std::string text, int places, std::mt19937_64& random) {
    for (int k = 0; k < places; ++k) {
        const std::size_t at = random() % text.size();
        if (random() % 2 == 0) {
            text[at] = static_cast<char>(random() % 256);
        } else {
            text.erase(at, random() % 20);
        }
    }
    return text;
}

}  // namespace orrery::topology
