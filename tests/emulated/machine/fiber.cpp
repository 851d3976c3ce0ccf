#include "tests/emulated/machine/fiber.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "tests/emulated/machine/sanitizer.hpp"

// Keeps what a function must keep (System V ABI, AMD64: rbx, rbp, r12 to r15), and changes stacks.
asm(R"(
    .text
    .globl orrery_emulated_switch
    .type orrery_emulated_switch, @function
orrery_emulated_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size orrery_emulated_switch, .-orrery_emulated_switch
)");
extern "C" void orrery_emulated_switch(void** from, void* to);

namespace orrery::emulated {

namespace {

constexpr std::size_t page = 4096, stack_bytes = sanitized ? 512 * 1024 : 128 * 1024, saved_registers = 6;

Fiber* running = nullptr;
void* outside = nullptr;  ///< the stack pointer of who resumed it
void (*entry_of_running)() = nullptr;
Stack outer_stack;  ///< of who resumed it, for AddressSanitizer

void enter() {
    finish_switch(nullptr, &outer_stack);
    entry_of_running();
    std::abort();  // entry ends by Fiber::end()
}

}  // namespace

bool Fiber::inside() { return running != nullptr; }

void Fiber::begin(void (*entry)()) {
    allow(stack_, bytes_);
    entry_of_running = entry;
    auto** top = reinterpret_cast<void**>(stack_ + bytes_);
    *--top = nullptr;                          // where enter() would return to: it begins as if it were called,
    *--top = reinterpret_cast<void*>(&enter);  // with the stack 8 bytes beside a multiple of 16
    for (std::size_t i = 0; i < saved_registers; ++i) *--top = nullptr;
    at_ = static_cast<void*>(top);
    fake_stack_ = nullptr;
}

void Fiber::resume() {
    running = this;
    void* own_fake_stack = nullptr;
    start_switch(&own_fake_stack, {stack_, bytes_});
    orrery_emulated_switch(&outside, at_);
    finish_switch(own_fake_stack, nullptr);
    running = nullptr;
}

void Fiber::suspend() {
    Fiber* const own = running;
    start_switch(&own->fake_stack_, outer_stack);
    orrery_emulated_switch(&own->at_, outside);
    finish_switch(own->fake_stack_, &outer_stack);
}

void Fiber::end() {
    start_switch(nullptr, outer_stack);
    void* nowhere = nullptr;
    orrery_emulated_switch(&nowhere, outside);
    std::abort();
}

Fibers::Fibers(std::size_t count) : bytes_(count * (stack_bytes + page)) {
    void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<char*>(memory);
    for (std::size_t i = 0; i < count; ++i) {
        char* const below = memory_ + i * (stack_bytes + page);
        ::mprotect(below, page, PROT_NONE);
        fibers_.emplace_back(below + page, stack_bytes);
    }
}

Fibers::~Fibers() { ::munmap(memory_, bytes_); }

}  // namespace orrery::emulated
