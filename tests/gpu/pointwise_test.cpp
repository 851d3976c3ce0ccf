// Every memory-bound kernel against the reference, in shapes that take each of its paths.
#include <array>

#include "tests/gpu/gpu.hpp"

namespace orrery::kernels {
namespace {

struct Shape {
    std::uint64_t rows, cols;
};

// Rows are even for the kernels that move two copies of a token, columns for those that rotate pairs. The paths:
// element by element (columns no multiple of a vector), one vector a thread, four, more than registers hold, more rows
// than blocks, and a single row.
constexpr std::array<Shape, 9> shapes{
    {{2, 2}, {6, 10}, {38, 1002}, {64, 128}, {128, 1024}, {130, 12288}, {16, 50304}, {20000, 64}, {1, 131072}}};

bool runs(const Pointwise& p) {
    const bool pairs = p.kind == PointwiseKind::permute || p.kind == PointwiseKind::unpermute;
    return !pairs || p.rows % 2 == 0;
}

class GpuPointwise : public GpuTest, public testing::WithParamInterface<PointwiseKind> {};

TEST_P(GpuPointwise, AgreesWithTheReference) {
    std::uint64_t seed = 101;
    for (const Shape& s : shapes)
        for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
            const Pointwise kernel{GetParam(), dtype, s.rows, s.cols};
            if (runs(kernel)) expect_right(kernel, seed++);
        }
}

TEST_P(GpuPointwise, TakesTf32AsFp32) { expect_right(Pointwise{GetParam(), Dtype::tf32, 62, 250}, 201); }

TEST_P(GpuPointwise, RefusesFp8) { EXPECT_FALSE(gpu().supports(Pointwise{GetParam(), Dtype::fp8, 64, 64})); }

std::vector<PointwiseKind> all_kinds() {
    std::vector<PointwiseKind> kinds;
    for (int i = 0; i < pointwise_kinds; ++i) kinds.push_back(static_cast<PointwiseKind>(i));
    return kinds;
}

std::string test_name(const testing::TestParamInfo<PointwiseKind>& info) {
    std::string text(name(info.param));
    for (char& c : text)
        if (c == '-') c = '_';
    return text;
}

INSTANTIATE_TEST_SUITE_P(Kinds, GpuPointwise, testing::ValuesIn(all_kinds()), test_name);

}  // namespace
}  // namespace orrery::kernels
