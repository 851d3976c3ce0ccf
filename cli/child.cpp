#include "cli/child.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/interrupt.hpp"
#include "base/terminal.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

/// While it lives, interrupts go to the child.
class Forwarding {
public:
    explicit Forwarding(pid_t child)
        : child_(child), taken_([this](int signal, bool from_terminal) { pass(signal, from_terminal); }) {}
    [[nodiscard]] bool interrupted() const { return count_ > 0; }

private:
    /// A key's signal has reached the child as well: two of them make mpirun leave its ranks alone.
    void pass(int signal, bool from_terminal) {
        constexpr int patience = 3;
        ++count_;
        if (count_ >= patience)
            ::kill(child_, SIGKILL);
        else if (!from_terminal)
            ::kill(child_, signal);
    }

    pid_t child_;
    std::atomic<int> count_ = 0;
    InterruptsTaken taken_;
};

/// Whether the child has ended; it stays what it was, so that its number belongs to nobody else yet.
bool has_ended(pid_t pid, int options) {
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | options) != 0)
        if (errno != EINTR) return true;
    return info.si_pid == pid;
}

/// Whether the child ended by itself.
bool watch(pid_t pid, const std::function<bool()>& given_up) {
    constexpr std::chrono::milliseconds nap{20};
    constexpr int looks_between = 25, looks_of_grace = 150;
    for (int look = 1; !(look % looks_between == 0 && given_up()); ++look) {
        if (has_ended(pid, WNOHANG)) return true;
        std::this_thread::sleep_for(nap);
    }
    ::kill(pid, SIGTERM);
    for (int look = 0; look < looks_of_grace; ++look) {
        if (has_ended(pid, WNOHANG)) return false;
        std::this_thread::sleep_for(nap);
    }
    ::kill(pid, SIGKILL);
    (void)has_ended(pid, 0);
    return false;
}

int status_of(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return status;
}

}  // namespace

fs::path device_program() {
    constexpr const char* name = "orrery-device";
    if (const char* const given = std::getenv("ORRERY_DEVICE"); given != nullptr && *given != '\0') {
        if (is_program(given)) return given;
        throw Error(fmt::format("ORRERY_DEVICE names \"{}\", which is no program", given),
                    "give the path of orrery-device");
    }
    std::error_code ignored;
    const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
    if (const fs::path beside = self.parent_path() / name; !self.empty() && is_program(beside)) return beside;
    if (const fs::path found = on_path(name); !found.empty()) return found;
    throw Error("orrery-device, which measures, is neither beside orrery nor on PATH",
                "`make build` builds it; or name it with ORRERY_DEVICE");
}

Exit run_child(const std::vector<std::string>& arguments, const std::function<bool()>& given_up,
               const StandardFiles& files) {
    const pid_t pid = spawn(arguments, files);
    bool by_itself = true, interrupted = false;
    {
        const Forwarding forwarding(pid);
        by_itself = given_up ? watch(pid, given_up) : has_ended(pid, 0);
        interrupted = forwarding.interrupted();
    }
    const int status = status_of(pid);
    if (interrupted && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) throw Interrupted();
    if (!by_itself) return Exit::run_failure;
    if (WIFEXITED(status) && WEXITSTATUS(status) <= 3) return static_cast<Exit>(WEXITSTATUS(status));
    const std::string how = WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                                : fmt::format("ended with code {}", WEXITSTATUS(status));
    say(fmt::format("orrery: {} {}\n", arguments[0], how));
    return Exit::run_failure;
}

}  // namespace orrery::cli
