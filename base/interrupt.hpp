// SIGINT, SIGTERM and SIGHUP as an orderly end: what is half done is undone, one line says so, the exit code is 130.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>

namespace orrery {

/// Thrown where work was given up because of a signal; what was begun is undone on the way out.
class Interrupted : public std::runtime_error {
public:
    Interrupted() : std::runtime_error("interrupted") {}
};

/// From now on a thread of its own waits for the three signals (those that are not ignored, as by nohup) and ends this
/// process with Exit::interrupted. For main, before there are other threads: they inherit that the signals are blocked,
/// so that no handler ever interrupts them. program: who says on stderr that it was interrupted.
void end_when_interrupted(const std::string& program);

/// While it lives, an interrupt calls `undo` before the process ends. It runs on another thread, and may come while the
/// object is being destroyed: undoing twice must do no harm.
class UndoneWhenInterrupted {
public:
    explicit UndoneWhenInterrupted(std::function<void()> undo);
    ~UndoneWhenInterrupted();
    UndoneWhenInterrupted(const UndoneWhenInterrupted&) = delete;
    UndoneWhenInterrupted& operator=(const UndoneWhenInterrupted&) = delete;

private:
    std::list<std::function<void()>>::iterator place_;
};

/// While it lives, interrupts do not end the process: `take` gets them, one after the other, on another thread.
/// from_terminal: whether a key sent it, and so to every process of the foreground.
class InterruptsTaken {
public:
    explicit InterruptsTaken(std::function<void(int signal, bool from_terminal)> take);
    ~InterruptsTaken();
    InterruptsTaken(const InterruptsTaken&) = delete;
    InterruptsTaken& operator=(const InterruptsTaken&) = delete;
};

/// As long as it is held, an interrupt waits: for steps that must be done whole.
[[nodiscard]] std::unique_lock<std::mutex> hold_interrupts();

}  // namespace orrery
