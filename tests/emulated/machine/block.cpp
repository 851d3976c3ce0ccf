#include "tests/emulated/machine/block.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "tests/emulated/machine/fiber.hpp"
#include "tests/emulated/machine/shared_memory.hpp"

namespace orrery::emulated {

ThreadView* current = nullptr;
LaunchView launched;

namespace {

enum class State : std::uint8_t { ready, at_warp, at_block, ended };

struct Copy {
    void* to;
    const void* from;
    int bytes, there;
};

struct Thread : ThreadView {
    State state = State::ready;
    std::size_t warp = 0;
    std::vector<Copy> open;                 ///< copies that no group holds yet
    std::vector<std::vector<Copy>> groups;  ///< committed, the oldest first
};

struct Warp {
    unsigned live = 0, arrived = 0, mask = 0;  ///< bits of lanes
    Meeting kind = Meeting::barrier;
    Together work = nullptr;
    unsigned phase = 0;
    Slots given;
    std::array<Slots, 2> got;  ///< by the phase's parity: a lane may be one meeting ahead of another
};

/// The block that runs. Only one does at a time, whatever thread of the host drives it.
struct Block {
    const std::function<void()>* kernel = nullptr;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    std::size_t live = 0, at_barrier = 0;
    std::optional<std::string> fault;
};
Block block;

Thread& self() { return static_cast<Thread&>(*current); }

Fibers& fibers() {
    static Fibers all(most_threads);
    return all;
}

/// Lets the lanes go on that waited.
void complete(std::size_t number) {
    Warp& warp = block.warps[number];
    if (warp.kind != Meeting::barrier && (warp.mask & ~warp.live) != 0)
        fault("a lane takes something from lanes that have ended");
    if (warp.work != nullptr) warp.work(warp.given, warp.got[warp.phase % 2]);
    warp.arrived = 0;
    ++warp.phase;
    for (std::size_t i = number * lanes; i < std::min((number + 1) * lanes, block.threads.size()); ++i)
        if (block.threads[i].state == State::at_warp) block.threads[i].state = State::ready;
}

void open_barrier() {
    block.at_barrier = 0;
    for (Thread& thread : block.threads)
        if (thread.state == State::at_block) thread.state = State::ready;
}

/// An end counts as an arrival at whatever the others wait for.
void end_thread() {
    Thread& thread = self();
    if (!thread.open.empty() || !thread.groups.empty()) fault("a thread ended with copies under way");
    thread.state = State::ended;
    Warp& warp = block.warps[thread.warp];
    warp.live &= ~(1u << thread.lane);
    if (warp.arrived != 0 && warp.arrived == (warp.mask & warp.live)) complete(thread.warp);
    --block.live;
    if (block.live > 0 && block.at_barrier == block.live) open_barrier();
}

void run_thread() {
    (*block.kernel)();
    end_thread();
    Fiber::end();
}

/// Resumes every thread that can go on, warps and lanes in random order. Whether any could.
bool run_ready(std::vector<std::size_t>& order, std::mt19937_64& random) {
    std::shuffle(order.begin(), order.end(), random);
    bool any = false;
    for (const std::size_t warp : order) {
        const std::size_t begin = warp * lanes, count = std::min<std::size_t>(lanes, block.threads.size() - begin);
        for (bool again = true; again;) {
            again = false;
            const std::size_t first = random() % count;
            for (std::size_t i = 0; i < count; ++i) {
                Thread& thread = block.threads[begin + (first + i) % count];
                if (thread.state != State::ready) continue;
                current = &thread;
                fibers()[begin + (first + i) % count].resume();
                if (block.fault) return false;
                again = any = true;
            }
        }
    }
    return any;
}

std::string whereabouts() {
    std::size_t warp = 0, barrier = 0;
    for (const Thread& thread : block.threads) {
        warp += thread.state == State::at_warp;
        barrier += thread.state == State::at_block;
    }
    return "deadlock: " + std::to_string(barrier) + " threads wait at a barrier, " + std::to_string(warp) +
           " for lanes of their warp, " + std::to_string(block.threads.size() - block.live) + " have ended";
}

void run_block(std::mt19937_64& random) {
    const Extent threads = launched.threads;
    const std::size_t count = block.threads.size();
    block.live = count;
    block.at_barrier = 0;
    std::fill(block.warps.begin(), block.warps.end(), Warp{});
    for (std::size_t i = 0; i < count; ++i) {
        Thread& thread = block.threads[i];
        thread.index = {static_cast<unsigned>(i % threads.x), static_cast<unsigned>(i / threads.x % threads.y),
                        static_cast<unsigned>(i / threads.x / threads.y)};
        thread.lane = i % lanes;
        thread.warp = i / lanes;
        thread.state = State::ready;
        block.warps[thread.warp].live |= 1u << thread.lane;
        fibers()[i].begin(run_thread);
    }
    std::vector<std::size_t> order(block.warps.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    while (!block.fault && block.live > 0)
        if (!run_ready(order, random) && !block.fault) block.fault = whereabouts();
}

}  // namespace

bool inside_a_launch() { return Fiber::inside(); }

void fault(const std::string& what) {
    const Extent& at = launched.block;
    const Extent& thread = current->index;
    block.fault = "block (" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) +
                  "), thread (" + std::to_string(thread.x) + ", " + std::to_string(thread.y) + ", " +
                  std::to_string(thread.z) + "): " + what;
    Fiber::end();
}

void block_barrier() {
    ++block.at_barrier;
    if (block.at_barrier == block.live) return open_barrier();
    self().state = State::at_block;
    Fiber::suspend();
}

const Slot& meet(Meeting kind, unsigned mask, std::span<const std::byte> own, Together work) {
    Thread& thread = self();
    Warp& warp = block.warps[thread.warp];
    if ((mask >> thread.lane & 1u) == 0) fault("a lane is not in the mask that it gives");
    if (warp.arrived != 0 && (warp.kind != kind || warp.mask != mask || warp.work != work))
        fault("lanes of a warp meet for different things");
    const unsigned parity = warp.phase % 2;
    warp.kind = kind;
    warp.mask = mask;
    warp.work = work;
    warp.arrived |= 1u << thread.lane;
    std::copy(own.begin(), own.end(), warp.given[thread.lane].begin());
    if (warp.arrived == (mask & warp.live)) {
        complete(thread.warp);
    } else {
        thread.state = State::at_warp;
        Fiber::suspend();
    }
    return warp.got[parity][thread.lane];
}

void warp_barrier() { meet(Meeting::barrier, ~0u, {}, nullptr); }

void copy_later(void* to, const void* from, int bytes, int there) {
    const auto misaligned = [&](const void* p) {
        return reinterpret_cast<std::uintptr_t>(p) % static_cast<unsigned>(bytes) != 0;
    };
    if (misaligned(to) || misaligned(from)) fault("cp.async from or to an address that is no multiple of its size");
    if (!is_shared(to, static_cast<std::size_t>(bytes))) fault("cp.async to what is not the block's shared memory");
    self().open.push_back({to, from, bytes, there});
}

void commit_copies() {
    Thread& thread = self();
    thread.groups.push_back(std::exchange(thread.open, {}));
}

void wait_copies(int pending) {
    auto& groups = self().groups;
    while (groups.size() > static_cast<std::size_t>(pending)) {
        for (const Copy& copy : groups.front()) {
            std::memset(copy.to, 0, static_cast<std::size_t>(copy.bytes));
            std::memcpy(copy.to, copy.from, static_cast<std::size_t>(copy.there));
        }
        groups.erase(groups.begin());
    }
}

void require_threads(unsigned most) {
    if (launched.threads.count() > most)
        fault(std::to_string(launched.threads.count()) + " threads where __launch_bounds__ says " +
              std::to_string(most));
}

std::optional<std::string> refusal(Extent blocks, Extent threads, std::size_t shared) {
    const auto text = [](Extent e) {
        return std::to_string(e.x) + " x " + std::to_string(e.y) + " x " + std::to_string(e.z);
    };
    constexpr unsigned most_x = 0x7fffffff, most_yz = 65535, most_deep = 64;
    if (blocks.count() == 0 || blocks.x > most_x || blocks.y > most_yz || blocks.z > most_yz)
        return "a grid of " + text(blocks) + " blocks";
    if (threads.count() == 0 || threads.count() > most_threads || threads.z > most_deep)
        return "blocks of " + text(threads) + " threads";
    if (shared > most_shared) return std::to_string(shared) + " bytes of shared memory";
    return std::nullopt;
}

std::optional<std::string> run_launch(Extent blocks, Extent threads, std::size_t shared,
                                      const std::function<void()>& kernel, std::mt19937_64& random) {
    launched = {blocks, threads, {}};
    block.kernel = &kernel;
    block.fault.reset();
    block.threads.assign(threads.count(), Thread{});
    block.warps.resize((threads.count() + lanes - 1) / lanes);
    for (unsigned z = 0; z < blocks.z; ++z)
        for (unsigned y = 0; y < blocks.y; ++y)
            for (unsigned x = 0; x < blocks.x; ++x) {
                launched.block = {x, y, z};
                begin_shared(shared);
                run_block(random);
                if (!block.fault) block.fault = overrun();
                if (block.fault) return block.fault;
            }
    return std::nullopt;
}

}  // namespace orrery::emulated
