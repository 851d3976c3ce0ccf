#include "cli/device/launcher.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "cli/spawn.hpp"

namespace orrery::cli {

void end_with_launcher() {
    const char* const starter = std::getenv(started_by);
    const pid_t launcher = ::getppid();
    if (starter == nullptr || std::to_string(launcher) == starter) return;
    const auto watched = static_cast<int>(::syscall(SYS_pidfd_open, launcher, 0));
    if (watched < 0) return;  // a kernel without it
    // Signals are for the other threads; this one takes none, now and later.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    std::thread([watched, launcher] {
        pollfd entry{watched, POLLIN, 0};
        while (::getppid() == launcher && ::poll(&entry, 1, -1) < 0 && errno == EINTR) continue;
        ::kill(::getpid(), SIGKILL);
    }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace orrery::cli
