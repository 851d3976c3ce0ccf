// Points of a grid of any number of dimensions, the first varying fastest, and the orders in which a route can take the
// dimensions. Shared by torus and HyperX.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace orrery::topology {

class Grid {
public:
    static constexpr std::size_t most_dimensions = 8;
    using Point = std::array<std::uint32_t, most_dimensions>;

    explicit Grid(std::vector<std::uint32_t> sizes);

    [[nodiscard]] std::size_t dimensions() const { return sizes_.size(); }
    [[nodiscard]] const std::vector<std::uint32_t>& sizes() const { return sizes_; }
    [[nodiscard]] std::uint32_t size(std::size_t dimension) const { return sizes_[dimension]; }
    [[nodiscard]] std::uint32_t points() const { return points_; }
    [[nodiscard]] Point at(std::uint32_t number) const;
    /// The number of a point that differs from `number` in one dimension only.
    [[nodiscard]] std::uint32_t moved(std::uint32_t number, std::size_t dimension, std::uint32_t to) const;
    /// "4 x 4 x 8".
    [[nodiscard]] std::string to_text() const;

private:
    std::vector<std::uint32_t> sizes_, strides_;
    std::uint32_t points_ = 1;
};

/// Up to eight dimensions in some order.
struct Order {
    std::array<std::uint8_t, Grid::most_dimensions> dimension{};
    std::size_t count = 0;
    void add(std::size_t d) { dimension[count++] = static_cast<std::uint8_t>(d); }
    /// The n-th permutation in lexical order; n < count!. 0 keeps the order.
    [[nodiscard]] Order permuted(std::uint32_t n) const;
};

/// n!, for n up to 8.
std::uint32_t factorial(std::size_t n);

}  // namespace orrery::topology
