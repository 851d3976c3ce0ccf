// Points in JSON: every kind comes back, wrong ones are named.
#include "calibrate/measure/subject.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.hpp"

namespace orrery::calibrate {
namespace {

using kernels::Kernel;

const std::vector<Subject> all{
    Kernel(kernels::Gemm{kernels::Dtype::bf16, 2, 3, 4, 5, kernels::GemmPass::data_gradient}),
    Kernel(kernels::Attention{kernels::Dtype::fp16, true, false, 1, 128, 8, 2, 64}),
    Kernel(kernels::Attention{kernels::Dtype::bf16, false, true, 1, 128, 8, 2, 64, 512, 100}),
    Kernel(kernels::Convolution{kernels::Dtype::fp32, kernels::GemmPass::weight_gradient, 1, 8, 9, 10, 16, 3, 2, 2, 1,
                                3, 4}),
    Kernel(kernels::Pooling{kernels::PoolingKind::average, kernels::Dtype::bf16, true, 2, 64, 7, 8, 3, 2, 2, 1}),
    Kernel(kernels::BatchNorm{kernels::Dtype::bf16, true, 100352, 64}),
    Kernel(kernels::Pointwise{kernels::PointwiseKind::adam, kernels::Dtype::bf16, 1ULL << 33U, 7}),
    CollectiveShape{kernels::CollectiveKind::all_gather, 8, 1ULL << 40U},
    CopyShape{kernels::CopyKind::host_to_device, 4096},
    OverlapShape{Kernel(kernels::Gemm{kernels::Dtype::bf16, 1, 8, 8, 8}), CopyShape{}},
    OverlapShape{Kernel(kernels::Gemm{kernels::Dtype::bf16, 1, 8, 8, 8}), CollectiveShape{}},
    OverheadShape{OverheadShape::Kind::launch},
    OverheadShape{OverheadShape::Kind::gap},
    SustainedShape{kernels::Gemm{kernels::Dtype::bf16, 1, 8, 8, 8}, 10}};

TEST(Subject, ComesBackFromJsonAndHasATextOfItsOwn) {
    std::set<std::string> texts;
    for (const Subject& subject : all) {
        EXPECT_EQ(subject_from(nlohmann::json::parse(to_json(subject).dump())), subject) << to_text(subject);
        texts.insert(to_text(subject));
    }
    EXPECT_EQ(texts.size(), all.size());
}

TEST(Subject, NamesWhatIsWrong) {
    const auto message = [](const char* text) -> std::string {
        try {
            (void)subject_from(nlohmann::json::parse(text));
            return "accepted";
        } catch (const Error& error) {
            return error.message();
        }
    };
    EXPECT_NE(message(R"({"gemm": {"dtype": "bf16"}})").find("\"batch\" of gemm"), std::string::npos);
    EXPECT_NE(message(R"({"copy": {"kind": "device_to_device", "bytes": -4}})").find("\"bytes\" of copy"),
              std::string::npos);
    EXPECT_NE(message(R"({"copy": 7})").find("not an object"), std::string::npos);
    EXPECT_NE(message(R"({"warp": {}})").find("unknown kind of point \"warp\""), std::string::npos);
    EXPECT_NE(message(R"({"overhead": "luck"})").find("luck"), std::string::npos);
    EXPECT_NE(message("[]").find("one key"), std::string::npos);
    EXPECT_NE(
        message(R"({"collective": {"kind": "all_reduce", "ranks": 4294967298, "bytes": 4}})").find("out of range"),
        std::string::npos);
    EXPECT_NE(message(R"({"copy": {"kind": "device_to_device", "bytes": 4.5}})").find("not a whole number"),
              std::string::npos);
    EXPECT_NE(message(R"({"copy": {"kind": "device_to_device", "bytes": 4, "byte": 4}})").find("unknown key \"byte\""),
              std::string::npos);
    EXPECT_NE(message(R"({"sustained": {"seconds": 1, "kernel": {"copy": {"kind": "device_to_device", "bytes": 4}}}})")
                  .find("only a gemm"),
              std::string::npos);
}

}  // namespace
}  // namespace orrery::calibrate
