// Explanations, against tests/calibrate/golden/explain.txt. UPDATE_GOLDEN=1 rewrites it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "calibrate/predictor.hpp"

namespace orrery::calibrate {
namespace {

using kernels::CollectiveKind;
using kernels::Dtype;
using kernels::PointwiseKind;

std::string explanations() {
    const Profile a100 = load_profile("scenarios/profiles/a100.json");
    const Profile v100 = load_profile("scenarios/profiles/v100.json");
    const Predictor new_one(a100), old_one(v100);
    std::string text = "# a100\n";
    for (const kernels::Kernel& kernel :
         {kernels::Kernel(kernels::Gemm{Dtype::bf16, 1, 2048, 6144, 12288}),
          kernels::Kernel(kernels::Gemm{Dtype::bf16, 1, 3000, 5000, 7000}),
          kernels::Kernel(kernels::Gemm{Dtype::fp16, 96, 2048, 2048, 128}),
          kernels::Kernel(kernels::Gemm{Dtype::fp32, 1, 100000, 4096, 4096}),
          kernels::Kernel(kernels::Attention{Dtype::bf16, true, true, 1, 2048, 12, 12, 128}),
          kernels::Kernel(kernels::Pointwise{PointwiseKind::add, Dtype::bf16, 2048, 8192}),
          kernels::Kernel(kernels::Pointwise{PointwiseKind::adam, Dtype::bf16, 1000, 100000}),
          kernels::Kernel(kernels::Pointwise{PointwiseKind::layernorm, Dtype::bf16, 2048, 1024})})
        text += new_one.explain(kernel);
    text += new_one.explain(CollectiveKind::all_reduce, 8, 100e6);
    text += new_one.explain(CollectiveKind::all_gather, 3, 100e6);
    text += new_one.explain(CollectiveKind::broadcast, 8, 1e6);
    text += new_one.explain(CollectiveKind::all_reduce, 1, 1e6);
    text += "# v100\n";
    text += old_one.explain(kernels::Gemm{Dtype::fp16, 1, 2048, 6144, 12288});
    text += old_one.explain(CollectiveKind::all_gather, 8, 100e6);
    const Profile h200 = load_profile("scenarios/profiles/h200-measured.json");
    const Predictor measured_one(h200);
    text += "# h200-measured\n";
    text += measured_one.explain(kernels::Gemm{Dtype::bf16, 1, 3000, 5000, 7000});
    text += measured_one.explain(kernels::Attention{Dtype::bf16, true, true, 1, 3000, 24, 24, 128});
    return text;
}

TEST(Explain, NamesItsRowsAndFormulas) {
    const char* file = "tests/calibrate/golden/explain.txt";
    const std::string now = explanations();
    if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(file) << now;
    std::ifstream in(file);
    EXPECT_EQ(now, std::string(std::istreambuf_iterator<char>(in), {}));
}

}  // namespace
}  // namespace orrery::calibrate
