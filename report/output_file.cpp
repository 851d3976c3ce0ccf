#include "report/output_file.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "base/file_replacement.hpp"

namespace orrery::report {

struct OutputFile::State {
    explicit State(std::filesystem::path target) : file(std::move(target)) {}

    FileReplacement file;
    gzFile stream = nullptr;  // zlib writes plain text too, in transparent mode
};

OutputFile::OutputFile(std::filesystem::path target) : state_(std::make_unique<State>(std::move(target))) {
    State& s = *state_;
    const int descriptor = ::dup(s.file.descriptor());  // zlib closes its own
    if (descriptor >= 0) s.stream = gzdopen(descriptor, s.file.target().extension() == ".gz" ? "wb6" : "wbT");
    if (s.stream == nullptr) {
        const int error = descriptor < 0 ? errno : ENOMEM;
        if (descriptor >= 0) ::close(descriptor);
        s.file.fail(error);
    }
    gzbuffer(s.stream, 1U << 17U);
}

OutputFile::~OutputFile() {
    if (state_ && state_->stream != nullptr) gzclose(state_->stream);
}

OutputFile::OutputFile(OutputFile&&) noexcept = default;

void OutputFile::write(std::string_view text) {
    constexpr std::size_t most = std::numeric_limits<int>::max();  // gzwrite answers with an int
    while (!text.empty()) {
        const std::string_view part = text.substr(0, most);
        if (gzwrite(state_->stream, part.data(), static_cast<unsigned>(part.size())) <= 0) state_->file.fail(errno);
        text.remove_prefix(part.size());
    }
}

void OutputFile::complete() {
    State& s = *state_;
    if (s.stream != nullptr && gzclose(std::exchange(s.stream, nullptr)) != Z_OK) s.file.fail(errno);
}

void OutputFile::commit() {
    complete();
    state_->file.commit();
}

const std::filesystem::path& OutputFile::target() const { return state_->file.target(); }

}  // namespace orrery::report
