#include "report/output_file.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.hpp"

namespace orrery::report {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string inflated(const fs::path& file) {
    gzFile in = gzopen(file.c_str(), "rb");
    std::string text(100000, '\0');
    const int length = gzread(in, text.data(), static_cast<unsigned>(text.size()));
    gzclose(in);
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return text;
}

class OutputFileTest : public testing::Test {
protected:
    OutputFileTest() : folder_(fs::path(testing::TempDir()) / ("output_file_" + name())) {
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    ~OutputFileTest() override { fs::remove_all(folder_); }

    static std::string name() { return testing::UnitTest::GetInstance()->current_test_info()->name(); }
    [[nodiscard]] std::size_t entries() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}));
    }

    fs::path folder_;
};

TEST_F(OutputFileTest, AppearsWholeAtCommit) {
    OutputFile file(folder_ / "a.json");
    file.write("one ");
    file.write("two");
    EXPECT_FALSE(fs::exists(folder_ / "a.json"));
    file.commit();
    EXPECT_EQ(bytes_of(folder_ / "a.json"), "one two");
    EXPECT_EQ(entries(), 1U);
}

TEST_F(OutputFileTest, LeavesTheOldFileWhenTheWorkFails) {
    std::ofstream(folder_ / "a.json") << "old";
    { OutputFile(folder_ / "a.json").write("new"); }
    EXPECT_EQ(bytes_of(folder_ / "a.json"), "old");
    EXPECT_EQ(entries(), 1U);
}

TEST_F(OutputFileTest, CompressesNamesThatEndInGz) {
    const std::string text(50000, 'x');
    for (const char* name : {"a.gz", "b.gz"}) {
        OutputFile file(folder_ / name);
        file.write(text);
        file.commit();
    }
    EXPECT_LT(fs::file_size(folder_ / "a.gz"), 1000U);
    EXPECT_EQ(inflated(folder_ / "a.gz"), text);
    EXPECT_EQ(bytes_of(folder_ / "a.gz"), bytes_of(folder_ / "b.gz"));
}

TEST_F(OutputFileTest, RefusesPathsThatCannotBeWrittenAtOnce) {
    std::ofstream(folder_ / "file") << "";
    for (const fs::path& path : {folder_ / "missing" / "a.json", folder_, folder_ / "file" / "a.json", fs::path()}) {
        EXPECT_THROW(OutputFile{path}, Error) << path;
    }
}

TEST_F(OutputFileTest, FollowsLinks) {
    std::ofstream(folder_ / "real") << "old";
    fs::create_symlink("real", folder_ / "link");
    OutputFile file(folder_ / "link");
    file.write("new");
    file.commit();
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
    EXPECT_EQ(bytes_of(folder_ / "real"), "new");
}

TEST_F(OutputFileTest, WritesDevicesDirectlyAndReportsAFullDisk) {
    OutputFile null("/dev/null");
    null.write("text");
    null.commit();
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    OutputFile full("/dev/full");
    EXPECT_THROW((full.write(std::string(1U << 20U, 'x')), full.commit()), Error);
}

}  // namespace
}  // namespace orrery::report
