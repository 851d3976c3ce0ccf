#include "base/append_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/file_lock.hpp"
#include "base/read_file.hpp"

namespace orrery {

AppendLog::AppendLog(const std::filesystem::path& file, std::string_view who, std::string_view otherwise)
    : file_(file.string()) {
    do {
        if (descriptor_ >= 0) ::close(descriptor_);  // who had it before has ended and removed it
        descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (descriptor_ < 0) cannot_write();
        lock(who, otherwise);
    } while (!is_still(file, descriptor_));
    try {
        text_ = read_file(file_);
    } catch (...) {
        ::close(descriptor_);
        throw;
    }
}

void AppendLog::lock(std::string_view who, std::string_view otherwise) {
    bool locked = false;
    try {
        locked = try_lock(descriptor_, file_);
    } catch (...) {
        ::close(descriptor_);
        throw;
    }
    if (locked) return;
    ::close(descriptor_);
    throw Error(file_, "", fmt::format("is being written by {}", who),
                fmt::format("wait until it has ended, or {}", otherwise));
}

AppendLog::~AppendLog() { ::close(descriptor_); }

void AppendLog::cannot_write() const {
    throw Error(file_, "", fmt::format("cannot be written: {}", std::strerror(errno)), "is there room?");
}

void AppendLog::keep(std::uint64_t bytes) {
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) cannot_write();
}

void AppendLog::append(std::string_view lines) {
    while (!lines.empty()) {
        const ssize_t wrote = ::write(descriptor_, lines.data(), lines.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) cannot_write();
        lines.remove_prefix(static_cast<std::size_t>(wrote));
    }
}

void AppendLog::flush() {
    if (::fsync(descriptor_) != 0 && errno != EINVAL) cannot_write();  // EINVAL: a pipe or the like
}

void AppendLog::remove() { ::unlink(file_.c_str()); }

}  // namespace orrery
