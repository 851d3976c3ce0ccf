#include "base/file_lock.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#include <vector>

#include "base/file_replacement.hpp"
#include "base/read_file.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

/// Each reads a number, adds one and replaces the file: without the lock numbers are lost.
TEST(FileLock, SerialisesReadChangeWriteAlsoOfReplacedFiles) {
    const fs::path file = fs::temp_directory_path() / ("orrery-lock-" + std::to_string(::getpid()));
    replace_file(file, "0");
    constexpr int writers = 4, rounds = 50;
    std::vector<std::thread> all;
    for (int writer = 0; writer < writers; ++writer)
        all.emplace_back([&] {
            for (int i = 0; i < rounds; ++i) {
                const FileLock lock(file);
                replace_file(file, std::to_string(std::stoi(read_file(file)) + 1));
            }
        });
    for (std::thread& one : all) one.join();
    EXPECT_EQ(read_file(file), std::to_string(writers * rounds));
    fs::remove(file);
}

TEST(FileLock, IsRefusedToASecondWithoutWaiting) {
    const fs::path file = fs::temp_directory_path() / ("orrery-lock-" + std::to_string(::getpid()));
    std::ofstream(file) << "";
    const int one = ::open(file.c_str(), O_RDWR | O_CLOEXEC), two = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_TRUE(try_lock(one, file));
    EXPECT_FALSE(try_lock(two, file));
    ::close(one);
    EXPECT_TRUE(try_lock(two, file));
    ::close(two);
    fs::remove(file);
}

TEST(FileLock, OfNoFileIsNone) { EXPECT_NO_THROW(FileLock("/no/such/file")); }

}  // namespace
}  // namespace orrery
