#include "base/read_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "base/error.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

TEST(ReadFile, GivesEveryByte) {
    const fs::path file = fs::temp_directory_path() / ("orrery-read-file-" + std::to_string(getpid()));
    const std::string bytes("a\r\n\0b\n", 6);
    std::ofstream(file, std::ios::binary) << bytes;
    EXPECT_EQ(read_file(file), bytes);
    std::ofstream(file, std::ios::trunc).flush();
    EXPECT_EQ(read_file(file), "");
    fs::remove(file);
}

TEST(ReadFile, ReadsNoMoreThanItSays) {
    const fs::path file = fs::temp_directory_path() / ("orrery-read-file-" + std::to_string(getpid()));
    std::ofstream(file) << "12345";
    EXPECT_EQ(read_file(file, "", 5), "12345");
    EXPECT_THROW((void)read_file(file, "", 4), Error);
    fs::remove(file);
}

TEST(ReadFile, StopsReadingAPipeWithoutAnEnd) {
    const fs::path pipe = fs::temp_directory_path() / ("orrery-read-pipe-" + std::to_string(getpid()));
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] {
        std::ofstream out(pipe);
        for (const std::string kibibyte(1024, 'x'); out << kibibyte;) {
        }
    });
    try {
        (void)read_file(pipe, "", std::uint64_t{1} << 20U);
        ADD_FAILURE() << "the end of what has none was reached";
    } catch (const Error& error) {
        EXPECT_NE(error.message().find("1.00 MiB"), std::string::npos) << error.message();
        EXPECT_FALSE(error.hint().empty());
    }
    writer.join();
    (void)std::signal(SIGPIPE, before);
    fs::remove(pipe);
}

TEST(ReadFile, RefusesDevices) {
    for (const char* device : {"/dev/zero", "/dev/null", "/dev/urandom"}) {
        try {
            (void)read_file(device);
            ADD_FAILURE() << device << " was read";
        } catch (const Error& error) {
            EXPECT_NE(error.message().find("device"), std::string::npos) << error.message();
            EXPECT_FALSE(error.hint().empty());
        }
    }
}

TEST(ReadFile, NamesWhatIsNoFile) {
    for (const fs::path& file : {fs::temp_directory_path(), fs::path("/no/such/file")}) {
        try {
            (void)read_file(file, "try another");
            ADD_FAILURE() << file << " was read";
        } catch (const Error& error) {
            EXPECT_EQ(error.file(), file.string());
            EXPECT_EQ(error.hint(), fs::is_directory(file) ? "name a file inside it" : "try another");
        }
    }
}

}  // namespace
}  // namespace orrery
