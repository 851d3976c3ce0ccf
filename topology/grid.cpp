#include "topology/grid.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace orrery::topology {

Grid::Grid(std::vector<std::uint32_t> sizes) : sizes_(std::move(sizes)) {
    for (const std::uint32_t size : sizes_) {
        strides_.push_back(points_);
        points_ *= size;
    }
}

Grid::Point Grid::at(std::uint32_t number) const {
    Point point{};
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
        point[d] = number % sizes_[d];
        number /= sizes_[d];
    }
    return point;
}

std::uint32_t Grid::moved(std::uint32_t number, std::size_t dimension, std::uint32_t to) const {
    const std::uint32_t from = number / strides_[dimension] % sizes_[dimension];
    return number + (to - from) * strides_[dimension];
}

std::string Grid::to_text() const {
    std::vector<std::string> words;
    for (const std::uint32_t size : sizes_) words.push_back(std::to_string(size));
    return join(words, " x ");
}

Order Order::permuted(std::uint32_t n) const {
    Order result, left = *this;
    while (left.count > 0) {
        const std::uint32_t each = factorial(left.count - 1), pick = n / each % static_cast<std::uint32_t>(left.count);
        n %= each;
        result.add(left.dimension[pick]);
        std::copy(left.dimension.begin() + pick + 1, left.dimension.begin() + left.count,
                  left.dimension.begin() + pick);
        --left.count;
    }
    return result;
}

std::uint32_t factorial(std::size_t n) {
    std::uint32_t product = 1;
    for (std::uint32_t i = 2; i <= n; ++i) product *= i;
    return product;
}

}  // namespace orrery::topology
