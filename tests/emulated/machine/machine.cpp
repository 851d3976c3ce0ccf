#include "tests/emulated/machine/machine.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tests/emulated/machine/block.hpp"
#include "tests/emulated/machine/graphs.hpp"
#include "tests/emulated/machine/memory.hpp"

namespace orrery::emulated {

namespace {

using Clock = std::chrono::steady_clock;

/// A kernel touched memory that it may not. Elsewhere the program is at fault, and ends as it would have.
void on_bad_access(int signal, siginfo_t* info, void*) {
    if (inside_a_launch()) fault("touches " + describe(info->si_addr));
    ::signal(signal, SIG_DFL);
}

/// Once a thread of the host: the handler needs a stack, since the kernel's may be what is at its end.
void catch_bad_accesses() {
    thread_local const bool caught = [] {
        stack_t stack{};
        ::sigaltstack(nullptr, &stack);
        if ((stack.ss_flags & SS_DISABLE) != 0) {
            stack = {};
            stack.ss_size = 64 * 1024;
            stack.ss_sp = ::mmap(nullptr, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            ::sigaltstack(&stack, nullptr);
        }
        struct sigaction action {};
        action.sa_sigaction = on_bad_access;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;  // it is left for another stack, not returned from
        ::sigaction(SIGSEGV, &action, nullptr);
        ::sigaction(SIGBUS, &action, nullptr);
        return true;
    }();
    static_cast<void>(caught);
}

}  // namespace

Machine& Machine::get() {
    static auto* const machine = new Machine;  // lives on: devices are destroyed late
    return *machine;
}

void set_up(const Setup& setup) {
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    machine.setup_ = setup;
    machine.random_.seed(setup.seed);
    machine.failure_.reset();
}

std::string describe_setup() {
    const Setup& setup = Machine::get().setup_;
    return "seed " + std::to_string(setup.seed) + ", eagerness " + std::to_string(setup.eagerness) + ", " +
           std::to_string(setup.gpus) + " GPUs";
}

Stream* Machine::make_stream(int gpu) {
    auto stream = std::make_unique<Stream>();
    stream->gpu = gpu;
    return streams_.emplace_back(std::move(stream)).get();
}

void Machine::drop(Stream* stream) {
    std::erase_if(streams_, [stream](const auto& each) { return each.get() == stream; });
}

bool Machine::knows(const Stream* stream) const {
    return std::ranges::any_of(streams_, [stream](const auto& each) { return each.get() == stream; });
}

void Machine::queue(Stream* stream, Work work) {
    if (stream->capture != nullptr) return stream->capture->add(*stream, std::move(work));
    if (work.launched) work.launched();
    stream->queue.push_back(std::move(work));
    changed_.notify_all();
    if (running_ || setup_.eagerness <= 0) return;  // what runs now queues nothing that has to run before it
    std::geometric_distribution<int> how_many(1 / (1 + setup_.eagerness));
    for (int i = how_many(random_); i > 0; --i)
        if (!run_one()) break;
}

void Machine::run(const Work& work) {
    catch_bad_accesses();
    running_ = true;
    work.run();
    running_ = false;
    changed_.notify_all();
}

/// A piece that is drawn among those that are ready: first of their streams, or nodes of a graph that is.
bool Machine::run_one() {
    if (failure_) return false;
    struct Turn {
        Stream* stream;
        std::size_t node;  ///< of a graph; else 0
        bool of_graph;
    };
    const auto can_run = [](const Work& work) { return !work.ready || work.ready(); };
    std::vector<Turn> ready;
    for (const auto& stream : streams_) {
        if (stream->queue.empty()) continue;
        const std::shared_ptr<GraphRun> graph = stream->queue.front().graph;
        if (can_run(stream->queue.front())) ready.push_back({stream.get(), 0, false});
        if (graph == nullptr) continue;
        for (const std::size_t node : graph->ready())
            if (can_run(graph->work(node))) ready.push_back({stream.get(), node, true});
    }
    if (failure_) return false;  // asking has shown a misuse
    if (ready.empty()) return false;
    const Turn drawn = ready[random_() % ready.size()];
    if (drawn.of_graph) {
        const std::shared_ptr<GraphRun> graph = drawn.stream->queue.front().graph;
        run(graph->work(drawn.node));
        graph->finish(drawn.node);
        return true;
    }
    const Work work = std::move(drawn.stream->queue.front());
    drawn.stream->queue.pop_front();
    run(work);
    return true;
}

bool Machine::wait(std::unique_lock<std::recursive_mutex>& lock, const std::function<bool()>& done) {
    constexpr std::chrono::milliseconds look{20};
    while (!failure_ && !done())
        if (!run_one() && !failure_ && !done()) changed_.wait_for(lock, look);
    return !failure_;
}

bool Machine::idle(int gpu) const {
    return std::ranges::none_of(streams_, [gpu](const auto& s) { return s->gpu == gpu && !s->queue.empty(); });
}

void Machine::fail(const std::string& what) {
    if (failure_) return;
    failure_ = what;
    std::fprintf(stderr, "emulated GPU: %s (%s)\n", what.c_str(), describe_setup().c_str());
    for (const auto& stream : streams_) stream->queue.clear();
    changed_.notify_all();
}

std::uint64_t Machine::nanoseconds() {
    constexpr std::uint64_t look = 1000;
    const auto since_start = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch());
    return static_cast<std::uint64_t>(since_start.count()) + ++looks_ * look;
}

std::uint64_t nanoseconds() { return Machine::get().nanoseconds(); }

std::uint64_t cycles() {
    constexpr double gigahertz = 1.755;  // an H100's boost clock
    return static_cast<std::uint64_t>(gigahertz * static_cast<double>(nanoseconds()));
}

void launch(Extent blocks, Extent threads, std::size_t shared, Stream* stream, const char* name,
            std::function<void()> kernel) {
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    auto why = refusal(blocks, threads, shared);
    if (!why && shared > plain_shared && shared > machine.allowed_shared)
        why = std::to_string(shared) + " bytes of shared memory, which no cudaFuncSetAttribute allowed";
    if (!why && !machine.knows(stream)) why = "a stream that is none";
    if (why) return refuse_launch(std::string(name) + ": " + *why);
    ++machine.launches;
    machine.queue(stream, {name, [=, &machine] {
                               if (const auto fault = run_launch(blocks, threads, shared, kernel, machine.random()))
                                   machine.fail(std::string(name) + ", " + *fault);
                           }});
}

}  // namespace orrery::emulated
