// When attention goes to cuDNN and when to kernels of our own. What it computes is tests/gpu/cudnn_test.cpp's.
#include "kernels/cuda/cudnn_attention.hpp"
#include "tests/emulated/machine/graph_library.hpp"
#include "tests/emulated/machine/machine.hpp"
#include "tests/gpu/gpu.hpp"

namespace orrery::kernels {
namespace {

class EmulatedCudnn : public testing::Test {
protected:
    void SetUp() override { emulated::set_up({}); }
    void TearDown() override { emulated::graph_library() = {}; }

    /// Whether cuDNN ran it; the result is right in any case.
    static bool goes_to_cudnn(const Attention& kernel) {
        cuda::CudaDevice device(0, 1, cuda::cudnn::load(""));
        std::vector<std::size_t>& runs = emulated::graph_library().runs;
        runs.clear();
        const Verification verification = verify(device, kernel, 41);
        EXPECT_TRUE(verification.passed()) << to_text(Kernel(kernel)) << ": " << verification.to_text();
        return !runs.empty() && runs.back() == (kernel.backward ? 5 : 2);  // products of a backward pass, of a forward
    }

    static constexpr Attention forward{Dtype::bf16, false, true, 1, 66, 2, 1, 64},
        backward{Dtype::bf16, true, true, 1, 66, 2, 1, 64};
};

TEST_F(EmulatedCudnn, TakesSixteenBits) {
    for (Attention kernel : {forward, backward}) {
        EXPECT_TRUE(goes_to_cudnn(kernel));
        kernel.dtype = Dtype::fp16;
        EXPECT_TRUE(goes_to_cudnn(kernel));
        kernel.dtype = Dtype::tf32;
        EXPECT_FALSE(goes_to_cudnn(kernel));
        kernel.dtype = Dtype::fp32;
        EXPECT_FALSE(goes_to_cudnn(kernel));
    }
}

TEST_F(EmulatedCudnn, IsLeftWhereItHasNoEngine) {
    emulated::graph_library().offers_engines = false;
    EXPECT_FALSE(goes_to_cudnn(forward));
    EXPECT_FALSE(goes_to_cudnn(backward));
}

TEST_F(EmulatedCudnn, IsLeftWhereItRefusesADescription) {
    emulated::graph_library().takes_products = false;
    EXPECT_FALSE(goes_to_cudnn(forward));
    EXPECT_FALSE(goes_to_cudnn(backward));
}

/// Versions as NVIDIA's own frontend knows their limits.
TEST_F(EmulatedCudnn, IsLeftWhereItsVersionIsWrong) {
    for (const std::size_t version : {90500, 91000, 91001}) {
        emulated::graph_library().version = version;
        EXPECT_FALSE(goes_to_cudnn(forward)) << version;
    }
    emulated::graph_library().version = 91500;  // its backward passes take whole tiles alone
    EXPECT_TRUE(goes_to_cudnn(forward));
    EXPECT_FALSE(goes_to_cudnn(backward));
    Attention whole = backward;
    whole.seq = 128;
    EXPECT_TRUE(goes_to_cudnn(whole));
}

/// Before 9.10 the lowest number masks a score.
TEST_F(EmulatedCudnn, MasksInOlderVersions) {
    emulated::graph_library().version = 90600;
    EXPECT_TRUE(goes_to_cudnn(forward));
}

/// The gradients of a backward pass by parts whose scores take so much, and how many there were; empty: by no plan.
struct InParts {
    std::vector<std::vector<std::byte>> gradients{};
    std::size_t parts = 0;
};
InParts in_parts(cuda::CudaDevice& device, const Attention& kernel, std::uint64_t most) {
    cuda::CudnnAttention attention(*cuda::cudnn::load(""), 90, most);
    const cuda::CudnnAttention::Plan* const plan = attention.plan_for(kernel, {});
    if (plan == nullptr) return {};
    OperandMemory memory(device, kernel);
    memory.fill(43);
    emulated::graph_library().runs.clear();
    void* const scratch = device.allocate(cuda::CudnnAttention::scratch_bytes(*plan));
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    attention.launch({stream, 1, scratch}, *plan, memory.pointers());
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    device.release(scratch);
    InParts found{.parts = emulated::graph_library().runs.size()};
    for (std::size_t i = 6; i < 9; ++i) found.gradients.push_back(memory.download(i));
    return found;
}

/// Of two sequences of two heads of keys, each of which two heads of queries share: to the last bit the same.
TEST_F(EmulatedCudnn, TakesAsMuchOfABatchAsScoresMayTake) {
    cuda::CudaDevice device(0);
    constexpr Attention kernel{Dtype::bf16, true, true, 2, 68, 4, 2, 64};
    constexpr std::uint64_t head = std::uint64_t{2} * 2 * 128 * 128;
    const InParts whole = in_parts(device, kernel, 4 * head);
    EXPECT_EQ(whole.parts, 1U);
    for (const auto& [most, parts] : {std::pair{2 * head, 2U}, {3 * head, 2U}, {head, 4U}}) {
        const InParts some = in_parts(device, kernel, most);
        EXPECT_EQ(some.parts, parts);
        EXPECT_EQ(some.gradients, whole.gradients) << most;
    }
    EXPECT_EQ(in_parts(device, kernel, head - 1).parts, 0U);
    Attention odd = kernel;
    odd.seq = 67;  // its second sequence's sums would not begin at 16 bytes
    EXPECT_EQ(in_parts(device, odd, head).parts, 0U);
}

/// A token has no others to attend to, and keys behind the last tile need a mask.
TEST_F(EmulatedCudnn, IsLeftWhereItsGradientsWouldBeWrong) {
    Attention kernel = backward;
    kernel.causal = false;
    EXPECT_FALSE(goes_to_cudnn(kernel));
    kernel.seq = 128;
    EXPECT_TRUE(goes_to_cudnn(kernel));
    cuda::CudnnAttention hopper(*cuda::cudnn::load(""), 90), ampere(*cuda::cudnn::load(""), 80);
    EXPECT_NE(hopper.plan_for(backward, {}), nullptr);
    EXPECT_EQ(ampere.plan_for(backward, {}), nullptr);
    EXPECT_NE(ampere.plan_for(forward, {}), nullptr);
    kernel = forward;
    kernel.seq = 1;
    EXPECT_EQ(hopper.plan_for(kernel, {}), nullptr);
}

TEST_F(EmulatedCudnn, IsNotUsedWhereNoneIsGiven) {
    cuda::CudaDevice device(0);
    EXPECT_TRUE(verify(device, forward, 42).passed());
    EXPECT_TRUE(emulated::graph_library().runs.empty());
    EXPECT_EQ(device.facts().software.find("cuDNN"), std::string::npos);
}

}  // namespace
}  // namespace orrery::kernels
