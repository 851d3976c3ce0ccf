// The images a run trains on: synthetic ones that can be told apart.
#pragma once

#include <cstdint>
#include <vector>

#include "models/model_spec.hpp"

namespace orrery::run {

/// Every rank asks for the images of its share of a batch by their number, so that every mesh sees the same batches.
class Images {
public:
    Images(const models::ModelSpec& spec, std::uint64_t seed);

    struct Example {
        std::vector<float> pixels;  ///< [rows, columns, colours]
        std::int32_t label = 0;
    };
    /// Of a class drawn at random the pattern, which is one for all its images, and as much noise, both uniform in
    /// (-1, 1).
    [[nodiscard]] Example example(std::uint64_t step, std::uint64_t sample) const;

private:
    std::uint64_t classes_, numbers_, seed_;
};

}  // namespace orrery::run
