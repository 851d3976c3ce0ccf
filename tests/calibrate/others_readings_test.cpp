// Products that others timed and no profile is made of.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "calibrate/predictor.hpp"
#include "calibrate/profile_store.hpp"
#include "kernels/kernel.hpp"

namespace orrery::calibrate {
namespace {

/// torch.matmul of squares in bf16, TFLOP/s (PyTorch 2.7, CUDA 12.8; zzc0721/torch-performance-test-data); smaller ones
/// wait for their launches there.
constexpr std::array<std::uint32_t, 3> squares{4096, 8192, 10240};
struct Reading {
    const char *profile, *issue;
    std::array<double, 3> teraflops;
    double worst, mean;  ///< relative errors that are allowed
};
constexpr Reading readings[] = {
    {"h20", "77", {133.41, 138.60, 142.25}, 0.03, 0.02},
    {"rtx-pro-6000", "162", {399.93, 417.34, 387.01}, 0.08, 0.05},
};

class OthersReadings : public testing::TestWithParam<Reading> {};

TEST_P(OthersReadings, AreWhatTheProfilesSay) {
    const Reading& reading = GetParam();
    ProfileStore store;
    const Predictor& predictor = store.find(reading.profile);
    double sum = 0;
    for (std::size_t i = 0; i < squares.size(); ++i) {
        const kernels::Gemm product{kernels::Dtype::bf16, 1, squares[i], squares[i], squares[i]};
        const double measured = kernels::flops(product) / (reading.teraflops[i] * 1e12);
        const double error = predictor.kernel(product).seconds / measured - 1;
        EXPECT_LE(std::abs(error), reading.worst) << squares[i] << " of issue " << reading.issue;
        sum += std::abs(error) / squares.size();
    }
    EXPECT_LE(sum, reading.mean);
}

INSTANTIATE_TEST_SUITE_P(Boards, OthersReadings, testing::ValuesIn(readings), [](const auto& each) {
    return std::string(each.param.profile) == "h20" ? "H20" : "RtxPro6000";
});

/// BERT-large's layer in fp16 on a V100-SXM2-16GB, 64 sequences of 128 tokens, dropout drawn, each part repeated for
/// three seconds (PyTorch 1.13; mli/transformers-benchmarks, micro_bench.ipynb at 53a232b, whose 94.9 TFLOP/s of 8,192
/// cubed is sustained_gemm's origin). From DeepBench's short repeats without their clock the parts come out 9 and 16%
/// too fast.
TEST(OthersReadings, OfALayerOnV100AreWhatItsProfileSays) {
    using Kind = kernels::PointwiseKind;
    ProfileStore store;
    const Predictor& v100 = store.find("v100");
    constexpr auto fp16 = kernels::Dtype::fp16;
    constexpr std::uint32_t batch = 64, seq = 128, heads = 16, head = 64, hidden = 1024, ffn = 4 * hidden;
    constexpr std::uint32_t tokens = batch * seq, pairs = batch * heads;
    const auto gemm = [&](std::uint32_t n, std::uint32_t k) {
        return v100.kernel(kernels::Gemm{fp16, 1, tokens, n, k}).seconds;
    };
    const auto of = [&](Kind kind, std::uint64_t rows, std::uint64_t cols) {
        return v100.kernel(kernels::Pointwise{kind, fp16, rows, cols}).seconds;
    };
    const double end = of(Kind::dropout, tokens, hidden) + of(Kind::add, tokens, hidden) +
                       of(Kind::layernorm, tokens, hidden);  // of either part
    const double mlp = gemm(ffn, hidden) + of(Kind::gelu, tokens, ffn) + gemm(hidden, ffn) + end;
    const double scores = v100.kernel(kernels::Gemm{fp16, pairs, seq, seq, head}).seconds +
                          of(Kind::scale, pairs * seq, seq) + of(Kind::softmax, pairs * seq, seq) +
                          of(Kind::dropout, pairs * seq, seq) +
                          v100.kernel(kernels::Gemm{fp16, pairs, seq, head, seq}).seconds;
    const double copies = 4 * of(Kind::transpose, tokens, hidden);  // of queries, keys, values, and what comes out
    const double attention = 4 * gemm(hidden, hidden) + scores + copies + end;
    EXPECT_NEAR(16.0 * tokens * hidden * hidden / mlp, 68.241e12, 0.03 * 68.241e12);
    EXPECT_NEAR((8.0 * tokens * hidden * hidden + 4.0 * tokens * hidden * seq) / attention, 40.418e12,
                0.03 * 40.418e12);
    const auto cube = [&](std::uint32_t n) { return v100.kernel(kernels::Gemm{fp16, 1, n, n, n}).seconds; };
    EXPECT_NEAR(2 * std::pow(2048.0, 3) / cube(2048), 77.61e12, 0.1 * 77.61e12);
    EXPECT_NEAR(2 * std::pow(8192.0, 3) / cube(8192), 94.904e12, 0.01 * 94.904e12);
}

/// The same board: a product of 4,194,304 numbers in fp32 with one.
TEST(OthersReadings, OfAStreamOnV100AreWhatItsProfileSays) {
    ProfileStore store;
    const Estimate stream =
        store.find("v100").kernel(kernels::Pointwise{kernels::PointwiseKind::scale, kernels::Dtype::fp32, 4096, 1024});
    EXPECT_NEAR(8 * 4194304 / stream.seconds, 783.343e9, 0.03 * 783.343e9);
}

}  // namespace
}  // namespace orrery::calibrate
