#include "report/census.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/report/sample.hpp"

namespace orrery::report {
namespace {

TEST(Census, CountsWhatCallsStandFor) {
    const sim::Prediction p = sample_prediction();
    const Census uses = census(p.program, 0, &p.trace[0].spans);
    ASSERT_EQ(uses.kernels.size(), 3U);  // Adam once, the GEMM and the norm in each of four calls
    for (const KernelUse& use : uses.kernels) {
        const auto* pointwise = std::get_if<kernels::Pointwise>(&use.kernel);
        const bool adam = pointwise != nullptr && pointwise->kind == kernels::PointwiseKind::adam;
        EXPECT_EQ(use.count, adam ? 1U : 4U) << kernels::to_text(use.kernel);
    }
}

TEST(Census, CountsEveryOperationOnce) {
    const sim::Prediction p = sample_prediction();
    for (std::uint32_t role = 0; role < 2; ++role) {
        const Census uses = census(p.program, role, nullptr);
        std::uint64_t count = 1;  // the host synchronisation is neither kernel nor transfer
        for (const KernelUse& use : uses.kernels) count += use.count;
        for (const TransferUse& use : uses.transfers) count += use.count;
        EXPECT_EQ(count, strategies::unrolled_ops(p.program, role));
    }
}

TEST(Census, TimesTransfersThatHaveASpan) {
    const sim::Prediction p = sample_prediction();
    const Census uses = census(p.program, 0, &p.trace[0].spans);
    ASSERT_EQ(uses.transfers.size(), 3U);
    for (const TransferUse& use : uses.transfers) {
        const auto* collective = std::get_if<strategies::Collective>(&use.op.what);
        const bool inside = collective != nullptr && collective->group.has(strategies::Axis::tensor);
        EXPECT_EQ(use.timed, inside ? 0U : use.count);
        EXPECT_NEAR(use.timed_seconds, 0.01 * static_cast<double>(use.timed), 1e-12);
    }
}

}  // namespace
}  // namespace orrery::report
