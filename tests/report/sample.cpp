#include "tests/report/sample.hpp"

#include <fmt/format.h>

namespace orrery::report {

namespace {

using namespace strategies;

constexpr std::uint64_t gib = 1ULL << 30U;
constexpr std::uint64_t boundary_bytes = 2048ULL * 6144 * 2;

Program block(const char* name, Phase phase) {
    Builder builder(name);
    const BufferId input = builder.buffer(boundary_bytes, Keep::activation);
    const BufferId output = builder.buffer(boundary_bytes, Keep::activation);
    builder.emit(Lane::compute, {0, -1, -1, phase}, Compute{0}, {input}, {output});
    builder.emit(Lane::compute, {1, -1, -1, phase}, Compute{1}, {output}, {output});
    builder.emit(Lane::compute, {2, -1, -1, phase},
                 Collective{kernels::CollectiveKind::all_reduce, {Axis::tensor}, boundary_bytes}, {output}, {output});
    return std::move(builder).finish();
}

/// Forward and backward of two micro-batches, a gradient reduction beside the second, Adam at the end.
Program stage(std::uint32_t index, std::uint32_t stages) {
    Builder builder(fmt::format("stage {}", index));
    const BufferId activation = builder.buffer(boundary_bytes, Keep::activation);
    const BufferId gradient = builder.buffer(gib, Keep::gradient);
    for (std::int32_t m = 0; m < 2; ++m) {
        if (index > 0)
            builder.emit(Lane::recv_forward, {3, m, -1, Phase::forward}, Recv{Axis::pipeline, -1, boundary_bytes}, {},
                         {activation});
        builder.emit(Lane::compute, {4, m, 0, Phase::forward}, Call{0}, {activation}, {activation});
        if (index + 1 < stages)
            builder.emit(Lane::send_forward, {5, m, -1, Phase::forward}, Send{Axis::pipeline, 1, boundary_bytes},
                         {activation}, {});
        builder.emit(Lane::compute, {6, m, 0, Phase::backward}, Call{1}, {activation}, {gradient});
    }
    builder.emit(Lane::data, {7, -1, -1, Phase::gradient},
                 Collective{kernels::CollectiveKind::all_reduce, {Axis::data}, gib}, {gradient}, {gradient});
    builder.emit(Lane::compute, {8, -1, -1, Phase::optimizer}, HostSync{}, {gradient}, {});
    builder.emit(Lane::compute, {9, -1, -1, Phase::optimizer}, Compute{2}, {gradient}, {});
    return std::move(builder).finish();
}

/// Operations of a lane one after another, a hundred milliseconds each; sends and receives take ten.
std::vector<sim::Span> spans(const Program& program) {
    std::vector<sim::Span> list;
    double compute = 0;
    for (const Op& op : program.ops) {
        const double begin = compute;
        if (op.lane == Lane::compute) compute += std::holds_alternative<HostSync>(op.what) ? 0 : 0.1;
        list.push_back({begin, op.lane == Lane::compute ? compute : begin + 0.01});
    }
    return list;
}

sim::StageMemory memory(std::uint32_t stage) {
    sim::StageMemory m;
    m.at_peak = {6 * gib, 6 * gib, 18 * gib, (30 - stage) * gib, gib};
    m.peak = (61 - stage) * gib;
    m.before_backward = 40 * gib;
    m.after_backward = m.peak;
    m.after_optimizer = 33 * gib;
    m.over_time = {{0, 30 * gib, {}}, {1, 40 * gib, {}}, {2, m.peak, m.at_peak}, {4, 33 * gib, {}}};
    return m;
}

}  // namespace

scenarios::Scenario sample_scenario(std::uint32_t stages) {
    scenarios::Scenario s;
    s.name = "GPT-22B on 16 DGX A100";
    s.plan.model = {.name = "gpt-22b",
                    .layers = 48,
                    .hidden = 6144,
                    .heads = 64,
                    .kv_heads = 64,
                    .head_dim = 96,
                    .ffn = 24576,
                    .vocab = 51200,
                    .max_positions = 2048};
    s.plan.strategy.tensor = 8;
    s.plan.strategy.pipeline = stages;
    s.plan.strategy.data = 16 / stages;
    s.plan.strategy.recompute = Recompute::full;
    s.plan.training.seq = 2048;
    s.plan.training.micro_batch = 4;
    s.plan.training.global_batch = 128 / stages;
    s.cluster.preset = "superpod-a100";
    s.cluster.nodes = 16;
    s.gpus = 128;
    s.profile = "a100";
    s.outputs.token_budget = 300e9;
    return s;
}

sim::Prediction sample_prediction(std::uint32_t stages) {
    sim::Prediction p;
    p.step_time_s = 1.0;
    p.tokens_per_s = 262144;
    p.model_flops_per_gpu = 140.4e12;
    p.hardware_flops_per_gpu = 187.2e12;
    p.mfu = 0.45;
    p.mfu_causal = 0.43;
    p.hfu = 0.6;
    p.scale_factor = 0.93;
    p.scale_base_gpus = 8 * stages;
    p.training_time_s = 300e9 / p.tokens_per_s;
    p.program.mesh.extent = {8, 1, 1, 1, 1, 1, 1, 16 / stages, 1, stages};
    p.program.names = {"qkv", "norm", "reduce", "receive", "layer", "send", "layer", "gradients", "wait", "adam"};
    p.program.kernels = {kernels::Gemm{.m = 8192, .n = 2304, .k = 6144},
                         kernels::Pointwise{.kind = kernels::PointwiseKind::layernorm, .rows = 8192, .cols = 6144},
                         kernels::Pointwise{.kind = kernels::PointwiseKind::adam, .rows = 1, .cols = 1000000}};
    p.program.blocks = {block("layer forward", Phase::forward), block("layer backward", Phase::backward)};
    for (std::uint32_t i = 0; i < stages; ++i) {
        p.program.programs.push_back(stage(i, stages));
        p.program.role.insert(p.program.role.end(), 128 / stages, static_cast<std::uint16_t>(i));
        p.trace.push_back({i * (128 / stages), 128 / stages, i, spans(p.program.programs.back())});
        const double bubble = 0.2 - 0.01 * i;
        p.stages.push_back({.gemm = 0.5 + 0.01 * i,
                            .memory_bound = 0.1,
                            .tensor_comm = 0.1,
                            .pipeline_comm = 0.004,
                            .data_comm = 0.046,
                            .optimizer = 0.05,
                            .bubble = bubble});
        p.memory.push_back(memory(i));
        p.memory.back().role = i;
    }
    p.memory_capacity = 80 * gib;
    p.gpu_kinds = {{"A100-SXM4-80GB", "a100", 128, 0, p.stages.front()}};
    p.bottleneck = "pipeline bubble 20%";
    p.advice = {"16 micro-batches: 0.91 s (-9%), +2.1 GiB", "a second NIC rail: below 1%, not worth it"};
    p.warnings = {"gemm bf16 1x8192x2304x6144 lies outside the profile"};
    p.version = "1.2.3";
    p.profile = "a100";
    p.cluster = "superpod-a100";
    p.gpus = 128;
    p.ops = 2048;
    p.classes = stages;
    return p;
}

}  // namespace orrery::report
