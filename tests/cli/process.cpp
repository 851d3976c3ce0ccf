#include "tests/cli/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace orrery::cli {

namespace fs = std::filesystem;

namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> list;
    for (std::string& text : strings) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
}

/// Nothing of the user's but what sanitizers need.
std::vector<std::string> base_environment() {
    std::vector<std::string> variables{"PATH=/usr/bin:/bin"};
    for (const std::string name : {"ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"})
        if (const char* const value = std::getenv(name.c_str())) variables.push_back(name + '=' + value);
    return variables;
}

fs::path fresh_folder() {
    std::string name = (fs::path(testing::TempDir()) / "orrery_cli_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    return name;
}

Command command_of(const std::vector<std::string>& arguments) {
    Command command{{ORRERY_PROGRAM}};
    command.words.insert(command.words.end(), arguments.begin(), arguments.end());
    return command;
}

}  // namespace

std::string content_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

Folder::Folder() : path_(fresh_folder()) {}
Folder::~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

std::string Folder::file(std::string_view name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return (path_ / name).string();
}

std::vector<std::string> Folder::names() const {
    std::vector<std::string> list;
    for (const auto& entry : fs::directory_iterator(path_)) list.push_back(entry.path().filename().string());
    std::ranges::sort(list);
    return list;
}

Terminal::Terminal() : side_(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) {
    if (side_ < 0 || ::grantpt(side_) != 0 || ::unlockpt(side_) != 0) throw std::runtime_error("no terminal");
}
Terminal::~Terminal() { ::close(side_); }

std::string Terminal::device() const { return ::ptsname(side_); }

const std::string& Terminal::text() {
    std::array<char, 4096> piece{};
    for (ssize_t size = 0; (size = ::read(side_, piece.data(), piece.size())) > 0;)
        text_.append(piece.data(), static_cast<std::size_t>(size));
    return text_;
}

Running::Running(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                 const Terminal* terminal)
    : Running(command_of(arguments), environment, terminal) {}

Running::Running(const Command& command, const std::vector<std::string>& environment, const Terminal* terminal) {
    const std::string out = folder_ / "out", err = terminal != nullptr ? terminal->device() : folder_ / "err";
    std::vector<std::string> words = command.words;
    const std::string program = words.front();
    std::vector<std::string> variables = base_environment();
    variables.insert(variables.end(), environment.begin(), environment.end());

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_NOCTTY, 0600);
    const int failed =
        posix_spawnp(&process_, program.c_str(), &actions, nullptr, pointers(words).data(), pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error("cannot start " + program);
}

Running::~Running() {
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
}

Result Running::wait() {
    int status = 0;
    if (::waitpid(process_, &status, 0) != process_) throw std::runtime_error("cannot wait for the program");
    process_ = 0;
    const int exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return {exit, content_of(folder_ / "out"), content_of(folder_ / "err")};
}

Result orrery(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
    return Running(arguments, environment).wait();
}

bool lives(std::int64_t process) {
    std::ifstream in("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    std::getline(in, line);
    const std::size_t name_end = line.rfind(") ");
    return name_end != line.npos && line[name_end + 2] != 'Z' && line[name_end + 2] != 'X';
}

bool comes_true(const std::function<bool()>& fact) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!fact()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
}

}  // namespace orrery::cli
