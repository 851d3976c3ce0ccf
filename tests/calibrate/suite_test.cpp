// Suites place new points where kernels can be run.
#include "calibrate/suite/suite.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "kernels/operands.hpp"
#include "tests/calibrate/pretended_device.hpp"

namespace orrery::calibrate {
namespace {

TEST(PointwiseRefine, EveryKindGetsRowsThatItCanHave) {
    PretendedDevice device({.kind = "cpu"});
    Bench bench;
    bench.device = &device;
    bench.dtypes = {kernels::Dtype::fp32};
    std::vector<Record> measured;
    for (int kind = 0; kind < kernels::pointwise_kinds; ++kind)
        for (const std::uint64_t rows : {70U, 128U, 256U}) {
            const kernels::Pointwise p{static_cast<kernels::PointwiseKind>(kind), kernels::Dtype::fp32, rows, 1024};
            Record record;
            record.subject = kernels::Kernel(p);
            record.seconds = rows == 128 ? 10e-6 : 1e-6;  // far off its neighbours: the next is 181
            measured.push_back(record);
        }
    const std::vector<Subject> points = pointwise_refine(bench, measured);
    EXPECT_EQ(points.size(), static_cast<std::size_t>(kernels::pointwise_kinds));
    for (const Subject& point : points) {
        const auto& kernel = std::get<kernels::Kernel>(point);
        EXPECT_NO_THROW((void)kernels::operands(kernel)) << kernels::to_text(kernel);
    }
}

TEST(ConvolutionGrid, HasEveryPassOfShapesThatExist) {
    PretendedDevice device({.kind = "cuda"});
    Bench bench;
    bench.device = &device;
    bench.dtypes = {kernels::Dtype::bf16};
    std::map<kernels::GemmPass, int> passes;
    std::set<std::string> texts;
    for (const Subject& point : convolution_grid(bench)) {
        const auto& kernel = std::get<kernels::Kernel>(point);
        EXPECT_NO_THROW((void)kernels::operands(kernel)) << kernels::to_text(kernel);
        EXPECT_TRUE(texts.insert(kernels::to_text(kernel)).second) << kernels::to_text(kernel);
        ++passes[std::get<kernels::Convolution>(kernel).pass];
    }
    EXPECT_EQ(passes.size(), 3U);
    EXPECT_GT(texts.size(), 100U);
}

}  // namespace
}  // namespace orrery::calibrate
