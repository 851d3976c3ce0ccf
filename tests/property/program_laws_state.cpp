// What ranks hold of parameters, what they sum of gradients and what they update, counted from programs alone.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/zero_plus_plus.hpp"
#include "tests/property/laws.hpp"
#include "tests/property/program_laws.hpp"

namespace orrery::laws {

namespace {

using kernels::CollectiveKind;
using strategies::Axis;
using strategies::AxisSet;
using strategies::Collective;
using strategies::Mesh;
using strategies::Op;
using strategies::Phase;
using strategies::Plan;
using strategies::Program;
using strategies::Sharding;
using strategies::StepProgram;

bool runs_both_ways(const Plan& plan) {
    return copies_of_model(strategies::schedule_of(plan.strategy.schedule).order) > 1;
}

/// First and last layers stand on one stage.
bool has_both_ends(const Plan& plan) {
    return plan.strategy.pipeline == 1 ||
           strategies::schedule_of(plan.strategy.schedule).order != strategies::ChunkOrder::wraps;
}

/// Both end stages hold the words: where logits take them, and where they are looked up to predict further tokens.
bool words_twice(const Plan& plan) {
    return !has_both_ends(plan) && (plan.model.tied_embeddings || plan.model.further_tokens > 0);
}

/// Ranks that hold the same parameters of a class, as axes along which there is more than one.
struct Replicas {
    AxisSet all, sharing, rest;  ///< of `all`, those that divide what sharding divides, and the others
    std::uint32_t in_sharing = 1, in_rest = 1;
};

AxisSet longer_than_one(const Mesh& mesh, std::initializer_list<Axis> list) {
    AxisSet set;
    for (const Axis axis : list)
        if (mesh.along(axis) > 1) set = set | AxisSet{axis};
    return set;
}

Replicas replicas(const Plan& plan, bool experts) {
    const Mesh mesh = plan.mesh();
    Replicas of;
    of.all = longer_than_one(mesh, {Axis::data, Axis::replica});
    if (!experts) of.all = of.all | longer_than_one(mesh, {Axis::context_inner, Axis::context, Axis::expert});
    const std::uint32_t whole = plan.strategy.expert_tensor == 1 ? plan.strategy.tensor : 1;
    const std::uint32_t behind_tensor = plan.strategy.expert / whole;  // what is left of a group for context ranks
    if (experts && behind_tensor < plan.strategy.context) of.all = of.all | longer_than_one(mesh, {Axis::context});
    if (experts && behind_tensor <= 1) of.all = of.all | longer_than_one(mesh, {Axis::context_inner});
    if (plan.strategy.tensor_mode == strategies::TensorMode::two_and_half_d)
        of.all = of.all | longer_than_one(mesh, {Axis::tensor_depth});
    if (runs_both_ways(plan)) of.all = of.all | longer_than_one(mesh, {Axis::opposite});
    of.rest = of.all;
    if (plan.strategy.sharding != Sharding::none) {
        of.sharing = plan.strategy.optimizer_instances > 1 ? of.all.without(Axis::replica) : of.all;
        of.rest = of.all - of.sharing;
    }
    of.in_sharing = mesh.group_size(of.sharing);
    of.in_rest = mesh.group_size(of.rest);
    return of;
}

/// Of collectives, numbers by kind and group.
class Moved {
public:
    explicit Moved(const Mesh& mesh) : mesh_(mesh) {}

    void add(CollectiveKind kind, AxisSet group, double numbers) {
        AxisSet longer;
        for (const Axis axis : strategies::all_axes)
            if (group.has(axis) && mesh_.along(axis) > 1) longer = longer | AxisSet{axis};
        if (longer == AxisSet{} || numbers == 0) return;
        Sum& sum = by_group_[{kind, longer.bits()}];
        sum.numbers += numbers;
        ++sum.moves;
        sum.group = longer;
    }
    /// Each move may round its part down to whole numbers, or to so many.
    void require_same(const Moved& expected, const std::string& who, double within = 1) const {
        for (const auto& [key, sum] : by_group_) {
            const auto other = expected.by_group_.find(key);
            const double due = other == expected.by_group_.end() ? 0 : other->second.numbers;
            require(std::abs(sum.numbers - due) <= sum.moves * within,
                    said(who, key.first, sum.group, sum.numbers, due));
        }
        for (const auto& [key, due] : expected.by_group_)
            require(by_group_.contains(key) || due.numbers < within, said(who, key.first, due.group, 0, due.numbers));
    }

private:
    struct Sum {
        double numbers = 0, moves = 0;
        AxisSet group;
    };
    static std::string said(const std::string& who, CollectiveKind kind, AxisSet group, double is, double due) {
        return fmt::format("{}: {} over {} of {:.9g} numbers, not of {:.9g}", who, kernels::name(kind),
                           strategies::to_text(group), is, due);
    }

    const Mesh mesh_;
    std::map<std::pair<CollectiveKind, AxisSet::Bits>, Sum> by_group_;
};

/// Collectives of that name, in numbers of so many bytes each; times: how often a step's are found.
Moved moved_by(const StepProgram& step, const Program& program, std::string_view name, double bytes) {
    Moved moved(step.mesh);
    for (const Op& op : program.ops) {
        const auto* collective = std::get_if<Collective>(&op.what);
        if (collective != nullptr && step.names[op.label.name] == name)
            moved.add(collective->kind, collective->group, static_cast<double>(collective->bytes) / bytes);
    }
    return moved;
}

double size_in_memory(kernels::Dtype dtype) { return kernels::size_of(dtype); }

/// What summing over replicas takes: a scatter of each micro-batch or of a step, and a sum of parts over the rest.
void add_reduction(const Plan& plan, double parameters, bool experts, double micro_batches, Moved& due) {
    const Replicas of = replicas(plan, experts);
    using strategies::GradientSyncs;
    const bool shares = plan.strategy.sharding == Sharding::zero2 || plan.strategy.sharding == Sharding::zero3;
    const bool every = shares && plan.strategy.gradient_syncs != GradientSyncs::step;
    const bool whole_every = !shares && plan.strategy.gradient_syncs == GradientSyncs::micro_batch;
    const bool one_hop =
        every && plan.strategy.optimizer_instances > 1 && plan.strategy.gradient_syncs != GradientSyncs::two_hop;
    const double steps = plan.pipeline_shape().steps;
    due.add(CollectiveKind::reduce_scatter, of.sharing, parameters * (every ? micro_batches : steps));
    due.add(CollectiveKind::all_reduce, of.rest,
            parameters / of.in_sharing * (whole_every || one_hop ? micro_batches : steps));
}

void require_reduced(const BuiltCombination& of, std::size_t number) {
    const Plan& plan = of.plan;
    const Program& program = of.step.programs[number];
    const Parameters own = parameters_of(program);
    Moved due(of.step.mesh);
    if (!plan.compresses()) {
        add_reduction(plan, static_cast<double>(own.dense), false, of.micro_batches.at(number), due);
        add_reduction(plan, static_cast<double>(own.experts), true, of.micro_batches.at(number), due);
    }
    const bool fewer = plan.strategy.compression == strategies::Compression::by_ratio;
    const double bytes =
        size_in_memory(plan.training.precision.on_the_wire()) / (fewer ? plan.strategy.compression_ratio : 1);
    moved_by(of.step, program, "gradient reduction", bytes)
        .require_same(due, program.name, std::max(1.0, 1 / bytes) + 1e-6);
}

/// PowerSGD: vectors leave as ever, and of each matrix factors, whose product takes its place.
void require_factored(const BuiltCombination& of, const Program& program) {
    const std::uint64_t ranks = of.step.mesh.group_size(replicas(of.plan, false).all);
    double numbers = 0;
    for (const Op& op : program.ops) {
        const std::string& name = of.step.names[op.label.name];
        if (const auto* collective = std::get_if<Collective>(&op.what);
            collective != nullptr && name == "gradient reduction") {
            require(of.step.mesh.group_size(collective->group) == ranks,
                    "vectors are summed with others than replicas");
            numbers += static_cast<double>(collective->bytes) / size_in_memory(of.plan.training.precision.grad_reduce);
        }
        if (const auto* compute = std::get_if<strategies::Compute>(&op.what);
            compute != nullptr && name == "approximate gradients") {
            const auto& product = std::get<kernels::Gemm>(of.step.kernels[compute->kernel]);
            numbers += static_cast<double>(product.m) * product.n;
        }
    }
    const double due = static_cast<double>(parameters_of(program).dense);
    require(numbers == due, fmt::format("{}: {:.9g} gradients leave of {:.9g}", program.name, numbers, due));
}

/// 1-bit Adam: signs of all momentum leave once and come back once, with some that fill it up to whole bytes.
void require_signs_exchanged(const BuiltCombination& of, const Program& program) {
    const std::uint64_t parameters = parameters_of(program).dense;
    const std::uint64_t ranks = of.step.mesh.group_size(replicas(of.plan, false).all);
    std::map<CollectiveKind, double> signs;
    for (const Op& op : program.ops) {
        const auto* collective = std::get_if<Collective>(&op.what);
        if (collective == nullptr || of.step.names[op.label.name] != "exchange signs") continue;
        require(of.step.mesh.group_size(collective->group) == ranks, "signs are exchanged with others than replicas");
        signs[collective->kind] += 8.0 * static_cast<double>(collective->bytes);
    }
    for (const CollectiveKind kind : {CollectiveKind::all_to_all, CollectiveKind::all_gather}) {
        const double more = signs[kind] - static_cast<double>(parameters);
        require(more >= 0 && more < 8.0 * static_cast<double>(ranks * ranks),
                fmt::format("{}: {:.9g} signs of {} numbers", program.name, signs[kind], parameters));
    }
}

/// ZeRO++: matrices leave in four bits within nodes and then across them, all else as ever.
void require_exchanged(const BuiltCombination& of, const Program& program) {
    const Mesh& mesh = of.step.mesh;
    const auto nodes = static_cast<double>(mesh.along(Axis::replica));
    double near = 0, far = 0, plain = 0;
    for (const Op& op : program.ops) {
        const auto* collective = std::get_if<Collective>(&op.what);
        if (collective == nullptr || of.step.names[op.label.name] != "gradient reduction") continue;
        const auto sent = static_cast<double>(collective->bytes);
        if (collective->kind == CollectiveKind::reduce_scatter)
            plain += sent / 2;
        else
            (collective->group == AxisSet{Axis::replica} ? far : near) += 2 * sent;
    }
    const double due = static_cast<double>(parameters_of(program).dense) * of.plan.micro_batches();
    const double ranks = mesh.group_size(replicas(of.plan, false).all);
    require(near + plain == due, fmt::format("{:.9g} and {:.9g} numbers leave of {:.9g}", near, plain, due));
    require(far * ranks == near * nodes, fmt::format("{:.9g} numbers within nodes, {:.9g} across", near, far));
}

/// Norms and their like, of which each tensor rank has seen its own tokens; and the words that both ends hold.
void require_shared_gradients(const BuiltCombination& of, std::size_t number) {
    const Plan& plan = of.plan;
    const Program& program = of.step.programs[number];
    const double bytes = size_in_memory(plan.training.precision.grad_reduce), steps = of.step.steps;
    Moved due(of.step.mesh);
    if (plan.strategy.sequence_parallel)
        due.add(CollectiveKind::all_reduce, {Axis::tensor},
                steps * static_cast<double>(parameters_of(program).replicated));
    moved_by(of.step, program, "norm gradient reduction", bytes).require_same(due, program.name);
    const std::size_t stage = number / of.step.programs_of_stage();
    const bool end = stage == 0 || stage + 1 == plan.strategy.pipeline;
    const bool both = words_twice(plan) && end && plan.training.lora_rank == 0;
    double sent = 0;
    for (const Op& op : program.ops)
        if (const auto* send = std::get_if<strategies::Send>(&op.what);
            send != nullptr && of.step.names[op.label.name] == "embedding gradient exchange")
            sent += static_cast<double>(send->bytes) / bytes;
    const bool shares = plan.strategy.sharding == Sharding::zero2 || plan.strategy.sharding == Sharding::zero3;
    const std::uint64_t own = program.state.words / (shares ? replicas(plan, false).in_sharing : 1);
    const double words = both ? steps * static_cast<double>(own) : 0;
    require(sent == words,
            fmt::format("{}: gradients of {:.9g} words are exchanged, not of {:.9g}", program.name, sent, words));
}

/// Ranks that hold different parts of a stage's parameters.
struct Copies {
    double parts, parts_of_replicated = 1, parts_of_experts;
};

Copies copies_of(const Plan& plan) {
    const double tensor = plan.strategy.tensor;
    Copies copies{.parts = tensor, .parts_of_experts = double{1} * plan.strategy.expert};
    if (plan.strategy.tensor_mode == strategies::TensorMode::two_and_half_d) copies.parts /= plan.strategy.tensor_depth;
    // A cube's ranks that have the same columns hold their gains and biases.
    if (plan.strategy.tensor_mode == strategies::TensorMode::three_d)
        copies.parts_of_replicated = std::round(std::cbrt(tensor));
    if (plan.experts_split()) copies.parts_of_experts *= tensor;
    if (plan.strategy.split_classes > 1) copies.parts_of_experts = plan.strategy.split_classes;
    return copies;
}

/// Of the second products of experts, of which tensor ranks that split an expert each hold all.
double expert_biases(const Plan& plan, const StepProgram& alone) {
    if (!plan.model.linear_bias || plan.training.lora_rank > 0) return 0;
    double layers = 0;
    for (const strategies::LayerState& layer : alone.programs.front().state.layers) {
        const bool trained = layer.layer >= static_cast<std::int32_t>(plan.training.frozen_layers);
        layers += trained && layer.experts > 0 ? 1 : 0;
    }
    return layers * plan.model.experts * plan.model.hidden;
}

/// Of the model by its operators, without the embedding and as many first layers of the body as are frozen.
std::uint64_t trained_parameters(const Plan& plan) {
    const models::Model model = models::build(plan.model);
    std::uint64_t sum = models::parameters(model);
    if (plan.training.frozen_layers == 0) return sum;
    std::uint32_t body = 0;
    for (const models::Node& node : model.nodes) {
        const models::Layer& layer = model.layers[node.layer];
        if (layer.part > models::Part::body) break;
        if (layer.part == models::Part::body && body++ >= plan.training.frozen_layers) break;
        sum -= models::parameters(layer);
    }
    return sum;
}

}  // namespace

Sharing sharing_of(const Plan& plan) {
    return {static_cast<double>(replicas(plan, false).in_sharing),
            static_cast<double>(replicas(plan, true).in_sharing)};
}

void parameters_are_the_models(const BuiltCombination& of) {
    const Plan &plan = of.plan, one = on_one_rank(plan);
    const StepProgram step = strategies::build(one);
    const Parameters alone = parameters_of(step.programs.front());
    const auto model = static_cast<double>(alone.dense + alone.experts);
    if (plan.training.lora_rank == 0)
        require(alone.dense + alone.experts == trained_parameters(one),
                fmt::format("{} parameters on one rank, {} of the model", alone.dense + alone.experts,
                            trained_parameters(one)));
    const Copies copies = copies_of(plan);
    double sum = 0;
    for (std::size_t p = 0; p < of.step.programs.size(); p += of.step.programs_of_stage()) {
        const Parameters own = parameters_of(of.step.programs[p]);
        sum += static_cast<double>(own.dense - own.replicated) * copies.parts;
        sum += static_cast<double>(own.replicated) * copies.parts_of_replicated;
        sum += static_cast<double>(own.experts) * copies.parts_of_experts;
    }
    const double ways = runs_both_ways(plan) ? 2 : 1;
    double due = model * ways;
    if (words_twice(plan) && plan.training.lora_rank == 0)
        due += static_cast<double>(one.model.vocab) * one.model.hidden;
    due += ways * expert_biases(plan, step) * (copies.parts_of_experts / plan.strategy.expert - 1);
    require(sum == due, fmt::format("{:.12g} parameters on all ranks, not {:.12g}", sum, due));
}

void gradients_are_reduced_once(const BuiltCombination& of) {
    for (std::size_t p = 0; p < of.step.programs.size(); ++p) {
        const Program& program = of.step.programs[p];
        if (strategies::quantizes_gradients(of.plan))
            require_exchanged(of, program);
        else if (of.plan.strategy.compression == strategies::Compression::powersgd)
            require_factored(of, program);
        else
            require_reduced(of, p);
        if (of.plan.compresses()) require_signs_exchanged(of, program);
        require_shared_gradients(of, p);
    }
}

}  // namespace orrery::laws
