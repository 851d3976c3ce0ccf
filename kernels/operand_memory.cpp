#include "kernels/operand_memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "base/random.hpp"

namespace orrery::kernels {

namespace {

constexpr int quantile_bits = 12;
constexpr std::size_t quantiles = std::size_t{1} << quantile_bits;
using Quantiles = std::array<double, quantiles>;

/// Standard normal numbers, drawn once: operands pick among them.
const Quantiles& normal_numbers() {
    static const Quantiles numbers = [] {
        Quantiles drawn;
        std::mt19937_64 random(20170612);
        std::uniform_real_distribution<double> uniform(0x1p-53, 1.0);
        for (std::size_t i = 0; i < quantiles; i += 2) {  // Box and Muller
            const double radius = std::sqrt(-2 * std::log(uniform(random))), angle = 2 * M_PI * uniform(random);
            drawn[i] = radius * std::cos(angle);
            drawn[i + 1] = radius * std::sin(angle);
        }
        return drawn;
    }();
    return numbers;
}

Quantiles numbers_of(const Operand& operand) {
    Quantiles numbers = normal_numbers();
    if (operand.fill == Fill::positive)
        for (double& x : numbers) x = std::fabs(x);
    if (operand.fill == Fill::probability)
        for (std::size_t i = 0; i < quantiles; ++i)
            numbers[i] = -std::log((static_cast<double>(i) + 0.5) / quantiles) / static_cast<double>(operand.bound);
    return numbers;
}

/// Elements that are each one of `quantiles` numbers, encoded once.
void fill_real(const Operand& operand, std::uint64_t key, std::byte* to) {
    const std::uint32_t bytes = size_of(operand.format);
    std::array<std::byte, quantiles * 4> encoded;
    const Quantiles numbers = numbers_of(operand);
    for (std::size_t i = 0; i < quantiles; ++i) encode(operand.format, numbers[i], encoded.data() + i * bytes);
    for (std::uint64_t i = 0; i < operand.elements; ++i)
        std::memcpy(to + i * bytes, encoded.data() + (mixed(key + i) >> (64 - quantile_bits)) * bytes, bytes);
}

void fill_whole(const Operand& operand, std::uint64_t key, std::byte* to) {
    std::vector<std::int32_t> numbers(operand.elements);
    if (operand.fill == Fill::permutation) {
        std::iota(numbers.begin(), numbers.end(), 0);
        for (std::uint64_t i = operand.elements; i > 1; --i)  // Fisher and Yates
            std::swap(numbers[i - 1], numbers[mixed(key + i) % i]);
    } else {
        for (std::uint64_t i = 0; i < operand.elements; ++i)
            numbers[i] = static_cast<std::int32_t>(mixed(key + i) % operand.bound);
    }
    std::memcpy(to, numbers.data(), operand.bytes());
}

}  // namespace

std::vector<std::byte> host_values(const Operand& operand, std::uint64_t seed, std::size_t position) {
    std::vector<std::byte> values(operand.bytes(), std::byte{0xff});
    const std::uint64_t key = mixed(mixed(seed) + position);
    switch (operand.fill) {
        case Fill::normal:
        case Fill::positive:
        case Fill::probability: fill_real(operand, key, values.data()); break;
        case Fill::index:
        case Fill::permutation: fill_whole(operand, key, values.data()); break;
        case Fill::keep:
            for (std::uint64_t i = 0; i < operand.elements; ++i)
                values[i] = std::byte{static_cast<double>(mixed(key + i)) < keep_probability * 0x1p64};
            break;
        case Fill::forward:
        case Fill::poison: break;
    }
    return values;
}

OperandMemory::OperandMemory(Device& device, const Kernel& kernel, const Settings& settings)
    : device_(&device), kernel_(kernel), operands_(kernels::operands(kernel, settings)) {
    pointers_.reserve(operands_.size());
    try {
        for (const Operand& operand : operands_) pointers_.push_back(device.allocate(operand.bytes()));
    } catch (...) {
        for (void* const memory : pointers_) device.release(memory);
        throw;
    }
}

OperandMemory::~OperandMemory() {
    for (void* const memory : pointers_) device_->release(memory);
}

OperandMemory::OperandMemory(OperandMemory&& other) noexcept
    : device_(other.device_),
      kernel_(other.kernel_),
      operands_(std::move(other.operands_)),
      pointers_(std::exchange(other.pointers_, {})) {}

std::vector<std::vector<std::byte>> OperandMemory::fill(std::uint64_t seed) {
    std::vector<std::vector<std::byte>> values;
    for (std::size_t i = 0; i < operands_.size(); ++i) values.push_back(host_values(operands_[i], seed, i));
    if (forward_of(kernel_)) fill_from_forward(values, seed);
    for (std::size_t i = 0; i < operands_.size(); ++i) upload(i, values[i]);
    device_->synchronize();
    return values;
}

void OperandMemory::fill_from_forward(std::vector<std::vector<std::byte>>& values, std::uint64_t seed) {
    OperandMemory forward(*device_, *forward_of(kernel_));
    const auto position_of = [&](std::string_view name) {
        return std::find_if(operands_.begin(), operands_.end(), [&](const Operand& o) { return o.name == name; }) -
               operands_.begin();
    };
    const std::size_t absent = operands_.size();
    for (std::size_t i = 0; i < forward.operands_.size(); ++i) {
        const std::size_t shared = position_of(forward.operands_[i].name);
        forward.upload(i, shared != absent ? values[shared] : host_values(forward.operands_[i], seed, i));
    }
    device_->launch(forward.kernel_, forward.pointers(), 0);
    for (std::size_t i = 0; i < forward.operands_.size(); ++i) {
        const std::size_t shared = position_of(forward.operands_[i].name);
        if (shared != absent && operands_[shared].fill == Fill::forward) values[shared] = forward.download(i);
    }
}

void OperandMemory::upload(std::size_t position, const std::vector<std::byte>& values) {
    device_->copy(CopyKind::host_to_device, pointers_[position], values.data(), values.size(), 0);
    device_->synchronize();
}

std::vector<std::byte> OperandMemory::download(std::size_t position) const {
    std::vector<std::byte> values(operands_[position].bytes());
    device_->copy(CopyKind::device_to_host, values.data(), pointers_[position], values.size(), 0);
    device_->synchronize();
    return values;
}

}  // namespace orrery::kernels
