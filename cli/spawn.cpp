#include "cli/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/error.hpp"

extern char** environ;  // NOLINT: POSIX names it so

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;
constexpr mode_t output_mode = 0644;

[[noreturn]] void cannot_start(const std::string& program, int error) {
    throw Error(
        fmt::format("\"{}\" cannot be started: {}", program, std::generic_category().message(error)),
        error == ENOENT ? "is it installed?" : "may it be run, and has this user not too many processes already?");
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> list;
    for (std::string& text : strings) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
}

std::vector<std::string> environment_of_children() {
    const std::string own = fmt::format("{}=", started_by);
    std::vector<std::string> all{own + std::to_string(::getpid())};
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (!std::string_view(*entry).starts_with(own)) all.emplace_back(*entry);
    return all;
}

bool redirect(const fs::path& file, int flags, int descriptor) {
    if (file.empty()) return true;
    const int opened = ::open(file.c_str(), flags | O_CLOEXEC, output_mode);
    return opened >= 0 && ::dup2(opened, descriptor) >= 0;
}

/// The signals as a program expects to find them.
void restore_signals() {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    (void)std::signal(SIGPIPE, SIG_DFL);
}

/// In the new process, between fork and exec: only what POSIX allows there. Returns when it failed, with errno.
void become(const char* program, char* const* words, char* const* environment, const StandardFiles& files,
            pid_t parent) {
    if (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) return;
    if (::getppid() != parent) ::_exit(static_cast<int>(Exit::run_failure));  // it ended before it could be watched
    restore_signals();
    if (redirect(files.in, O_RDONLY, STDIN_FILENO) && redirect(files.out, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO))
        ::execve(program, words, environment);
}

}  // namespace

bool is_program(const fs::path& file) {
    std::error_code ignored;
    return ::access(file.c_str(), X_OK) == 0 && !fs::is_directory(file, ignored);
}

fs::path on_path(const std::string& name) {
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');)
        if (fs::path file = fs::path(folder) / name; is_program(file)) return file;
    return {};
}

pid_t spawn(const std::vector<std::string>& words, const StandardFiles& files) {
    const std::string program = words.at(0).find('/') == std::string::npos ? on_path(words[0]).string() : words[0];
    if (program.empty()) cannot_start(words[0], ENOENT);
    std::vector<std::string> own_words = words, variables = environment_of_children();
    const std::vector<char*> arguments = pointers(own_words), environment = pointers(variables);
    std::array<int, 2> failure{};  // the new process says why it cannot become the program
    if (::pipe2(failure.data(), O_CLOEXEC) != 0) cannot_start(words[0], errno);
    std::fflush(stdout);
    const pid_t parent = ::getpid(), pid = ::fork();
    if (pid == 0) {
        become(program.c_str(), arguments.data(), environment.data(), files, parent);
        const int error = errno;
        (void)!::write(failure[1], &error, sizeof error);
        ::_exit(static_cast<int>(Exit::run_failure));
    }
    const int fork_error = errno;
    ::close(failure[1]);
    int error = 0;
    ssize_t told = 0;
    while (pid > 0 && (told = ::read(failure[0], &error, sizeof error)) < 0 && errno == EINTR) continue;
    ::close(failure[0]);
    if (pid < 0) cannot_start(words[0], fork_error);
    if (told == static_cast<ssize_t>(sizeof error)) cannot_start(words[0], error);
    return pid;
}

}  // namespace orrery::cli
