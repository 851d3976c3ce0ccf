#include "tests/run/reference_parts.hpp"

#include <array>

#include "kernels/dropout_mask.hpp"

namespace orrery::run {

ReferenceModel::ReferenceModel(const strategies::Plan& plan, const RunSettings& settings)
    : plan_(plan), spec_(plan_.model), settings_(settings) {}

void ReferenceModel::parameter(const std::string& name, std::size_t rows, std::size_t cols, Initial initial) {
    const M matrix = std::make_shared<Matrix>(rows, cols);
    Slice slice{.name = name, .initial = initial, .rows = {{0, rows}}};
    slice.global_cols = cols;
    const InitialValues initial_values(slice, settings_.seed);
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < cols; ++c) matrix->value[r * cols + c] = initial_values.at(r, c);
    parameters_[name] = matrix;
}

void ReferenceModel::linear(const std::string& name, std::size_t out, std::size_t in, bool bias, std::size_t count) {
    parameter(name + ".weight", out, in);
    if (bias) parameter(name + ".bias", count, out / count, Initial::zeros);
}

void ReferenceModel::norm(const std::string& name, std::size_t width) {
    parameter(name + ".weight", 1, width, Initial::ones);
    if (spec_.norm == models::NormKind::layernorm) parameter(name + ".bias", 1, width, Initial::zeros);
}

M ReferenceModel::normed(Tape& tape, const M& x, const std::string& name) {
    if (spec_.norm == models::NormKind::rmsnorm) return tape.rmsnorm(x, get(name + ".weight"));
    return tape.layernorm(x, get(name + ".weight"), get(name + ".bias"));
}

M ReferenceModel::applied(Tape& tape, const M& x, const std::string& name) {
    const M y = tape.product(x, get(name + ".weight"));
    return has(name + ".bias") ? tape.plus_row(y, get(name + ".bias")) : y;
}

std::function<double(std::uint64_t)> ReferenceModel::next_mask(Dropouts& at) const {
    const auto site = static_cast<std::uint32_t>(at.layer) * 256U + at.met++;
    const auto threshold = static_cast<std::uint64_t>(spec_.dropout * 0x1p32);
    return [=, seed = settings_.seed, step = at.step, rate = spec_.dropout](std::uint64_t element) {
        const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
        const kernels::PhiloxWords drawn =
            kernels::philox({low(element / 4), low(element / 4 >> 32U), step, site}, low(seed), low(seed >> 32U));
        const std::array<std::uint32_t, 4> words{drawn.x0, drawn.x1, drawn.x2, drawn.x3};
        return words[element % 4] < threshold ? 0.0 : 1 / (1 - rate);
    };
}

M ReferenceModel::dropped(Tape& tape, const M& x, Dropouts& at, std::uint64_t first) const {
    if (spec_.dropout == 0) return x;
    const auto mask = next_mask(at);
    std::vector<double> factors;
    for (std::uint64_t i = 0; i < x->value.size(); ++i) factors.push_back(mask(first * x->cols + i));
    return tape.times(x, factors);
}

M ReferenceModel::activated(Tape& tape, const M& x) {
    const auto curve = [&]() -> const Curve& {
        switch (spec_.activation) {
            case models::ActivationKind::gelu: break;
            case models::ActivationKind::silu: return silu;
            case models::ActivationKind::relu: return relu;
            case models::ActivationKind::squared_relu: return squared_relu;
        }
        return gelu;
    };
    return spec_.gated ? tape.gated(x, curve()) : tape.applied(x, curve());
}

}  // namespace orrery::run
