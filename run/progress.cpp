#include "run/progress.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "base/host_name.hpp"

namespace orrery::run {

namespace {

namespace fs = std::filesystem;
constexpr std::array<char, 8> magic{'o', 'r', 'r', 'e', 'r', 'y', '-', '1'};

std::atomic<ProgressRecord*> watched = nullptr;

void on_end(int) {
    if (ProgressRecord* const record = watched; record != nullptr) {
        RankState running = RankState::running;
        record->state.compare_exchange_strong(running, RankState::stopped);
        RankState starting = RankState::starting;
        record->state.compare_exchange_strong(starting, RankState::stopped);
    }
    _exit(3);
}

template <std::size_t N>
void write_text(std::array<char, N>& to, const std::string& text) {
    const std::size_t count = std::min(text.size(), N - 1);
    std::memcpy(to.data(), text.data(), count);
    to[count] = '\0';
}

void* map_file(int descriptor, int protection) {
    return mmap(nullptr, sizeof(ProgressRecord), protection, MAP_SHARED, descriptor, 0);
}

}  // namespace

fs::path progress_file(const fs::path& folder, std::uint32_t rank) { return folder / fmt::format("rank-{}", rank); }

Progress::Progress(const fs::path& file) {
    std::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    void* memory = MAP_FAILED;
    if (descriptor >= 0 && ftruncate(descriptor, sizeof(ProgressRecord)) == 0)
        memory = map_file(descriptor, PROT_READ | PROT_WRITE);
    if (descriptor >= 0) close(descriptor);
    if (memory == MAP_FAILED)
        throw Error(file.string(), "", fmt::format("cannot be written: {}", std::strerror(errno)),
                    "ranks leave their progress there; is the folder writable?");
    record_ = new (memory) ProgressRecord;
    record_->pid = getpid();
    write_text(record_->host, host_name());
    record_->magic = magic;
}

Progress::~Progress() {
    ProgressRecord* own = record_;
    watched.compare_exchange_strong(own, nullptr);
    munmap(record_, sizeof(ProgressRecord));
}

void Progress::fail(const std::string& why) {
    write_text(record_->message, why);
    record_->state = RankState::failed;
}

void Progress::watch_signals() {
    watched = record_;
    struct sigaction action {};
    action.sa_handler = on_end;
    sigaction(SIGTERM, &action, nullptr);
}

std::optional<RankTrace> read_progress(const fs::path& file) {
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return std::nullopt;
    std::error_code ignored;
    void* const memory =
        fs::file_size(file, ignored) == sizeof(ProgressRecord) ? map_file(descriptor, PROT_READ) : MAP_FAILED;
    close(descriptor);
    if (memory == MAP_FAILED) return std::nullopt;
    const auto* const record = static_cast<const ProgressRecord*>(memory);
    std::optional<RankTrace> trace;
    if (record->magic == magic) {
        trace = RankTrace{record->state, record->pid, record->host.data(), record->message.data(), record->step, {}};
        for (std::size_t lane = 0; lane < trace->item.size(); ++lane) trace->item[lane] = record->item[lane];
    }
    munmap(memory, sizeof(ProgressRecord));
    return trace;
}

}  // namespace orrery::run
