// Plans that cannot be executed are refused by key, before anything runs.
#include "run/support.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "run/plan_file.hpp"
#include "strategies/build.hpp"
#include "tests/run/gpu_on_paper.hpp"
#include "tests/run/refusal.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;

struct Refusal {
    const char* pointer;
    void (*change)(Plan&);
};

Plan executable() {
    Plan plan;
    plan.training.precision = {kernels::Dtype::fp32, kernels::Dtype::fp32};
    return plan;
}

/// Two of eight experts a token; 2 sequences of 8 tokens.
void with_experts(Plan& plan) {
    plan.model.experts = 8;
    plan.model.experts_per_token = 2;
    plan.model.expert_ffn = 16;
    plan.model.moe_layer_freq = 1;
    plan.training.seq = 8;
    plan.training.micro_batch = 2;
}

TEST(Support, TakesExperts) {
    Plan plan = executable();
    with_experts(plan);
    EXPECT_NO_THROW(require_executable(plan));
    plan.training.expert_capacity = 1.5;  // no expert is sent more than its share
    EXPECT_NO_THROW(require_executable(plan));
    plan.training.expert_capacity = 1;
    plan.training.pad_to_capacity = true;
    EXPECT_NO_THROW(require_executable(plan));
}

/// Copies that experts do not share evenly: the nearest micro-batches are named.
TEST(Support, NamesMicroBatchesThatExpertsShare) {
    Plan plan = executable();
    with_experts(plan);
    plan.training.seq = 2;
    const auto hint = [&](std::uint32_t micro_batch) {
        plan.training.micro_batch = micro_batch;
        try {
            require_executable(plan);
        } catch (const Error& error) {
            EXPECT_EQ(error.pointer(), "/training/micro_batch_size");
            return error.hint();
        }
        return std::string("taken");
    };
    EXPECT_EQ(hint(1), "nearest legal value: 2");
    EXPECT_EQ(hint(2), "taken");
    EXPECT_EQ(hint(5), "nearest legal values: 4, 6");
    plan.strategy.tensor = 2;  // a rank routes its part of a sequence
    plan.strategy.sequence_parallel = true;
    EXPECT_EQ(hint(2), "nearest legal value: 4");
}

TEST(Support, TakesAPlainPlan) { EXPECT_NO_THROW(require_executable(executable())); }

TEST(Support, TakesUnfusedAttention) {
    Plan plan = executable();
    plan.training.fused_attention = false;
    EXPECT_NO_THROW(require_executable(plan));
    plan.model.dropout = 0.1;
    EXPECT_NO_THROW(require_executable(plan));
}

/// Of hidden states on context ranks too, of attention not.
TEST(Support, TakesDropouts) {
    Plan plan = executable();
    plan.model.dropout = 0.1;
    EXPECT_NO_THROW(require_executable(plan));
    plan.strategy.context = 2;
    EXPECT_THROW(require_executable(plan), Error);
    plan.model.hidden_dropout_alone = true;
    EXPECT_NO_THROW(require_executable(plan));
}

const Refusal image_cases[]{
    {"/model/patch_size", [](Plan& p) { p.model.image = {.size = 224, .patch = 16, .channels = 3}; }},
    {"/model/name",
     [](Plan& p) {
         p.model.family = models::Family::vgg;
         p.model.image.size = 224;
     }},
    {"/strategy/split_classes",
     [](Plan& p) {
         p.model.family = models::Family::resnet;
         p.model.image.size = 224;
         p.strategy.split_classes = 2;
     }},
    {"/training/precision",
     [](Plan& p) {
         p.model.family = models::Family::resnet;
         p.model.image.size = 224;
         p.training.precision.compute = kernels::Dtype::bf16;
     }},
};

const Refusal model_cases[]{
    {"/model/type_vocab_size", [](Plan& p) { p.model.token_types = 2; }},
    {"/model/output_norm", [](Plan& p) { p.model.parallel_residual = p.model.output_norm = true; }},
    {"/model/num_experts",
     [](Plan& p) {
         with_experts(p);
         p.model.parallel_residual = true;
     }},
    {"/model/input_norm",
     [](Plan& p) {
         with_experts(p);
         p.model.input_norm = false;
     }},
    {"/model/moe_shared_expert_gate",
     [](Plan& p) {
         with_experts(p);
         p.model.shared_expert_ffn = 8;
         p.model.shared_expert_gate = true;
     }},
    {"/model/relative_attention_num_buckets", [](Plan& p) { p.model.relative_buckets = 3; }},
    {"/model/relative_attention_num_buckets", [](Plan& p) { p.model.relative_buckets = 255; }},
    {"/model/position_embedding_type", [](Plan& p) { p.model.position = models::PositionKind::alibi; }},
    {"/training/precision",
     [](Plan& p) {
         p.training.precision = {kernels::Dtype::fp16, kernels::Dtype::fp16};
         p.strategy.schedule = strategies::ScheduleKind::pipedream_2bw;
     }},
    {"/training/grad_reduce_precision", [](Plan& p) { p.training.precision.grad_reduce = kernels::Dtype::bf16; }},
    {"/training/memory_format", [](Plan& p) { p.training.memory_format = strategies::MemoryFormat::channels_first; }},
    {"/training/software",
     [](Plan& p) {
         with_experts(p);
         p.model.linear_bias = true;
         p.training.software = hardware::Software::transformer_engine;
     }},
    {"/model/num_experts",
     [](Plan& p) {
         with_experts(p);
         p.model.experts = p.model.experts_per_token = 1;
     }},
    {"/training/moe_expert_capacity_factor",
     [](Plan& p) {
         with_experts(p);
         p.training.expert_capacity = 0.5;
     }},
    {"/training/moe_expert_capacity_factor",
     [](Plan& p) {
         with_experts(p);
         p.training.expert_capacity = 1.25;
         p.training.pad_to_capacity = true;
     }},
    {"/training/micro_batch_size",
     [](Plan& p) {
         with_experts(p);
         p.training.seq = 7;
     }},
};

const Refusal dropout_cases[]{
    {"/training/dropout",
     [](Plan& p) {
         p.model = small_t5();
         p.model.dropout = 0.1;
         p.training.decoder_seq = 8;
     }},
    {"/training/dropout",
     [](Plan& p) {
         p.model.dropout = 0.1;
         p.strategy.context = 2;
     }},
    {"/training/kernel_fusion", [](Plan& p) { p.training.kernel_fusion = strategies::KernelFusion::operators; }},
    {"/training/fused_attention",
     [](Plan& p) {
         p.model = small_t5();
         p.training.fused_attention = false;
     }},
};

const Refusal offload_cases[]{
    {"/strategy/offload_param_device",
     [](Plan& p) {
         p.strategy.sharding = strategies::Sharding::zero3;
         p.strategy.param_device = strategies::OffloadDevice::cpu;
     }},
    {"/strategy/offload_optimizer_device",
     [](Plan& p) {
         p.strategy.sharding = strategies::Sharding::zero3;
         p.strategy.optimizer_cpu_offload = p.strategy.overlap_optimizer_copies = true;
         p.strategy.optimizer_device = strategies::OptimizerDevice::nvme;
     }},
};

const Refusal sharding_cases[]{
    {"/strategy/grad_reduce_collective",
     [](Plan& p) {
         p.strategy.data = 2;
         p.strategy.sharding = strategies::Sharding::zero2;
         p.strategy.grad_reduce_collective = strategies::GradReduceCollective::reduce;
     }},
    {"/strategy/sharding",
     [](Plan& p) {
         p.model.tied_embeddings = true;
         p.strategy.pipeline = p.strategy.data = 2;
         p.strategy.sharding = strategies::Sharding::zero1;
     }},
    {"/strategy/sharding",
     [](Plan& p) {
         p.model.tied_embeddings = true;
         p.strategy.pipeline = p.strategy.data = 2;
         p.strategy.sharding = strategies::Sharding::zero3;
     }},
};

const Refusal strategy_cases[]{
    {"/strategy/tensor_mode",
     [](Plan& p) {
         p.strategy.tensor = 4;
         p.strategy.tensor_mode = strategies::TensorMode::two_d;
     }},
    {"/strategy/tp_comm_overlap", [](Plan& p) { p.strategy.tensor_comm_overlap = true; }},
    {"/strategy/placement", [](Plan& p) { p.strategy.placement = "round-robin"; }},
    {"/strategy/context",
     [](Plan& p) {
         with_experts(p);
         p.strategy.context = 2;
         p.strategy.context_exchange = strategies::ContextExchange::a2a;
     }},
    {"/strategy/schedule",
     [](Plan& p) {
         p.strategy.pipeline = p.strategy.virtual_pipeline = 2;
         p.strategy.schedule = strategies::ScheduleKind::zb_v;
     }},
    {"/strategy/schedule",
     [](Plan& p) {
         p.strategy.pipeline = 2;
         p.strategy.schedule = strategies::ScheduleKind::chimera;
     }},
    {"/training/lora_rank", [](Plan& p) { p.training.lora_rank = 4; }},
    {"/strategy/cpu_offloading_num_layers",
     [](Plan& p) {
         p.model.decoder_layers = 2;
         p.strategy.cpu_offloading_num_layers = 1;
     }},
    {"/strategy/context",
     [](Plan& p) {
         p.model.kv_lora_rank = 16;
         p.strategy.context = 2;
         p.strategy.context_exchange = strategies::ContextExchange::a2a;
     }},
    {"/strategy/tensor",
     [](Plan& p) {
         p.model.qk_norm = p.model.qk_norm_whole = true;
         p.strategy.tensor = 2;
         p.strategy.sequence_parallel = true;
     }},
    {"/strategy/sequence_parallel",
     [](Plan& p) {
         p.model.qk_norm = true;
         p.strategy.tensor = 2;
     }},
    {"/strategy/context",
     [](Plan& p) {
         p.model.qk_norm = true;
         p.strategy.context = 2;
         p.strategy.context_exchange = strategies::ContextExchange::a2a;
     }},
    {"/strategy/moe_token_dispatcher_type",
     [](Plan& p) {
         with_experts(p);
         p.strategy.dispatcher = strategies::Dispatcher::allgather;
     }},
};

/// Keys of a scenario's sections, as JSON pointers.
const std::set<std::string>& known_pointers() {
    static const std::set<std::string> all = [] {
        std::ifstream file("scenarios/scenario.schema.json");
        const nlohmann::json schema = nlohmann::json::parse(file);
        std::set<std::string> pointers;
        for (const char* section : {"model", "strategy", "training"})
            for (const auto& [key, value] : schema.at("properties").at(section).at("properties").items())
                pointers.insert(std::string("/") + section + '/' + key);
        return pointers;
    }();
    return all;
}

void expect_refused(const Refusal& one) {
    EXPECT_TRUE(known_pointers().contains(one.pointer)) << one.pointer << " is no key of a scenario";
    Plan plan = executable();
    one.change(plan);
    EXPECT_EQ(refusal(plan), one.pointer);
}

TEST(Support, RefusesByKey) {
    for (const Refusal& one : model_cases) expect_refused(one);
    for (const Refusal& one : dropout_cases) expect_refused(one);
    for (const Refusal& one : image_cases) expect_refused(one);
    for (const Refusal& one : strategy_cases) expect_refused(one);
    for (const Refusal& one : sharding_cases) expect_refused(one);
    for (const Refusal& one : offload_cases) expect_refused(one);
}

TEST(Support, NamesBf16WhereItRefusesAnotherFormat) {
    for (const kernels::Dtype dtype : {kernels::Dtype::fp4, kernels::Dtype::fp8}) {
        Plan plan = executable();
        plan.training.precision.compute = dtype;
        try {
            require_executable(plan);
            ADD_FAILURE() << kernels::name(dtype) << " was taken";
        } catch (const Error& error) {
            EXPECT_NE(error.hint().find("bf16"), std::string::npos) << error.hint();
        }
    }
    Plan plan = executable();
    for (const kernels::Dtype sums : {kernels::Dtype::fp32, kernels::Dtype::bf16}) {
        plan.training.precision = {kernels::Dtype::bf16, sums};
        EXPECT_NO_THROW(require_executable(plan));
    }
}

/// What tests/gpu/run trains on a GPU.
TEST(Support, TakesTheBundledPlans) {
    int plans = 0;
    for (const auto& entry : std::filesystem::directory_iterator("tests/gpu/plans")) {
        SCOPED_TRACE(entry.path());
        std::ifstream in(entry.path());
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        const RunPlan plan = plan_from_json(text, entry.path());
        EXPECT_EQ(plan.name, entry.path().stem());
        EXPECT_EQ(plan.plan.ranks(), 1U);
        EXPECT_EQ(to_json(plan), text) << "written by another build";
        EXPECT_NO_THROW(require_executable(plan.plan));
        ++plans;
    }
    EXPECT_GE(plans, 5);
}

TEST(Support, ADeviceRefusesKernelsThatItDoesNotRun) {
    const auto device = kernels::open_device("cpu");
    Plan plan = executable();
    plan.model = {
        .name = "gpt", .layers = 1, .hidden = 16, .heads = 2, .kv_heads = 2, .head_dim = 8, .ffn = 32, .vocab = 64};
    plan.model.max_positions = plan.training.seq = 8;
    plan.training.micro_batch = plan.training.global_batch = 1;
    EXPECT_NO_THROW(require_runs_on(*device, plan, strategies::build(plan)));
    plan.training.precision.compute = kernels::Dtype::tf32;
    EXPECT_EQ(refusal([&] { require_runs_on(*device, plan, strategies::build(plan)); }), "/training/precision");
}

TEST(Support, AGpuRefusesByKeyWhatACpuTakes) {
    const Refusal cases[]{
        {"/strategy/cp_comm_type", [](Plan& p) { p.strategy.context = 2; }},
        {"/strategy/cp_comm_type",
         [](Plan& p) {
             p.strategy.context = 2;
             p.strategy.context_exchange = strategies::ContextExchange::all_gather;
         }},
        {"/strategy/optimizer_cpu_offload", [](Plan& p) { p.strategy.optimizer_cpu_offload = true; }},
        {"/model/relative_attention_num_buckets", [](Plan& p) { p = plan_of(small_t5()); }},
        {"/training/decoder_seq",
         [](Plan& p) {
             p = plan_of(small_megatron_t5());
             p.training.decoder_seq = 7;
         }},
        {"/model/name",
         [](Plan& p) {
             p.model = models::find("resnet-50");
             p.training.seq = 1;
         }},
    };
    GpuOnPaper gpu;
    const auto cpu = kernels::open_device("cpu");
    for (const Refusal& one : cases) {
        Plan plan = executable();
        plan.model = {
            .name = "gpt", .layers = 1, .hidden = 16, .heads = 2, .kv_heads = 2, .head_dim = 8, .ffn = 32, .vocab = 64};
        plan.model.max_positions = plan.training.seq = 8;
        one.change(plan);
        const strategies::StepProgram step = strategies::build(plan);
        EXPECT_NO_THROW(require_executable(plan));
        EXPECT_NO_THROW(require_runs_on(*cpu, plan, step));
        EXPECT_EQ(refusal([&] { require_runs_on(gpu, plan, step); }), one.pointer);
    }
}

}  // namespace
}  // namespace orrery::run
