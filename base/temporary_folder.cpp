#include "base/temporary_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/file_lock.hpp"

namespace orrery {

namespace {

namespace fs = std::filesystem;
constexpr const char* mark = ".orrery-in-use";  ///< in every such folder, locked while its owner lives

[[noreturn]] void cannot_make(const fs::path& folder, int error) {
    throw Error(folder.string(), "",
                fmt::format("no temporary folder can be made there: {}", std::generic_category().message(error)),
                "let TMPDIR name a folder that you may write to and that has room");
}

fs::path folder_of_temporaries() {
    const char* const chosen = std::getenv("TMPDIR");
    const bool given = chosen != nullptr && *chosen != '\0';
    const fs::path folder = given ? chosen : "/tmp";
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored))
        throw Error(given ? "$TMPDIR" : "", "", fmt::format("\"{}\" is no folder", folder.string()),
                    given ? "make it, or unset the variable" : "make it, or let TMPDIR name another");
    return folder;
}

/// Whether the folder is this user's alone and made by an owner who is gone.
bool is_abandoned(const fs::path& folder) {
    struct stat facts {};
    if (::lstat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid() ||
        (facts.st_mode & 077U) != 0)
        return false;
    const fs::path marked = folder / mark;
    const int file = ::open(marked.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return false;
    const bool gone = try_lock(file, marked);
    ::close(file);
    return gone;
}

void remove_abandoned(const fs::path& parent, const std::string& prefix) {
    std::vector<fs::path> abandoned;
    std::error_code ignored;
    for (fs::directory_iterator entry(parent, ignored), end; entry != end; entry.increment(ignored)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with(prefix) && is_abandoned(entry->path())) abandoned.push_back(entry->path());
    }
    for (const fs::path& folder : abandoned) fs::remove_all(folder, ignored);
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& purpose) {
    const fs::path parent = folder_of_temporaries();
    const std::string prefix = fmt::format("orrery-{}-", purpose);
    remove_abandoned(parent, prefix);
    std::string name = (parent / (prefix + "XXXXXX")).string();
    if (::mkdtemp(name.data()) == nullptr) cannot_make(parent, errno);
    path_ = name;
    undone_.emplace([folder = path_] {
        std::error_code ignored;
        fs::remove_all(folder, ignored);
    });
    // Locked before it has the name that others look for.
    const fs::path unmarked = path_ / ".mark";
    lock_ = ::open(unmarked.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (lock_ < 0 || !try_lock(lock_, unmarked) || ::rename(unmarked.c_str(), (path_ / mark).c_str()) != 0) {
        const int error = errno;
        if (lock_ >= 0) ::close(lock_);
        std::error_code ignored;
        fs::remove_all(path_, ignored);
        cannot_make(parent, error);
    }
}

TemporaryFolder::~TemporaryFolder() {
    undone_.reset();
    std::error_code ignored;
    if (!kept_) fs::remove_all(path_, ignored);
    ::close(lock_);
}

void TemporaryFolder::keep() {
    undone_.reset();
    std::error_code ignored;
    fs::remove(path_ / mark, ignored);
    kept_ = true;
}

}  // namespace orrery
