#include "strategies/compressed_momentum.hpp"

#include <fmt/format.h>

#include <array>
#include <numeric>
#include <span>
#include <vector>

#include "strategies/refusal.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Dtype;
using kernels::Pointwise;
using kernels::PointwiseKind;

constexpr const char* key = "/strategy/compression";

/// One kernel over so many numbers. packed: between a byte and a bit each, of which 9/8 bytes move.
struct Pass {
    const char* name;
    PointwiseKind kind;
    Dtype dtype = Dtype::fp32;
    bool packed = false;
};

constexpr Pass of_bytes(const char* name) { return {name, PointwiseKind::cast, Dtype::fp8}; }  // 1 byte <-> 4
constexpr Pass of_bits(const char* name) { return {name, PointwiseKind::scale, Dtype::fp8, true}; }

/// x += error; |x|; error = x - scale (2 (float(bool(sign(x) + 1)) - 0.5)); pack(bool(sign(x) + 1)).
constexpr std::array compression{
    Pass{"compensate", PointwiseKind::add},
    Pass{"compression scale", PointwiseKind::sum_of_squares},
    Pass{"compression error", PointwiseKind::scale},
    Pass{"compression error", PointwiseKind::scale},
    of_bytes("compression error"),
    of_bytes("compression error"),
    Pass{"compression error", PointwiseKind::scale},
    Pass{"compression error", PointwiseKind::scale},
    Pass{"compression error", PointwiseKind::scale},
    Pass{"compression error", PointwiseKind::add},
    Pass{"signs", PointwiseKind::scale},
    Pass{"signs", PointwiseKind::scale},
    of_bytes("signs"),
    of_bits("pack signs"),
};

/// scale (2 (float(unpack(bits)) - 0.5)).
constexpr std::array expansion{
    of_bits("unpack signs"),
    of_bytes("unpack signs"),
    Pass{"unpack signs", PointwiseKind::scale},
    Pass{"unpack signs", PointwiseKind::scale},
    Pass{"unpack signs", PointwiseKind::scale},
};

/// m = b1 m + (1 - b1) g.
constexpr std::array momentum{Pass{"momentum", PointwiseKind::scale}, Pass{"momentum", PointwiseKind::add}};

/// p -= lr (m / (sqrt(v) + eps) + decay p), and the weights that products read.
constexpr std::array update{
    Pass{"momentum", PointwiseKind::scale},  // where the exchange left it
    Pass{"update", PointwiseKind::scale},     Pass{"update", PointwiseKind::scale},
    Pass{"update", PointwiseKind::add},       Pass{"weight decay", PointwiseKind::scale},
    Pass{"weight decay", PointwiseKind::add}, Pass{"update", PointwiseKind::scale},
    Pass{"update", PointwiseKind::add},       Pass{"weights to 16 bits", PointwiseKind::cast, Dtype::bf16},
};

/// How a vector is cut: DeepSpeed fills it up so that every rank's part is whole bytes of signs.
struct Cut {
    std::uint64_t numbers = 0, part = 0, ranks = 1;
    bool filled_up = false;
};

Cut cut(const Plan& plan, std::uint64_t parameters) {
    const std::uint64_t ranks = plan.mesh().group_size(plan.data_group());
    const std::uint64_t multiple = ranks * std::lcm(ranks, std::uint64_t{8});
    const std::uint64_t numbers = (parameters + multiple - 1) / multiple * multiple;
    return {numbers, numbers / ranks, ranks, numbers != parameters};
}

class Exchange {
public:
    Exchange(const Plan& plan, const Cut& cut, Builder& builder, Intern& intern)
        : cut_(cut), group_(plan.data_group()), builder_(builder), intern_(intern) {
        // Behind the compression of a vector two fp32 copies are there at once: scaled signs, and what they leave.
        temporaries_ = builder_.buffer(cut.numbers * 8, Keep::scratch);
    }

    void passes(std::span<const Pass> list, std::uint64_t numbers) {
        for (const Pass& pass : list) kernel(pass, numbers);
    }
    void kernel(const Pass& pass, std::uint64_t numbers) {
        const std::uint64_t counted = pass.packed ? numbers * 9 / 16 : numbers;
        emit(pass.name, Pointwise{pass.kind, pass.dtype, 1, counted});
    }
    /// What came from all ranks of this one's part becomes one vector.
    void sum() { emit("average", Pointwise{PointwiseKind::bias_gradient, Dtype::fp32, cut_.ranks, cut_.part}); }
    /// Bits that lie in a list of vectors become one.
    void stack() { emit("stack signs", Pointwise{PointwiseKind::scale, Dtype::fp8, 1, cut_.numbers / 8}); }

    /// Signs of all numbers, and a scale of each rank. all_to_all: each rank gets its part of all.
    void exchange(CollectiveKind kind) {
        collective(kind, "signs", cut_.numbers / 8);
        collective(CollectiveKind::all_gather, "scales", cut_.ranks * 4);
    }

private:
    void emit(const char* name, const Pointwise& kernel) {
        std::vector<BufferId> writes{temporaries_};
        builder_.emit(Lane::compute, intern_.label(name, Phase::optimizer), What{intern_.kernel(kernel)}, arrived_,
                      writes);
        builder_.state({});
        arrived_.clear();
    }
    void collective(CollectiveKind kind, const char* what, std::uint64_t bytes) {
        const BufferId there = builder_.buffer(0, Keep::scratch);
        const std::vector<BufferId> sent{temporaries_}, received{there};
        builder_.emit(Lane::data, intern_.label(fmt::format("exchange {}", what), Phase::gradient),
                      What{Collective{kind, group_, bytes}}, sent, received);
        builder_.state({});
        arrived_.push_back(there);
    }

    const Cut cut_;
    AxisSet group_;
    Builder& builder_;
    Intern& intern_;
    BufferId temporaries_ = 0;
    std::vector<BufferId> arrived_;  // what the next kernel takes
};

}  // namespace

void check_compression(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    if (strategy.compression != Compression::onebit_adam) {
        if (strategy.freeze_step != Strategy::usual_freeze_step)
            refuse("/strategy/freeze_step", fmt::format("{}, but nothing is compressed", strategy.freeze_step),
                   "set compression to \"onebit-adam\", or leave it out", Source::origin_of_key);
        return;
    }
    if (strategy.data * strategy.context == 1)
        refuse(key, "onebit-adam, but one data rank has no other to exchange momentum with",
               "set data to 2 or more, or compression to \"none\"", Source::compressed_momentum);
    if (strategy.sharding != Sharding::none)
        refuse("/strategy/sharding",
               fmt::format("{}, but every rank compresses all of its momentum: 1-bit Adam is not compatible with ZeRO",
                           row_of(strategy.sharding).name),
               "set it to \"none\", or compression to \"none\"", Source::deepspeed_engine);
    if (strategy.optimizer_cpu_offload)
        refuse("/strategy/optimizer_cpu_offload", "true, but momentum is compressed on the device",
               "set it to false, or compression to \"none\"", Source::not_modelled);
    if (plan.model.experts > 0)
        refuse(key,
               fmt::format("onebit-adam of {}, whose experts are held by fewer ranks than the rest", plan.model.name),
               "take a dense model, or set it to \"none\"", Source::not_modelled);
    if (strategy.split_classes > 1)
        refuse(key, "onebit-adam of classes that ranks divide, which are no other rank's",
               "set it to \"none\", or split_classes to 1", Source::not_modelled);
    if (schedule_of(strategy.schedule).asynchronous)
        refuse(key, "onebit-adam compresses behind a step's last backward, which a pipeline without flushes has not",
               "set schedule to \"1f1b\", or compression to \"none\"", Source::not_modelled);
    if (kernels::size_of(plan.training.precision.compute) == 4)
        refuse("/training/precision",
               fmt::format("{}, in which DeepSpeed compresses each parameter by itself",
                           kernels::name(plan.training.precision.compute)),
               "set it to fp16 or bf16, or strategy.compression to \"none\"", Source::not_modelled);
}

std::uint64_t compression_error_bytes(const Plan& plan, std::uint64_t parameters) {
    const Cut of = cut(plan, parameters);
    return (of.numbers + of.part) * 4;
}

void emit_compressed_update(const Plan& plan, std::uint64_t parameters, Builder& builder, Intern& intern) {
    const Cut of = cut(plan, parameters);
    Exchange out(plan, of, builder, intern);
    out.passes(momentum, parameters);
    if (of.filled_up) out.kernel({"fill up", PointwiseKind::scale}, of.numbers);
    out.passes(compression, of.numbers);
    out.stack();
    out.exchange(CollectiveKind::all_to_all);
    out.passes(expansion, of.numbers);
    out.sum();
    out.passes(compression, of.part);
    out.exchange(CollectiveKind::all_gather);
    out.stack();
    out.passes(expansion, of.numbers);
    out.passes(update, parameters);
}

}  // namespace orrery::strategies
