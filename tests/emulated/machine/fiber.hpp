// A stack of its own for every thread of a block, and the way from one to another: a few nanoseconds, no system call.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace orrery::emulated {

class Fiber {
public:
    /// Begins `entry` when it is resumed next; whatever it was doing is forgotten. entry ends with Fiber::end().
    void begin(void (*entry)());
    /// Goes on with it until it suspends or ends. From outside any fiber.
    void resume();
    /// From within a fiber: back to who resumed it.
    static void suspend();
    [[noreturn]] static void end();
    /// Whether a fiber runs.
    static bool inside();

    Fiber(char* stack, std::size_t bytes) : stack_(stack), bytes_(bytes) {}

private:
    char* stack_;
    std::size_t bytes_;
    void* at_ = nullptr;          ///< its stack pointer while another runs
    void* fake_stack_ = nullptr;  ///< AddressSanitizer's
};

/// As many as a block may have threads, each above a page that may not be touched.
class Fibers {
public:
    explicit Fibers(std::size_t count);
    ~Fibers();
    Fibers(const Fibers&) = delete;
    Fibers& operator=(const Fibers&) = delete;
    [[nodiscard]] Fiber& operator[](std::size_t i) { return fibers_[i]; }

private:
    char* memory_ = nullptr;
    std::size_t bytes_ = 0;
    std::vector<Fiber> fibers_;
};

}  // namespace orrery::emulated
