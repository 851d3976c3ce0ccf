// nccl-tests' text: what it prints becomes a table, and nonsense does not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "calibrate/import_nccl_tests.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/profile_check.hpp"
#include "tests/calibrate/small_profile.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;
using kernels::CollectiveKind;

std::string ranks(int count, const char* second_host = "node1") {
    std::string text;
    for (int i = 0; i < count; ++i)
        text += "#  Rank  " + std::to_string(i) + " Group  0 Pid  12" + std::to_string(i) + " on  " +
                (i < count / 2 ? "node1" : second_host) + " device  " + std::to_string(i) + " [0x0" +
                std::to_string(i) + "] NVIDIA H100 80GB HBM3\n";
    return text;
}

const std::string head =
    "# nThread 1 nGpus 8 minBytes 1024 maxBytes 1073741824 step: 1024(factor) warmup iters: 5\n"
    "#\n# Using devices\n";
const std::string titles =
    "#\n#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
const std::string rows =
    "        1024           256     float     sum      -1    22.00    0.05    0.08      0    21.50    "
    "0.05    0.08      0\n"
    "     1048576        262144     float     sum      -1    38.85   26.99   47.23      0    38.00   "
    "27.59   48.29      0\n"
    "  1073741824     268435456     float     sum      -1   4226.0  254.08  444.64      0   4200.0  "
    "255.65  447.39      0\n"
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 164.3\n";

class NcclTestsTest : public testing::Test {
protected:
    ~NcclTestsTest() override { fs::remove(file_); }
    fs::path file(const std::string& text, const char* name = "all_reduce.txt") {
        file_ = fs::temp_directory_path() / ("orrery-" + std::to_string(::getpid()) + "-" + name);
        std::ofstream(file_) << text;
        return file_;
    }
    void expect_refused(const std::string& text, const std::string& message,
                        std::optional<CollectiveKind> kind = std::nullopt) {
        try {
            (void)import_nccl_tests(file(text), kind);
            ADD_FAILURE() << "accepted: " << message;
        } catch (const Error& error) {
            EXPECT_NE(error.message().find(message), std::string::npos) << error.what();
        }
    }
    fs::path file_;
};

TEST_F(NcclTestsTest, BecomesATable) {
    const NcclTests tests = import_nccl_tests(file(head + ranks(8) + titles + rows), std::nullopt);
    EXPECT_EQ(tests.table.kind, CollectiveKind::all_reduce);
    EXPECT_EQ(tests.table.ranks, 8U);
    EXPECT_EQ(tests.device, "NVIDIA H100 80GB HBM3");
    ASSERT_EQ(tests.table.points.size(), 3U);
    EXPECT_DOUBLE_EQ(tests.table.points[1].bytes, 1048576);
    EXPECT_DOUBLE_EQ(tests.table.points[1].seconds, 38.85e-6);
    EXPECT_NEAR(tests.table.points[1].half_width, 0.85 / 76.85, 1e-9);
}

TEST_F(NcclTestsTest, GoesIntoAProfileInPlaceOfAnOlderTable) {
    const NcclTests tests = import_nccl_tests(file(head + ranks(8) + titles + rows), std::nullopt);
    Profile profile = small_profile();
    put_table(profile, tests.table);
    EXPECT_NO_THROW(check_profile(profile));
    EXPECT_EQ(profile.collectives.size(), 2U);
    EXPECT_DOUBLE_EQ(Predictor(profile).collective(CollectiveKind::all_reduce, 8, 1048576).seconds, 38.85e-6);
    EXPECT_NO_THROW(check_profile(profile_of(tests, "h100-node")));
}

TEST_F(NcclTestsTest, RefusesWrongResults) {
    std::string wrong = head + ranks(8) + titles + rows;
    wrong.replace(wrong.find("47.23      0"), 12, "47.23      3");
    expect_refused(wrong, "3 wrong results");
}

TEST_F(NcclTestsTest, AddsToAFinerTableAndSaysWhatItReplaced) {
    const NcclTests tests = import_nccl_tests(file(head + ranks(8) + titles + rows), std::nullopt);
    Profile profile = small_profile();
    auto& points = profile.collectives[1].points;
    ASSERT_EQ(profile.collectives[1].ranks, 8U);
    points.insert(points.begin() + 1, {32768, 21e-6});
    const Merged merged = put_table(profile, tests.table);
    EXPECT_EQ(merged.replaced, (std::vector<double>{1024, 1048576, 1073741824}));
    EXPECT_EQ(merged.kept, 1U);
    EXPECT_EQ(merged.older, "made up for a test");
    ASSERT_EQ(profile.collectives[1].points.size(), 4U);
    EXPECT_DOUBLE_EQ(profile.collectives[1].points[1].seconds, 21e-6);
    EXPECT_DOUBLE_EQ(profile.collectives[1].points[2].seconds, 38.85e-6);
    EXPECT_NE(profile.collectives[1].provenance.origin.find("made up for a test"), std::string::npos);
    EXPECT_NO_THROW(check_profile(profile));
    EXPECT_TRUE(
        put_table(profile, {CollectiveKind::all_gather, 8, tests.table.provenance, tests.table.points}).older.empty());
}

/// Text whose lines happen to have as many words; a header whose value is missing.
TEST_F(NcclTestsTest, RefusesOtherFilesByWhatTheyAreNot) {
    expect_refused("# a README\none two three four five six seven eight nine ten eleven twelve thirteen\n",
                   "is not what nccl-tests prints");
    EXPECT_EQ(import_nccl_tests(file("# nccl-library=\n" + head + ranks(8) + titles + rows), std::nullopt)
                  .table.provenance.software,
              "NCCL, version not told");
}

TEST_F(NcclTestsTest, RefusesOtherKindsThanTheBandwidthsBelongTo) {
    expect_refused(head + ranks(8) + titles + rows, "busbw/algbw is 1.750", CollectiveKind::all_gather);
    expect_refused(head + ranks(4) + titles + rows, "busbw/algbw is 1.750");
}

TEST_F(NcclTestsTest, SeveralNodesAreATableOfTheirOwn) {
    const NcclTests tests = import_nccl_tests(file(head + ranks(8, "node2") + titles + rows), std::nullopt);
    EXPECT_EQ(tests.table.nodes, 2U);
    Profile profile = small_profile();
    const double inside = Predictor(profile).collective(CollectiveKind::all_reduce, 8, 1048576).seconds;
    const std::size_t tables = profile.collectives.size();
    put_table(profile, tests.table);
    put_table(profile, tests.table);  // again, in place of itself
    EXPECT_NO_THROW(check_profile(profile));
    EXPECT_EQ(profile.collectives.size(), tables + 1);
    const Predictor predictor(profile);
    EXPECT_EQ(predictor.collective(CollectiveKind::all_reduce, 8, 1048576).seconds, inside);
    EXPECT_EQ(predictor.measured(CollectiveKind::all_reduce, 8, 1, 1048576)->seconds, inside);
    EXPECT_DOUBLE_EQ(predictor.measured(CollectiveKind::all_reduce, 8, 2, 1048576)->seconds, 38.85e-6);
    EXPECT_FALSE(predictor.measured(CollectiveKind::all_reduce, 16, 2, 1048576)) << "no other ranks follow from it";
    EXPECT_FALSE(predictor.measured(CollectiveKind::all_gather, 8, 2, 1048576)) << "nor other kinds";
}

TEST_F(NcclTestsTest, TakesALibraryWithoutAVersion) {
    const std::string text = "# nccl-headers=22000 nccl-library=\n";
    const NcclTests tests = import_nccl_tests(file(text + ranks(8) + rows), CollectiveKind::all_reduce);
    EXPECT_NE(tests.table.provenance.software.find("not told"), std::string::npos) << tests.table.provenance.software;
}

TEST_F(NcclTestsTest, RefusesUnevenNodesNoRanksAndNoRows) {
    expect_refused(head + ranks(7, "node2") + titles + rows, "7 ranks are spread unevenly over 2 nodes");
    expect_refused(head + titles + rows, "lists 0 ranks");
    expect_refused(head + ranks(8) + titles, "no row of measurements");
    expect_refused("", "is not what nccl-tests prints");
}

TEST_F(NcclTestsTest, AsksForAKindThatNothingTells) {
    EXPECT_THROW((void)import_nccl_tests(file(head + ranks(8) + titles + rows, "sweep.txt"), std::nullopt), Error);
    EXPECT_EQ(import_nccl_tests(file_, CollectiveKind::all_reduce).table.points.size(), 3U);
}

}  // namespace
}  // namespace orrery::calibrate
