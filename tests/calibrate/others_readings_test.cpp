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

}  // namespace
}  // namespace orrery::calibrate
