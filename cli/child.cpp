#include "cli/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

extern char** environ;  // NOLINT: POSIX names it so

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t child = 0;

void forward(int signal) {
    if (child > 0) kill(child, signal);
}

/// While it lives, SIGINT and SIGTERM go to the child.
class Forwarding {
public:
    Forwarding() {
        struct sigaction action {};
        action.sa_handler = forward;
        action.sa_flags = SA_RESTART;
        sigaction(SIGINT, &action, &before_[0]);
        sigaction(SIGTERM, &action, &before_[1]);
    }
    ~Forwarding() {
        child = 0;
        sigaction(SIGINT, &before_[0], nullptr);
        sigaction(SIGTERM, &before_[1], nullptr);
    }
    Forwarding(const Forwarding&) = delete;
    Forwarding& operator=(const Forwarding&) = delete;

private:
    std::array<struct sigaction, 2> before_{};
};

bool runs(const fs::path& file) { return ::access(file.c_str(), X_OK) == 0 && !fs::is_directory(file); }

/// What posix_spawn does to the child's descriptors.
class FileActions {
public:
    explicit FileActions(const StandardFiles& files) {
        posix_spawn_file_actions_init(&actions_);
        if (!files.in.empty()) posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, files.in.c_str(), O_RDONLY, 0);
        if (!files.out.empty())
            posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, files.out.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                             0644);
    }
    ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
    FileActions(const FileActions&) = delete;
    FileActions& operator=(const FileActions&) = delete;
    [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

private:
    posix_spawn_file_actions_t actions_{};
};

pid_t wait_for(pid_t pid, int& status, int options) {
    while (true)
        if (const pid_t ended = waitpid(pid, &status, options); ended >= 0 || errno != EINTR) return ended;
}

/// Whether the child ended by itself.
bool watch(pid_t pid, int& status, const std::function<bool()>& given_up) {
    constexpr std::chrono::milliseconds nap{20};
    constexpr int looks_between = 25, looks_of_grace = 150;
    for (int look = 1; !(look % looks_between == 0 && given_up()); ++look) {
        if (const pid_t ended = wait_for(pid, status, WNOHANG); ended != 0) return ended == pid;
        std::this_thread::sleep_for(nap);
    }
    kill(pid, SIGTERM);
    for (int look = 0; look < looks_of_grace; ++look) {
        if (wait_for(pid, status, WNOHANG) != 0) return false;
        std::this_thread::sleep_for(nap);
    }
    kill(pid, SIGKILL);
    wait_for(pid, status, 0);
    return false;
}

fs::path on_path(const std::string& name) {
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');)
        if (const fs::path file = fs::path(folder) / name; runs(file)) return file;
    return {};
}

}  // namespace

fs::path device_program() {
    constexpr const char* name = "orrery-device";
    if (const char* const given = std::getenv("ORRERY_DEVICE"); given != nullptr && *given != '\0') {
        if (runs(given)) return given;
        throw Error(fmt::format("ORRERY_DEVICE names \"{}\", which is no program", given),
                    "give the path of orrery-device");
    }
    std::error_code ignored;
    const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
    if (const fs::path beside = self.parent_path() / name; !self.empty() && runs(beside)) return beside;
    if (const fs::path found = on_path(name); !found.empty()) return found;
    throw Error("orrery-device, which measures, is neither beside orrery nor on PATH",
                "build its target, or name it with ORRERY_DEVICE");
}

Exit run_child(const std::vector<std::string>& arguments, const std::function<bool()>& given_up,
               const StandardFiles& files) {
    std::vector<char*> words;
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    std::fflush(stdout);
    const Forwarding forwarding;
    const FileActions actions(files);
    pid_t pid = 0;
    const int failed = posix_spawnp(&pid, words[0], actions.get(), nullptr, words.data(), environ);
    if (failed != 0)
        throw Error(fmt::format("\"{}\" cannot be started: {}", arguments[0], std::strerror(failed)),
                    "is it installed?");
    child = pid;
    int status = 0;
    if (!(given_up ? watch(pid, status, given_up) : wait_for(pid, status, 0) == pid)) return Exit::run_failure;
    if (WIFEXITED(status) && WEXITSTATUS(status) <= 3) return static_cast<Exit>(WEXITSTATUS(status));
    const std::string how = WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                                : fmt::format("ended with code {}", WEXITSTATUS(status));
    fmt::print(stderr, "orrery: {} {}\n", arguments[0], how);
    return Exit::run_failure;
}

}  // namespace orrery::cli
