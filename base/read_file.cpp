#include "base/read_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "base/units.hpp"

namespace orrery {

namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 16U;

[[noreturn]] void cannot_be_read(const std::string& name, const std::string& hint, int error) {
    if (error == EISDIR) throw Error(name, "", "is a folder", "name a file inside it");
    throw Error(name, "", fmt::format("cannot be read: {}", std::generic_category().message(error)), hint);
}

/// /dev/zero and the like: most have no end. Terminals have one, where their user says so.
void refuse_device(int descriptor, const std::string& name, const std::string& hint) {
    struct stat about {};
    if (::fstat(descriptor, &about) != 0 || !S_ISCHR(about.st_mode) || ::isatty(descriptor) == 1) return;
    throw Error(name, "", "is a device and no file", hint.empty() ? "name a file" : hint);
}

/// Up to `most` bytes; an error for more.
std::string read_all(int descriptor, const std::string& name, const std::string& hint, std::uint64_t most) {
    std::string text;
    for (;;) {
        const std::size_t have = text.size();
        const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, most - have + 1));
        text.resize(have + want);
        const ssize_t count = ::read(descriptor, text.data() + have, want);
        text.resize(have + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        if (count < 0 && errno != EINTR) cannot_be_read(name, hint, errno);
        if (count == 0) return text;
        if (text.size() > most)
            throw Error(name, "",
                        fmt::format("holds more than {}, which is all that is read of such a file",
                                    format_bytes(static_cast<double>(most))),
                        hint.empty() ? "is it the right file?" : hint);
    }
}

class Opened {
public:
    explicit Opened(const std::filesystem::path& file) : descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~Opened() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    [[nodiscard]] int get() const { return descriptor_; }

private:
    int descriptor_;
};

}  // namespace

std::string read_file(const std::filesystem::path& file, const std::string& hint, std::uint64_t most) {
    const Opened in(file);
    if (in.get() < 0) cannot_be_read(file.string(), hint, errno);
    refuse_device(in.get(), file.string(), hint);
    return read_all(in.get(), file.string(), hint, most);
}

std::string read_standard_input(const std::string& hint, std::uint64_t most) {
    return read_all(STDIN_FILENO, "standard input", hint, most);
}

}  // namespace orrery
