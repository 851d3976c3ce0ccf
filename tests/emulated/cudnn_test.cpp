// When attention goes to cuDNN and when to kernels of our own. What it computes is tests/gpu/cudnn_test.cpp's.
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

TEST_F(EmulatedCudnn, IsNotUsedWhereNoneIsGiven) {
    cuda::CudaDevice device(0);
    EXPECT_TRUE(verify(device, forward, 42).passed());
    EXPECT_TRUE(emulated::graph_library().runs.empty());
    EXPECT_EQ(device.facts().software.find("cuDNN"), std::string::npos);
}

}  // namespace
}  // namespace orrery::kernels
