#include "base/interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/terminal.hpp"

namespace orrery {

namespace {

struct Registry {
    std::mutex mutex;
    std::list<std::function<void()>> undo;  ///< the newest first
    std::function<void(int, bool)> take;
};

/// Never destroyed: a signal may come while the process ends.
Registry& registry() {
    static auto* const one = new Registry;
    return *one;
}

void say(const std::string& text) {
    const std::string line = (is_terminal(Stream::err) ? "\r\033[K" : "") + text + '\n';
    (void)!::write(STDERR_FILENO, line.data(), line.size());
}

/// Ignored ones are waited for too, and forgotten: a library that sets a handler of its own must not revive them.
[[noreturn]] void wait_for(const sigset_t& signals, const sigset_t& ignored, const std::string& program) {
    for (;;) {
        siginfo_t info{};
        const int signal = sigwaitinfo(&signals, &info);
        if (signal < 0 || sigismember(&ignored, signal) == 1) continue;  // EINTR
        Registry& all = registry();
        const std::lock_guard lock(all.mutex);  // for ever, if the process ends
        if (all.take) {
            all.take(signal, info.si_code == SI_KERNEL);
            continue;
        }
        for (const auto& undo : all.undo) undo();
        say(program + ": interrupted");
        ::_exit(static_cast<int>(Exit::interrupted));
    }
}

}  // namespace

void end_when_interrupted(const std::string& program) {
    sigset_t signals, ignored;
    sigemptyset(&signals);
    sigemptyset(&ignored);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction now {};
        sigaddset(&signals, signal);
        if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) sigaddset(&ignored, signal);
    }
    if (pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return;
    std::thread([signals, ignored, program] { wait_for(signals, ignored, program); }).detach();
}

UndoneWhenInterrupted::UndoneWhenInterrupted(std::function<void()> undo) {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    place_ = all.undo.insert(all.undo.begin(), std::move(undo));
}

UndoneWhenInterrupted::~UndoneWhenInterrupted() {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    all.undo.erase(place_);
}

InterruptsTaken::InterruptsTaken(std::function<void(int, bool)> take) {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    all.take = std::move(take);
}

InterruptsTaken::~InterruptsTaken() {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    all.take = nullptr;
}

std::unique_lock<std::mutex> hold_interrupts() { return std::unique_lock(registry().mutex); }

}  // namespace orrery
