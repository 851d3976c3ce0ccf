#include "report/operation.hpp"

#include <fmt/format.h>

#include <array>
#include <variant>

#include "base/enum_table.hpp"
#include "base/overloaded.hpp"

namespace orrery::report {

namespace {

using namespace strategies;

constexpr EnumNames<Copy::To> places{"host", "device", "storage", "host from storage"};

std::string_view category(const kernels::Kernel& kernel) {
    using Name = std::string_view;
    return std::visit(Overloaded{[](const kernels::Gemm&) -> Name { return "gemm"; },
                                 [](const kernels::Attention&) -> Name { return "attention"; },
                                 [](const kernels::Pointwise&) -> Name { return "memory-bound"; },
                                 [](const kernels::Convolution&) -> Name { return "convolution"; },
                                 [](const kernels::Pooling&) -> Name { return "memory-bound"; },
                                 [](const kernels::BatchNorm&) -> Name { return "memory-bound"; },
                                 [](const kernels::StateSpace&) -> Name { return "memory-bound"; }},
                      kernel);
}

struct CategoryOf {
    const StepProgram& step;
    std::string_view operator()(const Compute& c) const { return category(step.kernels[c.kernel]); }
    std::string_view operator()(const Collective&) const { return "communication"; }
    std::string_view operator()(const Send&) const { return "communication"; }
    std::string_view operator()(const Recv&) const { return "communication"; }
    std::string_view operator()(const Copy&) const { return "copy"; }
    std::string_view operator()(const Call&) const { return "layer"; }
    std::string_view operator()(const HostCompute&) const { return "host"; }
    std::string_view operator()(const HostSync&) const { return "host"; }
};

struct TextOf {
    const StepProgram& step;
    std::string operator()(const Compute& c) const { return kernels::to_text(step.kernels[c.kernel]); }
    std::string operator()(const Collective& c) const { return fmt::format("{} over {}", c.name(), to_text(c.group)); }
    std::string operator()(const Send& s) const { return fmt::format("send {:+} along {}", s.delta, to_text(s.axis)); }
    std::string operator()(const Recv& r) const {
        return fmt::format("receive {:+} along {}", r.delta, to_text(r.axis));
    }
    std::string operator()(const Copy& c) const { return fmt::format("copy to {}", places[c.to]); }
    std::string operator()(const Call& c) const {
        const Program& block = step.blocks[c.block];
        return fmt::format("{} operations of {}", block.ops.size(), block.name);
    }
    std::string operator()(const HostCompute& c) const {
        return fmt::format("{} by the host's cores", kernels::to_text(step.kernels[c.kernel]));
    }
    std::string operator()(const HostSync&) const { return "the host waits for the device"; }
};

struct BytesOf {
    const StepProgram& step;
    double operator()(const Compute& c) const { return kernels::bytes(step.kernels[c.kernel]); }
    double operator()(const HostCompute& c) const { return kernels::bytes(step.kernels[c.kernel]); }
    double operator()(const Call&) const { return 0; }
    double operator()(const HostSync&) const { return 0; }
    template <class Transfer>
    double operator()(const Transfer& transfer) const {
        return static_cast<double>(transfer.bytes);
    }
};

}  // namespace

std::string_view category(const StepProgram& step, const Op& op) { return std::visit(CategoryOf{step}, op.what); }
std::string describe(const StepProgram& step, const Op& op) { return std::visit(TextOf{step}, op.what); }
double bytes_of(const StepProgram& step, const Op& op) { return std::visit(BytesOf{step}, op.what); }

}  // namespace orrery::report
