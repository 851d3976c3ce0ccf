// All ranks together compute what one rank would: FLOPs of forward and backward, without what runs again.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <variant>
#include <vector>

#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/stage.hpp"
#include "tests/property/laws.hpp"
#include "tests/property/program_laws.hpp"

namespace orrery::laws {

namespace {

using strategies::Plan;
using strategies::Program;
using strategies::StepProgram;

/// attention: of fused cores. experts: of what works on routed tokens. scans: of mixers.
struct Flops {
    double products = 0, attention = 0, experts = 0, scans = 0;

    [[nodiscard]] double all() const { return products + attention + experts + scans; }
    void add(const Flops& other, double times) {
        products += times * other.products;
        attention += times * other.attention;
        experts += times * other.experts;
        scans += times * other.scans;
    }
};

/// How often what one rank computes is computed by ranks that all do the whole of it, or wait for each other.
class Repeated {
public:
    explicit Repeated(const Plan& plan) : plan_(plan) {}

    /// Of a product, by its name and that of the product before it.
    [[nodiscard]] double times(std::string_view name, std::string_view before) const {
        const Plan& plan = plan_;
        const double tensor = plan.strategy.tensor;
        // CLIP: each data rank compares its own images and texts with those of all, and so does each tensor rank of it.
        if (name.find("similarities") != name.npos) return plan.strategy.data * tensor;
        // An adapter's narrow side is whole on each tensor rank, as its input or its result is (ParallelLinearAdapter).
        if (name.starts_with("adapter")) {
            const bool by_outputs = before.starts_with("qkv") || before.starts_with("up");
            return name.starts_with(by_outputs ? "adapter in" : "adapter out") ? tensor : 1;
        }
        // Layers that Megatron-LM does not divide; under sequence parallelism each rank has its own tokens.
        constexpr std::array whole{"mlm_dense", "merge",           "latent",          "patches",
                                   "classes",   "text_projection", "image_projection"};
        const bool divided = plan.model.convolves() || plan.strategy.sequence_parallel;
        const auto is = [&](std::string_view layer) {
            return name == layer || name.starts_with(fmt::format("{} ", layer));
        };
        return !divided && std::ranges::any_of(whole, is) ? tensor : 1;
    }

    /// Of attention. Within a window context ranks that have gathered all keys have not equally much to do; programs
    /// are those of the last rank, for which the others wait: its queries lie in the middle of the sequence.
    [[nodiscard]] double times(const kernels::Attention& attention) const {
        const std::uint64_t ranks = plan_.strategy.context, seq = attention.seq;
        const bool gathered = plan_.strategy.context_exchange == strategies::ContextExchange::all_gather;
        if (ranks == 1 || !gathered || !attention.causal || attention.window == 0) return 1;
        const auto seen = [&](std::uint64_t from, std::uint64_t to) {
            double sum = 0;
            for (std::uint64_t i = from; i < to; ++i)
                sum += static_cast<double>(std::min<std::uint64_t>(i + 1, attention.window)) - 0.5;
            return sum;
        };
        const std::uint64_t half = seq / (2 * ranks);
        return static_cast<double>(ranks) * seen((ranks - 1) * half, (ranks + 1) * half) / seen(0, seq);
    }

private:
    const Plan& plan_;
};

bool is_models_own(strategies::Phase phase) {
    return phase == strategies::Phase::forward || phase == strategies::Phase::backward;
}

/// of_blocks: those of the blocks it calls. repeated: null where all is counted once.
Flops flops_of(const StepProgram& step, const Program& program, std::span<const Flops> of_blocks,
               const Repeated* repeated) {
    Flops sum;
    std::string_view before;
    for (const strategies::Op& op : program.ops) {
        if (const auto* call = std::get_if<strategies::Call>(&op.what)) sum.add(of_blocks[call->block], call->times);
        const auto* compute = std::get_if<strategies::Compute>(&op.what);
        if (compute == nullptr || !is_models_own(op.label.phase)) continue;
        const kernels::Kernel& kernel = step.kernels[compute->kernel];
        const double flops = kernels::flops(kernel);
        const std::string_view name = step.names[op.label.name];
        if (const auto* attention = std::get_if<kernels::Attention>(&kernel))
            sum.attention += flops * (repeated == nullptr ? 1 : repeated->times(*attention));
        else if (std::holds_alternative<kernels::StateSpace>(kernel))
            sum.scans += flops;
        else if (op.label.routed)
            sum.experts += flops;
        else
            sum.products += flops * (repeated == nullptr ? 1 : repeated->times(name, before));
        if (flops > 0 && !name.starts_with("adapter")) before = name;
    }
    return sum;
}

/// Of all ranks, in one step.
Flops flops_of(const StepProgram& step, const Repeated* repeated = nullptr) {
    std::vector<Flops> of_blocks;
    for (const Program& block : step.blocks) of_blocks.push_back(flops_of(step, block, {}, repeated));
    std::vector<Flops> of_programs;
    for (const Program& program : step.programs) of_programs.push_back(flops_of(step, program, of_blocks, repeated));
    Flops sum;
    for (const std::uint16_t role : step.role) sum.add(of_programs.at(role), 1.0 / step.steps);
    return sum;
}

void require_same_flops(double all, double alone, const char* what, double within = 1e-9) {
    require(std::abs(all - alone) <= within * alone,
            fmt::format("{:.9g} FLOPs of {}, on one rank {:.9g}: {:.6f}", all, what, alone, all / alone));
}

/// Decoders whose attention multiplies full squares, as MFU counts it, and that form all gradients.
bool counts_as_mfu(const Plan& plan) {
    const models::ModelSpec& model = plan.model;
    return !plan.training.fused_attention && plan.training.lora_rank == 0 && !model.takes_images() &&
           model.family != models::Family::transfo_xl && model.experts == 0 && model.attention_window == 0 &&
           model.further_tokens == 0 && model.layers_of('M') == 0;
}

/// Each expert works on whole tokens: mean shares are rounded, on one rank as on many.
double part_of_a_token(const Plan& plan) {
    const models::ModelSpec& model = plan.model;
    if (model.experts == 0) return 0;
    const double capacity = plan.training.expert_capacity, taken = capacity > 0 && capacity < 1 ? capacity : 1;
    const double tokens = static_cast<double>(plan.rank_tokens()) * model.experts_per_token * taken / model.experts;
    return 1 / std::max(tokens, 1.0) + 1e-9;
}

}  // namespace

Plan on_one_rank(const Plan& plan) {
    Plan alone = plan;
    alone.strategy = {};
    const bool words = !plan.model.takes_images() || plan.model.text.layers > 0;
    if (words && plan.model.family != models::Family::transfo_xl) {
        alone.model.vocab = static_cast<std::uint32_t>(plan.padded_vocab());
        alone.model.vocab_multiple = 1;
    }
    // Ranks that do not divide the classes are all priced as the ones that have most.
    const std::uint32_t split = plan.strategy.split_classes;
    if (split > 1) alone.model.vocab = (plan.model.vocab + split - 1) / split * split;
    alone.own_micro_batches = 0;
    alone.training.global_batch = plan.training.micro_batch;
    alone.training.optimizer = strategies::Optimizer::adam;
    return alone;
}

void flops_are_conserved(const BuiltCombination& of) {
    const Plan &plan = of.plan, one = on_one_rank(plan);
    const StepProgram alone = strategies::build(one);
    if (counts_as_mfu(plan)) {
        const models::Model model = strategies::model_of(one);
        const std::uint32_t decoded = plan.training.decoder_seq;
        const double counted = decoded > 0
                                   ? models::model_flops(model, plan.training.micro_batch, plan.training.seq, decoded)
                                   : models::model_flops(model, plan.training.micro_batch, plan.training.seq);
        require_same_flops(flops_of(alone).all(), counted, "one rank's program and of the model itself");
    }
    const Repeated repeated(plan);
    const Flops all = flops_of(of.step), expected = flops_of(alone, &repeated);
    const double micro_batches = plan.all_micro_batches();
    require_same_flops(all.products, expected.products * micro_batches, "products");
    require_same_flops(all.attention, expected.attention * micro_batches, "attention");
    require_same_flops(all.experts, expected.experts * micro_batches, "experts", part_of_a_token(plan));
    // Context ranks that are more than a tensor rank's groups of heads work on the same groups' B and C.
    if (plan.model.mamba.groups / plan.strategy.tensor % plan.strategy.context == 0)
        require_same_flops(all.scans, expected.scans * micro_batches, "scans");
    else
        require(all.scans > expected.scans * micro_batches, "groups that ranks share are worked on once");
}

}  // namespace orrery::laws
