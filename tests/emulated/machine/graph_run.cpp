#include "tests/emulated/machine/graph_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::emulated {

using cudnn::Class;
using cudnn::Name;
using cudnn::Pointwise;
using cudnn::Reduction;
using Values = TensorRun::Values;

namespace {

bool serves(const Tensor& small, const Tensor& large) {
    for (std::size_t k = 0; k < 4; ++k)
        if (small.extents[k] != large.extents[k] && (small.extents[k] == 0 || large.extents[k] % small.extents[k] != 0))
            return false;
    return true;
}

}  // namespace

std::vector<Name> Operation::reads() const {
    switch (object->what) {
        case Class::matmul_operation: return {Name::matmul_a, Name::matmul_b};
        case Class::reduction_operation: return {Name::reduction_x};
        case Class::reshape_operation: return {Name::reshape_x};
        default: break;
    }
    std::vector<Name> names;
    for (const Name name : {Name::pointwise_x, Name::pointwise_b, Name::pointwise_t})
        if (object->has(name)) names.push_back(name);
    return names;
}

Name Operation::writes() const {
    switch (object->what) {
        case Class::matmul_operation: return Name::matmul_c;
        case Class::reduction_operation: return Name::reduction_y;
        case Class::reshape_operation: return Name::reshape_y;
        default: return Name::pointwise_y;
    }
}

bool Operation::fits() const {
    std::vector<Tensor> in;
    for (const Name name : reads()) in.emplace_back(object->part(name));
    const Tensor out(object->part(writes()));
    if (object->what == Class::reshape_operation)
        return in[0].elements() == out.elements() && in[0].span() == out.span();
    if (object->what == Class::reduction_operation) return serves(out, in[0]);
    if (object->what == Class::matmul_operation)
        return in[0].type == in[1].type && in[0].extents[0] == out.extents[0] && in[0].extents[1] == out.extents[1] &&
               in[1].extents[0] == out.extents[0] && out.extents[1] % in[1].extents[1] == 0 &&
               in[0].extents[2] == out.extents[2] && in[0].extents[3] == in[1].extents[2] &&
               in[1].extents[3] == out.extents[3];
    return std::ranges::all_of(in, [&](const Tensor& x) { return serves(x, out); });
}

namespace {

double apply(Pointwise mode, double x, double b, double t) {
    switch (mode) {
        case Pointwise::multiply: return x * b;
        case Pointwise::divide: return x / b;
        case Pointwise::add: return x + b;
        case Pointwise::subtract: return x - b;
        case Pointwise::exponential: return std::exp(x);
        case Pointwise::logarithm: return std::log(x);
        case Pointwise::greater_equal: return x >= b ? 1 : 0;
        case Pointwise::select: return t != 0 ? x : b;
        case Pointwise::index: break;  // of places, not of values
    }
    return 0;
}

void multiply(const std::vector<Tensor>& in, const std::vector<Values>& given, const Tensor& out, Values& y) {
    const auto k = static_cast<std::size_t>(in[0].extents[3]), n = static_cast<std::size_t>(out.extents[3]);
    const std::int64_t shared = out.extents[1] / in[1].extents[1];
    for (std::int64_t batch = 0; batch < out.extents[0]; ++batch)
        for (std::int64_t head = 0; head < out.extents[1]; ++head)
            for (std::int64_t row = 0; row < out.extents[2]; ++row) {
                const auto line = static_cast<std::size_t>((batch * out.extents[1] + head) * out.extents[2] + row);
                const auto matrix = static_cast<std::size_t>(batch * in[1].extents[1] + head / shared);
                for (std::size_t i = 0; i < k; ++i)
                    for (std::size_t j = 0; j < n; ++j)
                        y[line * n + j] += given[0][line * k + i] * given[1][matrix * k * n + i * n + j];
            }
}

Values result(const Object& object, const std::vector<Tensor>& in, const std::vector<Values>& given,
              const Tensor& out) {
    Values y(out.elements(), 0.0);
    if (object.what == Class::matmul_operation) {
        multiply(in, given, out, y);
    } else if (object.what == Class::reduction_operation) {
        const bool most =
            object.part(Name::reduction_descriptor).one<Reduction>(Name::reduction_operator) == Reduction::maximum;
        if (most) std::ranges::fill(y, -std::numeric_limits<double>::infinity());
        in[0].each([&](std::size_t i, const Extents& at) {
            double& sum = y[out.serving(at, in[0].extents)];
            sum = most ? std::max(sum, given[0][i]) : sum + given[0][i];
        });
    } else if (object.what == Class::reshape_operation) {
        Values flat(in[0].span());
        in[0].each([&](std::size_t i, const Extents& at) { flat[in[0].offset(at)] = given[0][i]; });
        out.each([&](std::size_t i, const Extents& at) { y[i] = flat[out.offset(at)]; });
    } else {
        const Object& descriptor = object.part(Name::pointwise_descriptor);
        const auto mode = descriptor.one<Pointwise>(Name::pointwise_mode);
        out.each([&](std::size_t i, const Extents& at) {
            const auto value = [&](std::size_t k) {
                return k < in.size() ? given[k][in[k].serving(at, out.extents)] : 0.0;
            };
            y[i] = mode == Pointwise::index
                       ? static_cast<double>(
                             at.at(static_cast<std::size_t>(descriptor.one<std::int64_t>(Name::pointwise_axis))))
                       : apply(mode, value(0), value(1), value(2));
        });
    }
    return y;
}

}  // namespace

Values TensorRun::read(const Tensor& t) const {
    const auto there = values.find(t.number);
    if (there != values.end()) return there->second;
    const auto* const begin = static_cast<const std::byte*>(memory.at(t.number));
    Values result(t.elements());
    t.each([&](std::size_t i, const Extents& at) {
        result[i] = kernels::decode(t.format(), begin + t.offset(at) * kernels::size_of(t.format()));
    });
    return result;
}

void TensorRun::write(const Tensor& t, const Values& all) {
    const auto to = memory.find(t.number);
    if (to != memory.end()) {
        auto* const begin = static_cast<std::byte*>(to->second);
        t.each([&](std::size_t i, const Extents& at) {
            kernels::encode(t.format(), all[i], begin + t.offset(at) * kernels::size_of(t.format()));
        });
        return;
    }
    std::array<std::byte, 8> rounded;
    for (const double value : all) {
        kernels::encode(t.format(), value, rounded.data());
        values[t.number].push_back(kernels::decode(t.format(), rounded.data()));
    }
}

void TensorRun::run() {
    for (const Operation& operation : operations) {
        std::memset(workspace, 0xff, workspace_bytes);  // the caller has nothing there
        std::vector<Tensor> in;
        std::vector<Values> given;
        for (const Name name : operation.reads()) {
            in.emplace_back(operation.object->part(name));
            given.push_back(read(in.back()));
        }
        const Tensor out(operation.object->part(operation.writes()));
        write(out, result(*operation.object, in, given, out));
    }
}

}  // namespace orrery::emulated
