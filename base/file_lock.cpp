#include "base/file_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.hpp"

namespace orrery {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_lock(const fs::path& file, int error) {
    throw Error(file.string(), "", fmt::format("cannot be locked: {}", std::generic_category().message(error)),
                "work on a disk of this machine, and copy the file there afterwards");
}

/// For writing where this user may: network file systems lock only such files exclusively.
int open_existing(const fs::path& file) {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    return descriptor >= 0 ? descriptor : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
}

}  // namespace

FileLock::FileLock(const fs::path& file) {
    while ((descriptor_ = open_existing(file)) >= 0) {
        int failed = 0;
        while ((failed = ::flock(descriptor_, LOCK_EX)) != 0 && errno == EINTR) continue;
        const int error = errno;
        if (failed == 0 && is_still(file, descriptor_)) return;
        ::close(descriptor_);
        descriptor_ = -1;
        if (failed != 0) cannot_lock(file, error);
    }
}

FileLock::~FileLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

bool try_lock(int descriptor, const fs::path& file) {
    while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) return false;
        if (errno != EINTR) cannot_lock(file, errno);
    }
    return true;
}

bool is_still(const fs::path& file, int descriptor) {
    struct stat named {
    }, held{};
    return ::stat(file.c_str(), &named) == 0 && ::fstat(descriptor, &held) == 0 && named.st_dev == held.st_dev &&
           named.st_ino == held.st_ino;
}

}  // namespace orrery
