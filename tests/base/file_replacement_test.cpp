#include "base/file_replacement.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/read_file.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class FileReplacementTest : public testing::Test {
protected:
    FileReplacementTest() {
        std::string name = (fs::path(testing::TempDir()) / "orrery-replacement-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        folder_ = name;
    }
    ~FileReplacementTest() override { fs::remove_all(folder_); }
    [[nodiscard]] std::ptrdiff_t entries() const {
        return std::distance(fs::directory_iterator(folder_), fs::directory_iterator{});
    }
    static mode_t mode_of(const fs::path& file) {
        struct stat facts {};
        return ::stat(file.c_str(), &facts) == 0 ? facts.st_mode & 0777U : 0;
    }

    fs::path folder_;
};

TEST_F(FileReplacementTest, AppearsWholeAtCommitWithTheUsualMode) {
    const mode_t before = ::umask(027);
    {
        FileReplacement file(folder_ / "a");
        file.write("one ");
        file.write("two");
        EXPECT_FALSE(fs::exists(folder_ / "a"));
        file.commit();
    }
    ::umask(before);
    EXPECT_EQ(read_file(folder_ / "a"), "one two");
    EXPECT_EQ(mode_of(folder_ / "a"), 0640U);
    EXPECT_EQ(entries(), 1);
}

TEST_F(FileReplacementTest, KeepsTheModeOfTheOldFile) {
    for (const mode_t mode : {0600U, 0664U, 0755U}) {
        std::ofstream(folder_ / "a") << "old";
        ASSERT_EQ(::chmod((folder_ / "a").c_str(), mode), 0);
        replace_file(folder_ / "a", "new");
        EXPECT_EQ(read_file(folder_ / "a"), "new");
        EXPECT_EQ(mode_of(folder_ / "a"), mode);
    }
}

TEST_F(FileReplacementTest, LeavesTheOldFileWhenItIsNotCommitted) {
    std::ofstream(folder_ / "a") << "old";
    { FileReplacement(folder_ / "a").write("new"); }
    EXPECT_EQ(read_file(folder_ / "a"), "old");
    EXPECT_EQ(entries(), 1);
}

/// Names that an earlier way of writing took as its own, as links to what must not be written.
TEST_F(FileReplacementTest, WritesThroughNobodysLink) {
    std::ofstream(folder_ / "secret") << "untouched";
    const std::vector<std::string> traps{"a.partial", "a.part", "a." + std::to_string(::getpid()) + ".tmp"};
    for (const std::string& trap : traps) fs::create_symlink("secret", folder_ / trap);
    replace_file(folder_ / "a", "new");
    EXPECT_EQ(read_file(folder_ / "secret"), "untouched");
    EXPECT_EQ(entries(), 5);
}

TEST_F(FileReplacementTest, FollowsALinkThatIsTheTarget) {
    std::ofstream(folder_ / "real") << "old";
    fs::create_symlink("real", folder_ / "link");
    replace_file(folder_ / "link", "new");
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
    EXPECT_EQ(read_file(folder_ / "real"), "new");
}

TEST_F(FileReplacementTest, ManyWritersLeaveTheWholeOfOne) {
    std::atomic<int> failures = 0;
    const auto write = [&](char letter) {
        for (int i = 0; i < 50; ++i) {
            replace_file(folder_ / "a", std::string(100'000, letter));
            const std::string found = read_file(folder_ / "a");
            if (found.size() != 100'000 || found.find_first_not_of(found[0]) != found.npos) ++failures;
        }
    };
    std::vector<std::thread> writers;
    for (const char letter : {'a', 'b', 'c', 'd'}) writers.emplace_back(write, letter);
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(entries(), 1);
}

TEST_F(FileReplacementTest, AFullDiskLeavesTheOldFileAndNothingElse) {
    std::ofstream(folder_ / "a") << "old";
    FileReplacement file(folder_ / "a");
    const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);  // stands in for the disk
    ASSERT_GE(::dup2(full, file.descriptor()), 0);
    ::close(full);
    try {
        file.write("new");
        FAIL() << "a full disk took it";
    } catch (const Error& error) {
        EXPECT_EQ(error.file(), (folder_ / "a").string());
        EXPECT_NE(error.hint().find("make room"), std::string::npos) << error.what();
    }
    EXPECT_EQ(read_file(folder_ / "a"), "old");
    EXPECT_EQ(entries(), 1);
}

TEST_F(FileReplacementTest, RefusesAtOnceWhatCannotBeWritten) {
    std::ofstream(folder_ / "file") << "";
    for (const fs::path& path : {folder_ / "missing" / "a", folder_, folder_ / "file" / "a", fs::path()})
        EXPECT_THROW(FileReplacement{path}, Error) << path;
    EXPECT_EQ(entries(), 1);
}

TEST_F(FileReplacementTest, WritesDevicesDirectly) {
    replace_file("/dev/null", "text");
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    EXPECT_THROW(replace_file("/dev/full", "text"), Error);
}

}  // namespace
}  // namespace orrery
