#include "base/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "base/file_replacement.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class TemporaryFolderTest : public testing::Test {
protected:
    TemporaryFolderTest() {
        std::string name = (fs::path(testing::TempDir()) / "orrery-temporary-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        parent_ = name;
        ::setenv("TMPDIR", name.c_str(), 1);
    }
    ~TemporaryFolderTest() override {
        ::unsetenv("TMPDIR");
        fs::remove_all(parent_);
    }
    [[nodiscard]] std::ptrdiff_t entries() const {
        return std::distance(fs::directory_iterator(parent_), fs::directory_iterator{});
    }
    /// A folder whose owner was killed.
    [[nodiscard]] fs::path abandoned() const {
        const pid_t owner = ::fork();
        if (owner == 0) {
            const TemporaryFolder folder("test");
            replace_file(folder.path() / "file", "text");
            ::kill(::getpid(), SIGKILL);
        }
        ::waitpid(owner, nullptr, 0);
        return fs::directory_iterator(parent_)->path();
    }

    fs::path parent_;
};

TEST_F(TemporaryFolderTest, IsThisUsersAloneAndGoesAtTheEnd) {
    {
        const TemporaryFolder one("test"), two("test");
        EXPECT_NE(one.path(), two.path());
        EXPECT_EQ(one.path().parent_path(), parent_);
        EXPECT_EQ(fs::status(one.path()).permissions(), fs::perms::owner_all);
        replace_file(one.path() / "file", "text");
        EXPECT_EQ(entries(), 2);
    }
    EXPECT_EQ(entries(), 0);
}

TEST_F(TemporaryFolderTest, StaysWhenItIsKept) {
    fs::path kept;
    {
        TemporaryFolder folder("test");
        replace_file(folder.path() / "file", "text");
        folder.keep();
        kept = folder.path();
    }
    const TemporaryFolder next("test");
    EXPECT_TRUE(fs::exists(kept / "file"));
    EXPECT_EQ(std::distance(fs::directory_iterator(kept), fs::directory_iterator{}), 1);
}

TEST_F(TemporaryFolderTest, TheNextRemovesThatOfAKilledOwner) {
    const fs::path left = abandoned();
    EXPECT_TRUE(fs::exists(left / "file"));
    { const TemporaryFolder other("purpose"); }
    EXPECT_TRUE(fs::exists(left / "file"));
    const TemporaryFolder next("test");
    EXPECT_FALSE(fs::exists(left));
    EXPECT_EQ(entries(), 1);
}

TEST_F(TemporaryFolderTest, WhatOthersMadeIsNotRemoved) {
    const fs::path precious = parent_ / "precious";
    fs::create_directory(precious);
    std::ofstream(precious / ".orrery-in-use") << "";
    fs::permissions(precious, fs::perms::owner_all);
    fs::create_directory_symlink(precious, parent_ / "orrery-test-123456");  // a link of a foreseen name
    fs::create_directory(parent_ / "orrery-test-mine");                      // without the mark
    fs::create_directory(parent_ / "orrery-test-open");                      // open to others
    std::ofstream(parent_ / "orrery-test-open" / ".orrery-in-use") << "";
    { const TemporaryFolder next("test"); }
    EXPECT_TRUE(fs::exists(precious / ".orrery-in-use"));
    EXPECT_EQ(entries(), 4);
}

TEST_F(TemporaryFolderTest, AMissingFolderIsNamedWithARemedy) {
    ::setenv("TMPDIR", "/no/such/folder", 1);
    try {
        const TemporaryFolder folder("test");
        FAIL() << "made in a folder that is missing";
    } catch (const Error& error) {
        EXPECT_EQ(error.file(), "$TMPDIR");
        EXPECT_NE(error.hint().find("unset"), std::string::npos);
    }
}

}  // namespace
}  // namespace orrery
