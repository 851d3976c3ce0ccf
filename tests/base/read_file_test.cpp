#include "base/read_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

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
    try {
        (void)read_file("/dev/zero", "", std::uint64_t{1} << 20U);
        FAIL() << "the end of /dev/zero was reached";
    } catch (const Error& error) {
        EXPECT_NE(error.message().find("1.00 MiB"), std::string::npos) << error.message();
        EXPECT_FALSE(error.hint().empty());
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
