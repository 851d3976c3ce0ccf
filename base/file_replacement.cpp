#include "base/file_replacement.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace orrery {

namespace {

namespace fs = std::filesystem;
constexpr mode_t usual_mode = 0666, permissions = 0777;

[[noreturn]] void cannot_be_written(const fs::path& target, int error) {
    const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
    throw Error(target.string(), "", fmt::format("cannot be written: {}", std::generic_category().message(error)),
                full ? "make room, or name a file on another disk"
                     : "name a file in a folder that exists and that you may write to");
}

/// The file a path finally means: where a symbolic link leads, also when nothing is there yet.
fs::path followed(const fs::path& target) {
    std::error_code ignored;
    const fs::path real = fs::weakly_canonical(target, ignored);
    return real.empty() ? target : real;
}

/// Nobody else has it: 64 random bits, and whoever makes it does so exclusively.
fs::path name_beside(const fs::path& target) {
    std::random_device random;
    const std::uint64_t bits = std::uint64_t{random()} << 32U | random();
    return target.parent_path() / fmt::format(".orrery-{:016x}.tmp", bits);
}

std::string link_to(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

/// -1 where the file system, or a machine without /proc, cannot do it.
int open_unnamed(const fs::path& folder) {
    const int file = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, usual_mode);
    if (file < 0 || ::access(link_to(file).c_str(), F_OK) == 0) return file;
    ::close(file);
    return -1;
}

/// The file that takes an old one's place is as open to others as that was.
void take_mode(int file, const struct stat& old) {
    struct stat own {};
    if (::fstat(file, &own) != 0) return;
    if (own.st_uid != old.st_uid || own.st_gid != old.st_gid) (void)!::fchown(file, old.st_uid, old.st_gid);
    (void)::fchmod(file, old.st_mode & permissions);
}

bool flushed(int file) { return ::fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP; }

/// A rename is on the disk when its folder is.
void flush_folder(const fs::path& folder) {
    const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return;
    (void)flushed(file);
    ::close(file);
}

}  // namespace

struct FileReplacement::State {
    fs::path target, real;
    fs::path temporary;  ///< empty: the file has no name, or is the target itself
    bool direct = false;
    int file = -1;
    std::optional<UndoneWhenInterrupted> undone;

    void open_beside() {
        file = open_unnamed(real.parent_path());
        if (file >= 0) return;
        temporary = name_beside(real);
        undone.emplace([name = temporary] { ::unlink(name.c_str()); });
        file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, usual_mode);
    }

    [[nodiscard]] bool named(const fs::path& name) const {
        return ::linkat(AT_FDCWD, link_to(file).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    }

    /// 0, or errno. A link is made at once but replaces nothing, so that only an old file's place is taken by way of a
    /// second name.
    int put_in_place() {
        const auto whole = hold_interrupts();
        if (temporary.empty()) {
            if (named(real)) return 0;
            if (errno != EEXIST) return errno;
            const fs::path name = name_beside(real);
            if (!named(name)) return errno;
            temporary = name;
        }
        if (::rename(temporary.c_str(), real.c_str()) != 0) return errno;
        temporary.clear();
        return 0;
    }
};

FileReplacement::FileReplacement(fs::path target) : state_(std::make_unique<State>()) {
    State& s = *state_;
    s.target = std::move(target);
    if (s.target.empty()) throw Error("the name of an output file is empty", "name a file");
    s.real = fs::absolute(followed(s.target));
    struct stat old {};
    const bool exists = ::stat(s.real.c_str(), &old) == 0;
    if (exists && S_ISDIR(old.st_mode)) fail(EISDIR);
    s.direct = exists && !S_ISREG(old.st_mode);
    if (exists && ::access(s.real.c_str(), W_OK) != 0) fail(errno);
    if (s.direct)
        s.file = ::open(s.real.c_str(), O_WRONLY | O_CLOEXEC);
    else
        s.open_beside();
    if (s.file < 0) fail(errno);
    if (exists && !s.direct) take_mode(s.file, old);
}

FileReplacement::~FileReplacement() {
    if (!state_) return;
    if (state_->file >= 0) ::close(state_->file);
    if (!state_->temporary.empty()) ::unlink(state_->temporary.c_str());
}

FileReplacement::FileReplacement(FileReplacement&&) noexcept = default;

void FileReplacement::write(std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(state_->file, text.data(), text.size());
        if (count < 0 && errno != EINTR) fail(errno);
        if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    }
}

void FileReplacement::commit() {
    State& s = *state_;
    if (!s.direct && !flushed(s.file)) fail(errno);
    if (!s.direct)
        if (const int error = s.put_in_place(); error != 0) fail(error);
    s.undone.reset();
    if (::close(std::exchange(s.file, -1)) != 0 && errno != EINTR) fail(errno);
    if (!s.direct) flush_folder(s.real.parent_path());
}

int FileReplacement::descriptor() const { return state_->file; }

const fs::path& FileReplacement::target() const { return state_->target; }

void FileReplacement::fail(int error) const { cannot_be_written(state_->target, error); }

void replace_file(const fs::path& target, std::string_view text) {
    FileReplacement file(target);
    file.write(text);
    file.commit();
}

}  // namespace orrery
