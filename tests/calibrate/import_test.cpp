// The readers of published formats, on tables of a few lines.
#include "calibrate/import.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "calibrate/csv.hpp"
#include "calibrate/gpu_facts.hpp"
#include "calibrate/import_formats.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;

fs::path table(const std::string& name, const std::string& text) {
    const fs::path file = fs::path(testing::TempDir()) / "orrery_import_test" / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
}

TEST(Csv, KeepsQuotedCommasAndNamesBadCells) {
    const Csv csv(table("quoted.csv", "a,b\n\"x, y\",3\nz,four\n"), true);
    EXPECT_EQ(csv.text(0, 0), "x, y");
    EXPECT_EQ(csv.number(0, csv.column("b")), 3.0);
    try {
        (void)csv.number(1, 1);
        FAIL() << "\"four\" is not a number";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("line 3, column 2"), std::string::npos) << error.what();
    }
    EXPECT_THROW((void)csv.column("c"), Error);
}

TEST(Csv, RefusesMissingAndEmptyFiles) {
    EXPECT_THROW(Csv("no/such.csv", true), Error);
    EXPECT_THROW(Csv(table("empty.csv", "a,b\n"), true), Error);
}

TEST(Import, SortsAIConfiguratorGemms) {
    const auto read = aiconfigurator_gemm(table("x_sglang-1.2_bfloat16.csv", "m,n,k,us\n128,64,32,9\n64,64,32,5\n"),
                                          kernels::Dtype::bf16, "device");
    ASSERT_EQ(read.points.size(), 2u);
    EXPECT_EQ(read.points[0].m, 64u);
    EXPECT_FLOAT_EQ(read.points[0].seconds, 5e-6F);
    EXPECT_EQ(read.provenance.software, "sglang-1.2");
}

TEST(Import, MergesNcclReadingsToTheLowerMedian) {
    const auto file = table("nccl.csv",
                            "sys,file_ver,op_name,nccl_dtype,num_gpus,bytes,us\n"
                            "a,2.27.3,alltoall,half,4,512,30\na,2.29.2,alltoall,half,4,512,10\n"
                            "a,2.27.5,alltoall,half,4,512,11\na,2.23,alltoall,half,4,512,1\n"
                            "a,2.27.3,alltoall,int8,4,512,2\nb,2.27.3,alltoall,half,4,512,3\n");
    const auto tables = aiconfigurator_collectives(file, "a", "device");
    ASSERT_EQ(tables.size(), 1u);
    EXPECT_EQ(tables[0].kind, kernels::CollectiveKind::all_to_all);
    ASSERT_EQ(tables[0].points.size(), 1u);
    EXPECT_DOUBLE_EQ(tables[0].points[0].seconds, 11e-6);
    EXPECT_THROW((void)aiconfigurator_collectives(file, "c", "device"), Error);
}

const Provenance made{"a GPU", "", "2018", "cuBLAS 9", "", ""};

TEST(Import, ReadsDeepBenchAsSamplesByOutputsByInputs) {
    const auto read = deepbench_gemm(table("deepbench.csv",
                                           "Precision,Float\n,DeepSpeech,1760,128,512,N,N,,0.04,1\n"
                                           ",DeepSpeech,1760,128,512,T,N,,0.01,1\nConvolution,,\n,x,7,7,7,N,N,,1,1\n"),
                                     kernels::Dtype::fp16, made);
    EXPECT_EQ(read.provenance.software, "cuBLAS 9, best of DeepBench's repeats");
    EXPECT_EQ(read.provenance.origin, "Baidu DeepBench, deepbench.csv");
    ASSERT_EQ(read.points.size(), 1u);
    EXPECT_EQ(read.points[0].m, 128u);
    EXPECT_EQ(read.points[0].n, 1760u);
    EXPECT_EQ(read.points[0].k, 512u);
    EXPECT_NEAR(read.points[0].seconds, 0.02e-3, 1e-9);  // geometric mean of the two layouts
}

/// Columns as DeepBench's: -, suite, W, H, C, N, K, S, R, padding, padding, stride, stride, forward, inputs, weights.
constexpr const char* convolutions =
    "Precision\n,DeepSpeech,1760,128,512,N,N,,0.04,1\nConvolution,,\n,,W,H,C,N,K\n"
    ",Vision,20,10,64,8,128,5,3,2,2,2,2,0.04,0.05,0.06\n"
    ",Vision,20,10,64,8,128,5,3,2,2,2,2,0.01,N/A*,0.06\n"
    ",Vision,28,28,3,8,64,3,3,1,1,1,1,0.5,N/A*,0.7\n"
    ",Vision,28,28,64,8,64,3,3,1,0,1,1,9,9,9\n"
    ",Resnet,7,7,512,8,512,1,1,0,0,1,1,0.02,0.02,0.22\n"
    ",Resnet,7,7,2048,8,512,1,1,0,0,1,1,0.03,0.02,0.017\n"
    "Recurrent Layers,,\n,x,7,7,8,8,8,1,1,0,0,1,1,1,1,1\n";

TEST(Import, ReadsDeepBenchsConvolutionsByPass) {
    const auto read = deepbench_convolutions(table("convolutions.csv", convolutions), kernels::Dtype::fp32, made);
    ASSERT_EQ(read.size(), 3u);
    EXPECT_EQ(read[1].pass, kernels::GemmPass::data_gradient);
    ASSERT_EQ(read[0].points.size(), 4u);  // not the one that is padded in one direction, nor what comes behind
    ASSERT_EQ(read[1].points.size(), 3u);  // nobody takes the gradient of the data
    const ConvolutionPoint& strided = read[0].points[1];
    EXPECT_EQ(strided.shape, (kernels::Convolution{.dtype = kernels::Dtype::fp32,
                                                   .batch = 8,
                                                   .channels = 64,
                                                   .rows = 10,
                                                   .columns = 20,
                                                   .outputs = 128,
                                                   .kernel_rows = 3,
                                                   .kernel_columns = 5,
                                                   .stride = 2,
                                                   .padding = 2}));
    EXPECT_NEAR(strided.seconds, 0.02e-3, 1e-9);  // geometric mean of two readings
}

TEST(Import, LowersAConvolutionToALargerOneAndLeavesOutWhatRanWithoutTensorCores) {
    const auto half = deepbench_convolutions(table("half.csv", convolutions), kernels::Dtype::fp16, made);
    ASSERT_EQ(half[0].points.size(), 3u);
    for (const ConvolutionPoint& p : half[0].points) EXPECT_EQ(p.shape.channels % 8, 0u);
    const auto& weights = half[2].points;
    EXPECT_EQ(weights[1].shape.channels, 512u);
    EXPECT_NEAR(weights[1].seconds, 0.017e-3, 1e-9);  // what 2,048 channels take holds these 512
    EXPECT_NEAR(half[0].points[1].seconds, 0.02e-3, 1e-9);
    EXPECT_THROW((void)deepbench_convolutions(table("none.csv", "Precision\n,DeepSpeech,1,1,1,N,N,,1,1\n"),
                                              kernels::Dtype::fp16, made),
                 Error);
}

/// Its older tables name the window's height (R) before its width (S).
TEST(Import, ReadsTheWindowOfDeepBenchsOlderTables) {
    const auto read = deepbench_convolutions(
        table("older.csv", "Convolution,,\n,,W,H,C,N,K ,R,S\n,,20,10,64,8,128,3,5,2,2,2,2,0.04,0.05,0.06\n"),
        kernels::Dtype::fp32, made);
    ASSERT_EQ(read[0].points.size(), 1u);
    EXPECT_EQ(read[0].points[0].shape.kernel_rows, 3u);
    EXPECT_EQ(read[0].points[0].shape.kernel_columns, 5u);
}

TEST(Import, TakesTheHostOverheadOutOfLlmCompass) {
    // 50 us of overhead and 1 TB/s: rates in 10^9 elements per second of two bytes read and two written.
    const auto rate = [](double elements) { return elements / (50e-6 + 4 * elements / 1e12) / 1e9; };
    std::string rows, flat;
    for (const double length : {8192.0, 16384.0, 32768.0}) {
        rows += std::to_string(length) + ", 4096, " + std::to_string(rate(length * 4096)) + "\n";
        flat += std::to_string(length * 4096) + ", " + std::to_string(rate(length * 4096)) + "\n";
    }
    const fs::path folder = table("layernorm_A100.csv", rows).parent_path();
    table("softmax_A100.csv", rows);
    table("gelu_A100.csv", flat);
    const auto tables = llmcompass_pointwise(folder);
    ASSERT_EQ(tables.size(), 3u);
    for (const auto& t : tables) EXPECT_NEAR(t.points.back().bytes_per_second / 1e12, 1.0, 1e-3);
}

TEST(Import, ReadsInferSimsProductsAndPrompts) {
    const fs::path products =
        table("gemm/x/data.csv", "m,k,n,latency_us,mfu\n64,128,32,9,0.5\n16,128,32,5,0.1\n64,128,32,9,0.5\n");
    (void)table("mha/prefill/x/32-8-128.csv", "dtype,seq_len,latency_us,mfu\nbf16,4096,80,0.8\nbf16,1024,10,0.5\n");
    (void)table("mha/prefill/x/16-2-256.csv", "dtype,seq_len,latency_us,mfu\nbf16,1024,10,0.5\n");
    const fs::path folder = products.parent_path().parent_path().parent_path();
    const GemmTable narrow = infersim_gemm(folder, "x", "device"), wide = twice_as_wide(narrow);
    ASSERT_EQ(narrow.points.size(), 2U) << "of a row that comes twice one";
    EXPECT_EQ(narrow.dtype, kernels::Dtype::fp8);
    EXPECT_EQ(narrow.points[1].m, 64U);
    EXPECT_EQ(narrow.points[1].n, 32U);
    EXPECT_EQ(narrow.points[1].k, 128U);
    EXPECT_EQ(wide.dtype, kernels::Dtype::bf16);
    EXPECT_FLOAT_EQ(wide.points[1].seconds, 18e-6F);
    EXPECT_NE(wide.provenance.origin.find("estimate"), std::string::npos);
    const AttentionTable attention = infersim_attention(folder, "x", "device");
    ASSERT_EQ(attention.points.size(), 2U) << "heads of 256 belong to other kernels";
    EXPECT_EQ(attention.points[0].seq, 1024U);
    EXPECT_EQ(attention.points[1].heads, 32U);
    EXPECT_EQ(attention.points[1].kv_heads, 8U);
    EXPECT_FLOAT_EQ(attention.points[1].seconds, 80e-6F);
    (void)table("mha/prefill/y/heads.csv", "dtype,seq_len,latency_us,mfu\nbf16,1024,10,0.5\n");
    EXPECT_THROW((void)infersim_attention(folder, "y", "device"), Error);
    (void)table("mha/prefill/w/32-8.csv", "dtype,seq_len,latency_us,mfu\nbf16,1024,10,0.5\n");
    EXPECT_THROW((void)infersim_attention(folder, "w", "device"), Error);
    EXPECT_THROW((void)infersim_attention(folder, "nowhere", "device"), Error);
}

TEST(Import, ADriversNameIsItsBoards) {
    EXPECT_EQ(gpu_in("NVIDIA RTX PRO 6000 Blackwell Server Edition"), "rtx-pro-6000");
    EXPECT_EQ(gpu_in("NVIDIA H20"), "h20");
    EXPECT_EQ(gpu_in("NVIDIA H200"), "h200");
    EXPECT_EQ(gpu_in("NVIDIA GB200"), "gb200");
    EXPECT_EQ(gpu_in("TPU v5p"), "tpu-v5p");
    EXPECT_EQ(gpu_in("AMD Instinct MI300X OAM"), "mi300x");
    EXPECT_EQ(gpu_in("AMD Instinct MI250X/MI250"), "mi250x");
    EXPECT_EQ(gpu_in("NVIDIA GeForce RTX 4090"), "");
    EXPECT_EQ(gpu_in("NVIDIA RTX A6000"), "");
}

TEST(Import, KnowsItsNames) {
    EXPECT_EQ(importable().size(), 23u);
    try {
        (void)import_tables("h1000", testing::TempDir());
        FAIL() << "there is no such GPU";
    } catch (const Error& error) {
        EXPECT_NE(error.hint().find("h100"), std::string::npos);
    }
    EXPECT_THROW((void)import_tables("a100", "no/such/folder"), Error);
}

}  // namespace
}  // namespace orrery::calibrate
