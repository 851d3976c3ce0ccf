#include "kernels/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "base/overloaded.hpp"
#include "kernels/operand_memory.hpp"
#include "kernels/reference/reference.hpp"

namespace orrery::kernels {

namespace {

/// Steps of the reference spent on one output: about a tenth of a second.
constexpr std::uint64_t steps = 20'000'000;
/// Terms that one thread adds one after the other, at most.
constexpr std::uint64_t longest_sequence = 65536;
constexpr std::uint64_t least_samples = 32, most_samples = 16384;

std::uint64_t steps_per_element(const Kernel& kernel, std::size_t operand) {
    const std::uint64_t each = std::visit(
        Overloaded{
            [](const Gemm&) { return std::uint64_t{1}; },
            // Two or three products of length head_dim a term; backward as many again for the terms' magnitude.
            [](const Attention& a) { return (a.backward ? 6 : 3) * std::uint64_t{a.head_dim}; },
            [](const Pointwise&) { return std::uint64_t{1}; }, [](const Convolution&) { return std::uint64_t{1}; },
            [](const Pooling& p) { return std::uint64_t{p.window_rows} * p.window_columns; },
            [](const BatchNorm&) { return std::uint64_t{2}; }, [](const StateSpace&) { return std::uint64_t{1}; }},
        kernel);
    return terms(kernel, operand) * each + 1;
}

/// Between a kernel's products: what it rounds to the format of its operands.
double rounded_inside(const Kernel& kernel) {
    return std::visit(Overloaded{[](const Gemm&) { return 0.0; },
                                 [](const Attention& a) { return 2 * unit_roundoff(format_of(a.dtype)); },
                                 [](const Pointwise&) { return 0.0; }, [](const Convolution&) { return 0.0; },
                                 [](const Pooling&) { return 0.0; }, [](const BatchNorm&) { return 0.0; },
                                 [](const StateSpace&) { return 0.0; }},
                      kernel);
}

/// Tensor cores add the products of 16 terms at a time and cut what does not fit into fp32, always towards zero: each
/// such step takes up to u_fp32 of the sum so far, and these do not cancel. Of fp8 Hopper's add 32, and where they add
/// fast keep some 14 bits (DeepSeek-V3, arXiv:2412.19437, section 3.3.2).
double cut_off(const Kernel& kernel) {
    const auto* const gemm = std::get_if<Gemm>(&kernel);
    if (gemm == nullptr || gemm->dtype == Dtype::fp32) return 0;
    return is_narrow(gemm->dtype) ? 0x1p-14 * gemm->k / 32 : unit_roundoff(Format::fp32) * gemm->k / 16;
}

/// Half of the smallest positive number of a format: below its normal numbers rounding errs by as much, however small
/// the value is. fp16 meets it at probabilities over many classes.
double least_rounding(Format format) {
    if (unit_roundoff(format) == 0) return 0;  // whole numbers
    constexpr std::array<std::byte, 4> last_bit{std::byte{1}};
    return format == Format::tf32 ? 0 : decode(format, last_bit.data()) / 2;
}

/// Every element of a small output; of a large one a random sample with its first and last elements, rising.
std::vector<std::uint64_t> sample(const Kernel& kernel, std::size_t operand, std::uint64_t elements,
                                  std::uint64_t seed) {
    const std::uint64_t affordable =
        std::clamp(steps / steps_per_element(kernel, operand), least_samples, most_samples);
    std::vector<std::uint64_t> chosen;
    if (elements <= affordable) {
        for (std::uint64_t i = 0; i < elements; ++i) chosen.push_back(i);
        return chosen;
    }
    chosen = {0, elements - 1};
    std::mt19937_64 random(seed + operand);
    while (chosen.size() < affordable) chosen.push_back(random() % elements);
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return chosen;
}

std::uint64_t count_unwritten(const Operand& operand, const Values& after) {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < operand.elements; ++i) {
        const double value = after[i];
        count += !std::isfinite(value) || (operand.format == Format::int32 && value < 0) ||
                 (operand.format == Format::mask && value > 1);
    }
    return count;
}

OutputCheck check(const Kernel& kernel, std::size_t position, const Operand& operand, std::span<const Values> before,
                  const Values& after, std::uint64_t seed) {
    const std::vector<std::uint64_t> indices = sample(kernel, position, operand.elements, seed);
    std::vector<double> difference, sizes;
    double squares = 0, difference_squares = 0;
    for (const std::uint64_t i : indices) {
        const double expected = reference(kernel, before, position, i);
        sizes.push_back(std::max(std::fabs(expected), magnitude(kernel, before, position, i)));
        const double apart = std::fabs(after[i] - expected);
        difference.push_back(std::isnan(apart) ? apart : std::max(0.0, apart - least_rounding(operand.format)));
        squares += sizes.back() * sizes.back();
        difference_squares += difference.back() * difference.back();
    }
    OutputCheck result{.name = std::string(operand.name),
                       .elements = operand.elements,
                       .compared = indices.size(),
                       .unwritten = count_unwritten(operand, after),
                       .error = squares > 0 ? std::sqrt(difference_squares / squares) : std::sqrt(difference_squares),
                       .tolerance = tolerance(kernel, position)};
    const double rms = squares > 0 ? std::sqrt(squares / static_cast<double>(indices.size())) : 1.0;
    for (std::size_t i = 0; i < indices.size(); ++i)
        result.worst = std::max(result.worst, difference[i] / std::max(sizes[i], rms));
    return result;
}

}  // namespace

// With u the unit roundoff of a format and random rounding errors, in the norm:
// - the result is rounded once to the output's format: u_out. In-place sums (embedding_backward) round a few times;
// - fp32 arithmetic inside: each of `terms` additions rounds the partial sum, which grows as the square root of the
//   terms so far, so the sum's relative error grows as u_fp32 sqrt(terms); functions such as exp add a few u_fp32.
//   Threads and blocks share longer sums, so that none adds more than some ten thousand in sequence;
// - fused attention rounds probabilities and score gradients to the operands' format before the second products, as
//   FlashAttention does: u_dtype for each;
// - tensor cores cut their sums instead of rounding them: cut_off().
// Where terms cancel, errors follow the terms, so the norm is that of the terms (magnitude()). Three times each is
// allowed. Products of fp32 operands in tf32 (u = 4.9e-4) or bf16 exceed it by far.
double tolerance(const Kernel& kernel, std::size_t position) {
    const Operand operand = operands(kernel)[position];
    if (operand.format == Format::int32) return 0;
    const double single = unit_roundoff(Format::fp32);
    double rounding = unit_roundoff(operand.format) == 0 ? 0 : std::max(unit_roundoff(operand.format), single);
    rounding += rounded_inside(kernel) + cut_off(kernel);
    const auto sequence = static_cast<double>(std::min(terms(kernel, position), longest_sequence));
    return 3 * (rounding + single * (8 + std::sqrt(sequence)));
}

bool Verification::passed() const {
    return std::all_of(outputs.begin(), outputs.end(), [](const OutputCheck& output) { return output.passed(); });
}

std::string Verification::to_text() const {
    std::string text;
    for (const OutputCheck& o : outputs) {
        text += fmt::format("{}: error {:.1e} of at most {:.1e}, worst {:.1e}, {} of {} compared", o.name, o.error,
                            o.tolerance, o.worst, o.compared, o.elements);
        text += o.unwritten > 0 ? fmt::format(", {} never written or not finite\n", o.unwritten) : "\n";
    }
    return text;
}

Verification verify(Device& device, const Kernel& kernel, std::uint64_t seed) {
    OperandMemory memory(device, kernel);
    const auto filled = memory.fill(seed);
    std::vector<Values> before;
    for (std::size_t i = 0; i < filled.size(); ++i) before.push_back({memory.operands()[i].format, filled[i].data()});
    device.launch(kernel, memory.pointers(), 0);
    device.synchronize();
    Verification result;
    for (std::size_t i = 0; i < filled.size(); ++i) {
        const Operand& operand = memory.operands()[i];
        const std::vector<std::byte> after = memory.download(i);
        if (operand.role != Role::in)
            result.outputs.push_back(check(kernel, i, operand, before, {operand.format, after.data()}, seed));
        else if (after != filled[i])
            throw DeviceError(fmt::format("{} overwrote its input {}", to_text(kernel), operand.name),
                              "this is a defect of the device's kernel");
    }
    return result;
}

}  // namespace orrery::kernels
