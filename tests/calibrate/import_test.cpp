// The readers of published formats, on tables of a few lines.
#include "calibrate/import.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "calibrate/csv.hpp"
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

TEST(Import, ReadsDeepBenchAsSamplesByOutputsByInputs) {
    const auto read = deepbench_gemm(table("deepbench.csv",
                                           "Precision,Float\n,DeepSpeech,1760,128,512,N,N,,0.04,1\n"
                                           ",DeepSpeech,1760,128,512,T,N,,0.01,1\nConvolution,,\n,x,7,7,7,N,N,,1,1\n"),
                                     kernels::Dtype::fp16);
    ASSERT_EQ(read.points.size(), 1u);
    EXPECT_EQ(read.points[0].m, 128u);
    EXPECT_EQ(read.points[0].n, 1760u);
    EXPECT_EQ(read.points[0].k, 512u);
    EXPECT_NEAR(read.points[0].seconds, 0.02e-3, 1e-9);  // geometric mean of the two layouts
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

TEST(Import, KnowsItsNames) {
    EXPECT_EQ(importable().size(), 8u);
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
