#include "report/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.hpp"

namespace orrery::report {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& target, int error) {
    throw Error(target.string(), "", fmt::format("cannot be written: {}", std::generic_category().message(error)),
                "name a file in a folder that exists and that you may write to");
}

/// The file a path finally means: where a symbolic link leads, also when nothing is there yet.
fs::path followed(const fs::path& target) {
    std::error_code ignored;
    const fs::path real = fs::weakly_canonical(target, ignored);
    return real.empty() ? target : real;
}

}  // namespace

struct OutputFile::State {
    fs::path target, real, temporary;  // temporary: empty when the target is written directly
    gzFile stream = nullptr;           // zlib writes plain text too, in transparent mode
};

OutputFile::OutputFile(fs::path target) : state_(std::make_unique<State>()) {
    state_->target = std::move(target);
    State& s = *state_;
    if (s.target.empty()) throw Error("the name of an output file is empty", "name a file");
    s.real = followed(s.target);
    std::error_code ignored;
    if (fs::is_directory(s.real, ignored)) fail(s.target, EISDIR);
    const bool direct = fs::exists(s.real, ignored) && !fs::is_regular_file(s.real, ignored);
    if (!direct && fs::exists(s.real, ignored) && ::access(s.real.c_str(), W_OK) != 0) fail(s.target, errno);
    if (!direct) s.temporary = s.real.string() + fmt::format(".{}.tmp", ::getpid());
    const fs::path& opened = direct ? s.real : s.temporary;
    const int file = ::open(opened.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) fail(s.target, errno);
    s.stream = gzdopen(file, s.target.extension() == ".gz" ? "wb6" : "wbT");
    if (s.stream == nullptr) {
        ::close(file);
        fail(s.target, ENOMEM);
    }
    gzbuffer(s.stream, 1U << 17U);
}

OutputFile::~OutputFile() {
    if (!state_) return;
    if (state_->stream != nullptr) gzclose(state_->stream);
    std::error_code ignored;
    if (!state_->temporary.empty()) fs::remove(state_->temporary, ignored);
}

OutputFile::OutputFile(OutputFile&&) noexcept = default;

void OutputFile::write(std::string_view text) {
    constexpr std::size_t most = std::numeric_limits<int>::max();  // gzwrite answers with an int
    while (!text.empty()) {
        const std::string_view part = text.substr(0, most);
        if (gzwrite(state_->stream, part.data(), static_cast<unsigned>(part.size())) <= 0) fail(state_->target, errno);
        text.remove_prefix(part.size());
    }
}

void OutputFile::commit() {
    State& s = *state_;
    if (gzclose(std::exchange(s.stream, nullptr)) != Z_OK) fail(s.target, errno);
    if (s.temporary.empty()) return;
    std::error_code error;
    fs::rename(s.temporary, s.real, error);
    if (error) fail(s.target, error.value());
    s.temporary.clear();
}

const fs::path& OutputFile::target() const { return state_->target; }

}  // namespace orrery::report
