// The operands of one kernel in host memory, for tests of the reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "kernels/operand_memory.hpp"
#include "kernels/reference/reference.hpp"

namespace orrery::kernels {

class HostOperands {
public:
    explicit HostOperands(const Kernel& kernel, std::uint64_t seed = 1) : kernel_(kernel), list_(operands(kernel)) {
        for (std::size_t i = 0; i < list_.size(); ++i) data_.push_back(host_values(list_[i], seed, i));
    }

    [[nodiscard]] std::size_t position(std::string_view name) const {
        const auto found = std::find_if(list_.begin(), list_.end(), [&](const Operand& o) { return o.name == name; });
        EXPECT_NE(found, list_.end()) << name;
        return static_cast<std::size_t>(found - list_.begin());
    }
    [[nodiscard]] const Operand& operand(std::string_view name) const { return list_[position(name)]; }
    [[nodiscard]] const std::vector<Operand>& list() const { return list_; }

    [[nodiscard]] double get(std::string_view name, std::uint64_t i) const {
        return decode(operand(name).format, data_[position(name)].data() + i * size_of(operand(name).format));
    }
    void set(std::string_view name, std::uint64_t i, double value) {
        encode(operand(name).format, value, data_[position(name)].data() + i * size_of(operand(name).format));
    }
    void set(std::string_view name, const std::vector<double>& values) {
        ASSERT_EQ(values.size(), operand(name).elements);
        for (std::uint64_t i = 0; i < values.size(); ++i) set(name, i, values[i]);
    }

    /// An output as the reference computes it.
    [[nodiscard]] std::vector<double> compute(std::string_view name) const {
        std::vector<Values> before;
        for (std::size_t i = 0; i < list_.size(); ++i) before.push_back({list_[i].format, data_[i].data()});
        std::vector<double> result;
        for (std::uint64_t i = 0; i < operand(name).elements; ++i)
            result.push_back(reference(kernel_, before, position(name), i));
        return result;
    }

private:
    Kernel kernel_;
    std::vector<Operand> list_;
    std::vector<std::vector<std::byte>> data_;
};

}  // namespace orrery::kernels
