// What is said where nobody can read it.
#include "base/terminal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

namespace orrery {
namespace {

TEST(Terminal, SayingWhereNothingCanBeWrittenIsNoError) {
    std::fflush(stderr);
    const int own = ::dup(STDERR_FILENO), full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
    ASSERT_GE(own, 0);
    ASSERT_GE(full, 0);
    ASSERT_GE(::dup2(full, STDERR_FILENO), 0);
    EXPECT_NO_THROW(say("nobody reads this\n"));
    std::clearerr(stderr);
    ::dup2(own, STDERR_FILENO);
    ::close(own);
    ::close(full);
}

}  // namespace
}  // namespace orrery
