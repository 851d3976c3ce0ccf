// Traces of torch.profiler, made by hand in its form.
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "doors/trace/attribution.hpp"
#include "doors/trace/measurement.hpp"
#include "doors/trace/steps.hpp"

namespace orrery::doors::trace {
namespace {

using Json = nlohmann::json;
using kernels::GemmPass;

/// Events as Kineto writes them. Times in microseconds.
class Recorder {
public:
    void host(const char* category, const std::string& name, int thread, double begin, double duration,
              Json arguments = Json::object()) {
        event(category, name, 1, thread, begin, duration, std::move(arguments));
    }
    /// A kernel and its launch.
    void kernel(const std::string& name, int thread, double launch, double begin, double duration, int stream = 7,
                const char* category = "kernel") {
        ++correlation_;
        host("cuda_runtime", "cudaLaunchKernel", thread, launch, 1, {{"correlation", correlation_}});
        event(category, name, 0, stream, begin, duration,
              {{"device", 0}, {"stream", stream}, {"correlation", correlation_}});
    }
    void product(const char* name, int thread, double begin, Json dimensions, Json strides, double duration) {
        Json arguments{{"Input Dims", std::move(dimensions)}, {"Input type", {"c10::BFloat16", "c10::BFloat16"}}};
        if (!strides.is_null()) arguments["Input Strides"] = std::move(strides);
        arguments["Sequence number"] = sequence;
        host("cpu_op", name, thread, begin, 10, std::move(arguments));
        kernel("sm90_xmma_gemm_bf16", thread, begin + 2, device, duration);
        device += duration;
    }

    double device = 1000;
    int sequence = -1;
    Json events = Json::array();
    Json facts = {{"distributedInfo", {{"rank", 3}, {"world_size", 8}}},
                  {"deviceProperties", {{{"id", 0}, {"name", "NVIDIA H100 80GB HBM3"}}}}};

    [[nodiscard]] std::string text() const {
        Json document = facts;
        document["traceEvents"] = events;
        return document.dump();
    }

private:
    void event(const char* category, const std::string& name, int process, int thread, double begin, double duration,
               Json arguments) {
        events.push_back({{"ph", "X"},
                          {"cat", category},
                          {"name", name},
                          {"pid", process},
                          {"tid", thread},
                          {"ts", begin},
                          {"dur", duration},
                          {"args", std::move(arguments)}});
    }

    int correlation_ = 0;
};

class Traces : public testing::Test {
protected:
    Measurement measured(const std::string& text, const std::string& step = "ProfilerStep#") {
        std::ofstream(file()) << text;
        return measure({file(), step});
    }
    [[nodiscard]] std::string file() const { return (folder_.path() / "trace.json").string(); }
    Error refused(const std::string& text) {
        try {
            (void)measured(text);
        } catch (const Error& error) {
            EXPECT_EQ(error.file(), file());
            EXPECT_FALSE(error.hint().empty());
            return error;
        }
        ADD_FAILURE() << text << " was taken";
        return Error("");
    }

private:
    TemporaryFolder folder_{"trace-test"};
};

double seconds(const Measurement& m, std::optional<int> layer, const char* phase, const char* kind) {
    for (const Group& group : m.groups)
        if (group.layer == layer && group.phase == phase && group.kind == kind) return group.seconds;
    return 0;
}

/// Forward and backward of one linear layer in block 5, an optimizer, a collective beside the backward pass.
Recorder one_step() {
    Recorder r;
    r.host("user_annotation", "ProfilerStep#7", 1, 990, 1000);
    r.host("python_function", "nn.Module: Block_5", 1, 995, 100);
    r.sequence = 40;
    r.product("aten::addmm", 1, 1000, {{32}, {64, 16}, {16, 32}}, Json(), 100);
    r.events[2]["args"]["Input type"] = {"c10::BFloat16", "c10::BFloat16", "c10::BFloat16"};
    r.host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 2, 1200, 100, {{"Sequence number", 40}});
    r.sequence = -1;
    r.product("aten::mm", 2, 1210, {{64, 32}, {32, 16}}, Json(), 50);
    r.product("aten::mm", 2, 1230, {{32, 64}, {64, 16}}, Json(), 60);
    r.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 2, 1290, 1180, 100, 20);
    r.host("user_annotation", "Optimizer.step#Adam.step", 1, 1400, 50);
    r.kernel("multi_tensor_apply_kernel", 1, 1410, 1500, 40);
    return r;
}

TEST_F(Traces, SayWhereAStepGoes) {
    const Measurement m = measured(one_step().text());
    EXPECT_EQ(m.rank, 3U);
    EXPECT_EQ(m.ranks, 8U);
    EXPECT_EQ(m.device, "NVIDIA H100 80GB HBM3");
    ASSERT_EQ(m.step_seconds.size(), 1U);
    EXPECT_NEAR(m.step_seconds[0], 1000e-6, 1e-12) << "its annotation ends after its last kernel";
    const auto use = [&](Use one) { return m.breakdown[static_cast<std::size_t>(one)]; };
    EXPECT_NEAR(use(Use::gemm), 210e-6, 1e-12);
    EXPECT_NEAR(use(Use::communication), 70e-6, 1e-12) << "what the products do not hide of it";
    EXPECT_NEAR(use(Use::optimizer), 40e-6, 1e-12);
    EXPECT_NEAR(use(Use::idle), (1000 - 320) * 1e-6, 1e-12);
    EXPECT_NEAR(seconds(m, 5, "forward", "gemm"), 100e-6, 1e-12);
    EXPECT_NEAR(seconds(m, 5, "backward", "gemm"), 110e-6, 1e-12) << "by the forward operator's sequence number";
    EXPECT_NEAR(seconds(m, std::nullopt, "optimizer", "memory-bound"), 40e-6, 1e-12);
    EXPECT_NEAR(seconds(m, std::nullopt, "", "communication"), 100e-6, 1e-12);
    EXPECT_DOUBLE_EQ(m.in_layers, 1);
    ASSERT_EQ(m.streams.size(), 2U);
    EXPECT_EQ(m.streams[0].kernels, 4U);
    EXPECT_NEAR(m.streams[0].idle, 290e-6, 1e-12) << "between the last product and the optimizer";
}

TEST_F(Traces, GiveTimesOfProductsByPass) {
    const Measurement m = measured(one_step().text());
    ASSERT_EQ(m.products.size(), 3U);
    const auto has = [&](GemmPass pass, std::uint32_t rows, std::uint32_t columns, std::uint32_t depth, double time) {
        for (const TimedProduct& p : m.products)
            if (p.gemm == kernels::Gemm{kernels::Dtype::bf16, 1, rows, columns, depth, pass})
                return std::abs(p.seconds - time) < 1e-12 && p.times == 1;
        return false;
    };
    EXPECT_TRUE(has(GemmPass::forward, 64, 32, 16, 100e-6));
    EXPECT_TRUE(has(GemmPass::data_gradient, 64, 16, 32, 50e-6));
    EXPECT_TRUE(has(GemmPass::weight_gradient, 16, 32, 64, 60e-6)) << "m inputs, n outputs, k tokens";
    EXPECT_EQ(m.products_left_out, 0U);
}

TEST_F(Traces, BelieveStridesMoreThanOrder) {
    Recorder r;
    r.product("aten::mm", 1, 1000, {{8, 4}, {4, 2}}, {{4, 1}, {1, 4}}, 10);  // B column by column
    r.product("aten::mm", 1, 1100, {{8, 4}, {4, 2}}, {{1, 8}, {2, 1}}, 20);  // A column by column
    r.product("aten::mm", 1, 1200, {{8, 4}, {4, 2}}, {{1, 8}, {1, 4}}, 30);  // both: no pass of a layer
    r.product("aten::bmm", 1, 1300, {{3, 8, 4}, {3, 4, 2}}, Json(), 40);     // a batch without strides
    const Measurement m = measured(r.text());
    ASSERT_EQ(m.products.size(), 2U);
    EXPECT_EQ(m.products[0].gemm, (kernels::Gemm{kernels::Dtype::bf16, 1, 8, 2, 4, GemmPass::forward}));
    EXPECT_EQ(m.products[1].gemm, (kernels::Gemm{kernels::Dtype::bf16, 1, 2, 8, 4, GemmPass::weight_gradient}));
    EXPECT_EQ(m.products_left_out, 2U);
    EXPECT_EQ(m.step_names, std::vector<std::string>{"the whole trace"});
}

TEST_F(Traces, CutStepsAtTheirFirstKernels) {
    Recorder r;
    for (const int step : {0, 1, 2}) {
        const double begin = 1000 + 500 * step;
        r.host("user_annotation", "ProfilerStep#" + std::to_string(step), 1, begin, 490);
        r.kernel("void at::native::fill", 1, begin + 10, begin + 100 + step, 50);
        r.kernel("void at::native::add", 1, begin + 200, begin + 700, 30);  // queued into the next step's time
    }
    const Measurement m = measured(r.text());
    ASSERT_EQ(m.step_seconds.size(), 2U) << "the end of the last is not seen";
    EXPECT_NEAR(m.step_seconds[0], 501e-6, 1e-12);
    EXPECT_EQ(m.step_names[1], "ProfilerStep#1");
    EXPECT_NEAR(m.json().at("step_time_s").get<double>(), 501e-6, 1e-12);
    EXPECT_EQ(measured(r.text(), "train").step_names.front(), "the whole trace");
}

TEST_F(Traces, KeepNanosecondsOfTimesSince1970) {
    Recorder r;
    r.kernel("k", 1, 0, 424242, 0);
    std::string text = r.text();
    text.replace(text.find("424242.0"), 8, "1712195495505583.123");
    std::ofstream(file()) << text;
    const Trace trace = read_trace(file());
    ASSERT_EQ(trace.device.size(), 1U);
    EXPECT_EQ(trace.device[0].begin, 1'712'195'495'505'583'123);
}

TEST_F(Traces, TellRecomputationFromTheBackwardPass) {
    Recorder r;
    r.host("user_annotation", "layer 2", 1, 1000, 50);
    r.host("cpu_op", "CheckpointFunction", 1, 1005, 40, {{"Sequence number", 9}});
    r.kernel("void at::native::gelu", 1, 1010, 2000, 10);
    r.host("cpu_op", "autograd::engine::evaluate_function: CheckpointFunctionBackward", 2, 1100, 200,
           {{"Sequence number", 9}});
    r.host("cpu_op", "CheckpointFunctionBackward", 2, 1105, 190, {{"Sequence number", 9}});
    r.kernel("void at::native::gelu", 2, 1110, 2100, 20);
    r.host("cpu_op", "autograd::engine::evaluate_function: GeluBackward0", 2, 1200, 50, {{"Sequence number", 77}});
    r.kernel("void at::native::gelu_backward", 2, 1210, 2200, 30);
    const Measurement m = measured(r.text());
    EXPECT_NEAR(seconds(m, 2, "forward", "memory-bound"), 10e-6, 1e-12);
    EXPECT_NEAR(seconds(m, 2, "recompute", "memory-bound"), 20e-6, 1e-12);
    EXPECT_NEAR(seconds(m, 2, "backward", "memory-bound"), 30e-6, 1e-12);
}

TEST_F(Traces, AreReadCompressedAndRefusedWhenDamaged) {
    const std::string text = one_step().text();
    const std::string packed = file() + ".gz";
    gzFile out = gzopen(packed.c_str(), "wb");
    ASSERT_EQ(gzwrite(out, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
    ASSERT_EQ(gzclose(out), Z_OK);
    EXPECT_EQ(measure({packed}).kernels, 5U);
    std::filesystem::resize_file(packed, std::filesystem::file_size(packed) / 2);
    EXPECT_THROW((void)measure({packed}), Error);
}

TEST_F(Traces, AreRefusedWithPlaceAndRemedy) {
    EXPECT_EQ(refused("{}").pointer(), "/traceEvents");
    EXPECT_NE(refused(R"({"traceEvents": []})").message().find("no kernel"), std::string::npos);
    Recorder r = one_step();
    const std::string text = r.text();
    EXPECT_NE(refused(text.substr(0, text.size() - 200)).message().find("no JSON"), std::string::npos);
    r.events[3]["dur"] = -1;
    EXPECT_EQ(refused(r.text()).pointer(), "/traceEvents/3/dur");
    r.events[3]["dur"] = 1;
    r.events[3]["ts"] = 1e30;
    EXPECT_EQ(refused(r.text()).pointer(), "/traceEvents/3/ts");
    EXPECT_THROW((void)measure({"/no/such/trace.json"}), Error);
}

TEST(Layers, AreFoundInNamesOfModulesAndAnnotations) {
    EXPECT_EQ(layer_in("nn.Module: LlamaDecoderLayer_31"), 31);
    EXPECT_EQ(layer_in("nn.Module: GPT2Block_0"), 0);
    EXPECT_EQ(layer_in("model.layers.7"), 7);
    EXPECT_EQ(layer_in("## layer 3"), 3);
    EXPECT_EQ(layer_in("transformer.h.11"), 11);
    for (const char* other : {"nn.Module: Linear_3", "nn.Module: LayerNorm_3", "ProfilerStep#3", "forward", "layer",
                              "aten::layer_3", "layer 1234567", "", "3"})
        EXPECT_EQ(layer_in(other), -1) << other;
}

TEST(Kinds, AreToldByTheKernelFirst) {
    const auto kind = [](const char* kernel, Origin origin = {}) { return kind_of({}, kernel, origin); };
    Origin in_product, in_attention;
    in_product.product = 0;
    in_attention.attention = true;
    EXPECT_EQ(kind("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"), Kind::communication);
    EXPECT_EQ(kind("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>"), Kind::gemm);
    EXPECT_EQ(kind("fmha_cutlassF_bf16_aligned_64x64_rf_sm80"), Kind::attention);
    EXPECT_EQ(kind("void at::native::elementwise_kernel<128, 2>", in_product), Kind::memory_bound);
    EXPECT_EQ(kind("void my_kernel<4>", in_product), Kind::gemm);
    EXPECT_EQ(kind("void my_kernel<4>", in_attention), Kind::attention);
    EXPECT_EQ(kind("triton_poi_fused_add_0"), Kind::memory_bound);
    DeviceSpan copy;
    copy.activity = Activity::copy;
    EXPECT_EQ(kind_of(copy, "Memcpy HtoD (Pinned -> Device)", {}), Kind::copy);
    EXPECT_EQ(kind_of(copy, "Memcpy DtoD (Device -> Device)", {}), Kind::memory_bound);
}

}  // namespace
}  // namespace orrery::doors::trace
