// Attention by cuDNN: against the reference, inside packed rows, the same bytes in every run, and in training.
#include "kernels/cuda/cudnn_attention.hpp"
#include "run/executor.hpp"
#include "strategies/build.hpp"
#include "tests/gpu/gpu.hpp"
#include "tests/kernels/settings_checks.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::kernels {
namespace {

class GpuCudnn : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        if (library() == nullptr) GTEST_SKIP() << "no cuDNN 9 was found: ORRERY_CUDNN_LIBRARY of the build names one";
    }
    static const cuda::cudnn::Api* library() { return cuda::cudnn::load(""); }
    /// The GPU with cuDNN.
    static cuda::CudaDevice& with_cudnn() {
        static auto* const device = new cuda::CudaDevice(0, 1, library());  // lives on, as gpu() does
        return *device;
    }
    static void expect_right(const Kernel& kernel, std::uint64_t seed) {
        GpuTest::expect_right(with_cudnn(), kernel, seed);
    }
};

TEST_F(GpuCudnn, IsNamed) { EXPECT_NE(with_cudnn().facts().software.find(", cuDNN 9."), std::string::npos); }

/// What the results alone do not show: where cuDNN refuses, our own kernels would run.
TEST_F(GpuCudnn, TakesTheShapesOfModels) {
    cuda::CudnnAttention attention(*library(), with_cudnn().capability());
    for (const bool backward : {false, true})
        for (const std::uint32_t dim : {64u, 80u, 96u, 128u})
            for (const std::uint32_t kv_heads : {12u, 4u}) {
                const Attention kernel{Dtype::bf16, backward, true, 4, 1024, 12, kv_heads, dim};
                const Settings packed{.row_stride = std::uint64_t{12 + 2 * kv_heads} * dim};
                EXPECT_NE(attention.plan_for(kernel, {}), nullptr)
                    << to_text(Kernel(kernel)) << ": " << attention.refusal();
                EXPECT_NE(attention.plan_for(kernel, packed), nullptr) << "in packed rows: " << attention.refusal();
            }
}

/// Engines take some more than for scores.
TEST_F(GpuCudnn, NeedsLittleMemoryForLongSequences) {
    cuda::CudnnAttention attention(*library(), with_cudnn().capability());
    for (const std::uint32_t seq : {1024u, 2048u, 4096u}) {
        const Attention kernel{Dtype::bf16, true, true, 4, seq, 32, 8, 128};
        const auto* const plan = attention.plan_for(kernel, {});
        ASSERT_NE(plan, nullptr) << to_text(Kernel(kernel)) << ": " << attention.refusal();
        EXPECT_LT(cuda::CudnnAttention::scratch_bytes(*plan), 2 * cuda::CudnnAttention::most_scores) << seq;
    }
}

TEST_F(GpuCudnn, AgreesWithTheReference) {
    std::uint64_t seed = 501;
    for (const bool backward : {false, true})
        for (const bool causal : {true, false})
            for (const std::uint32_t dim : {64u, 80u, 96u, 128u}) {
                expect_right(Attention{Dtype::bf16, backward, causal, 1, 128, 2, 2, dim}, seed++);
                expect_right(Attention{Dtype::fp16, backward, causal, 2, 65, 2, 2, dim}, seed++);
            }
}

TEST_F(GpuCudnn, AgreesWithTheReferenceForGroupedQueries) {
    std::uint64_t seed = 551;
    for (const bool backward : {false, true})
        for (const bool causal : {true, false}) {
            expect_right(Attention{Dtype::bf16, backward, causal, 2, 128, 4, 2, 64}, seed++);
            expect_right(Attention{Dtype::fp16, backward, causal, 1, 90, 6, 1, 64}, seed++);
        }
}

TEST_F(GpuCudnn, PackedRowsChangeNoBit) {
    for (const Dtype dtype : {Dtype::fp16, Dtype::bf16})
        settings_checks::packed_rows_change_no_bit_of_attention(with_cudnn(), dtype);
}

TEST_F(GpuCudnn, RepeatsItself) {
    for (const bool backward : {false, true}) {
        const Kernel kernel = Attention{Dtype::bf16, backward, true, 1, 200, 4, 2, 64};
        OperandMemory memory(with_cudnn(), kernel);
        const auto first = run(with_cudnn(), memory, kernel);
        for (int repeat = 0; repeat < 3; ++repeat) EXPECT_EQ(run(with_cudnn(), memory, kernel), first);
    }
}

/// What drops probabilities is drawn as on every other device: by kernels of our own.
TEST_F(GpuCudnn, LeavesDropoutsAlone) {
    settings_checks::attention_drops_probabilities(with_cudnn(), {Dtype::bf16, false, true, 2, 70, 4, 2, 64});
}

TEST_F(GpuCudnn, RunsInAGraph) {
    const Kernel kernel = Attention{Dtype::bf16, true, true, 2, 128, 4, 2, 64};
    OperandMemory memory(with_cudnn(), kernel);
    const auto queued = run(with_cudnn(), memory, kernel);  // the plan is built here, not while a graph is recorded
    const auto graph = with_cudnn().record(0, [&] { with_cudnn().launch(kernel, memory.pointers(), 0); });
    memory.fill(7);
    graph->launch(0);
    for (std::size_t i = 0; i < memory.operands().size(); ++i) EXPECT_EQ(memory.download(i), queued[i]) << i;
}

/// Losses as with kernels of our own, but for roundings.
TEST_F(GpuCudnn, Trains) {
    strategies::Plan plan = run::plan_of(run::small_llama());
    plan.model.layers = 2;
    plan.model.hidden = 128;
    plan.model.heads = 2;
    plan.model.kv_heads = 1;
    plan.model.head_dim = 64;
    plan.model.ffn = 96;
    plan.training.seq = 32;
    plan.training.precision = {Dtype::bf16, Dtype::fp32};
    const strategies::StepProgram program = strategies::build(plan);
    run::RunSettings settings = run::fast();
    settings.adam.rate = 5e-4;
    run::Executor own(gpu(), nullptr, plan, program, settings), other(with_cudnn(), nullptr, plan, program, settings);
    for (int step = 0; step < 6; ++step) {
        const double loss = own.step().losses.at(0);
        EXPECT_NEAR(other.step().losses.at(0), loss, 2e-3 * loss) << "step " << step;
    }
}

}  // namespace
}  // namespace orrery::kernels
