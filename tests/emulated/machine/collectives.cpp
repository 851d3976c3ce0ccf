// NCCL among the emulated GPUs of this process. A communicator's work is done in the order in which it was queued, on
// whatever streams; a collective when all members' streams have come to it, a message when both sides have: nothing is
// buffered.
#include <nccl.h>

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/number_format.hpp"
#include "tests/emulated/machine/machine.hpp"
#include "tests/emulated/machine/memory.hpp"

namespace orrery::emulated {

namespace {

enum class What : std::uint8_t { all_reduce, all_gather, reduce_scatter, broadcast };

/// One member's part of a collective.
struct Part {
    What what = What::all_reduce;
    const void* send = nullptr;
    void* receive = nullptr;
    std::size_t count = 0;
    ncclDataType_t type = ncclChar;
    ncclRedOp_t how = ncclSum;
    int root = 0;
    [[nodiscard]] bool agrees(const Part& other) const {
        return what == other.what && count == other.count && type == other.type && how == other.how &&
               root == other.root;
    }
};

struct Collective {
    std::vector<Part> parts;  ///< by rank
    std::vector<bool> here;
    std::size_t arrived = 0;
    bool done = false;
};

struct Message {
    const void* from = nullptr;
    void* to = nullptr;
    std::size_t bytes = 0;
    bool done = false;
};
using Posted = std::deque<std::shared_ptr<Message>>;

kernels::Format format_of(ncclDataType_t type) {
    using kernels::Format;
    constexpr std::array formats{Format::mask, Format::mask, Format::fp16, Format::fp32, Format::bf16, Format::fp8};
    return formats.at(type);
}

}  // namespace

/// What the members of a communicator share.
struct Communicator {
    std::size_t ranks = 0, joined = 0;
    bool aborted = false;
    std::map<std::uint64_t, Collective> collectives;        ///< by their number
    std::map<std::pair<int, int>, Posted> sends, receives;  ///< by (from, to)
};

struct Member {
    std::shared_ptr<Communicator> all;
    int rank = 0;
    std::uint64_t queued = 0, finished = 0;  ///< pieces of work
    std::uint64_t collectives = 0;           ///< queued
};

namespace {

std::map<std::uint64_t, std::shared_ptr<Communicator>>& communicators() {
    static std::map<std::uint64_t, std::shared_ptr<Communicator>> all;
    return all;
}

double reduced(const Collective& c, std::size_t index) {
    const kernels::Format format = format_of(c.parts[0].type);
    const std::size_t size = kernels::size_of(format);
    std::array<std::byte, 8> rounded;
    double value = 0;
    for (std::size_t rank = 0; rank < c.parts.size(); ++rank) {
        const double next = kernels::decode(format, static_cast<const std::byte*>(c.parts[rank].send) + index * size);
        value = rank == 0 ? next : c.parts[0].how == ncclSum ? value + next : std::max(value, next);
        kernels::encode(format, value, rounded.data());  // a sum of two is rounded, as on the way from GPU to GPU
        value = kernels::decode(format, rounded.data());
    }
    return value;
}

/// Results first, into memory of its own: a member may send from where another's result goes.
std::vector<std::byte> result_of(const Collective& c, std::size_t rank) {
    const Part& part = c.parts[rank];
    const kernels::Format format = format_of(part.type);
    const std::size_t size = kernels::size_of(format), bytes = part.count * size;
    std::vector<std::byte> result;
    const auto append = [&](const void* from) {
        const auto* const begin = static_cast<const std::byte*>(from);
        result.insert(result.end(), begin, begin + bytes);
    };
    switch (part.what) {
        case What::all_gather:
            for (const Part& each : c.parts) append(each.send);
            break;
        case What::broadcast: append(c.parts[static_cast<std::size_t>(part.root)].send); break;
        case What::all_reduce:
        case What::reduce_scatter: {
            const std::size_t first = part.what == What::reduce_scatter ? rank * part.count : 0;
            result.resize(bytes);
            for (std::size_t i = 0; i < part.count; ++i)
                kernels::encode(format, reduced(c, first + i), result.data() + i * size);
            break;
        }
    }
    return result;
}

void carry_out(Collective& c) {
    std::vector<std::vector<std::byte>> results;
    for (std::size_t rank = 0; rank < c.parts.size(); ++rank) {
        if (!c.parts[rank].agrees(c.parts[0]))
            return Machine::get().fail("misuse: members of a communicator disagree on a collective");
        results.push_back(result_of(c, rank));
    }
    for (std::size_t rank = 0; rank < c.parts.size(); ++rank)
        std::memcpy(c.parts[rank].receive, results[rank].data(), results[rank].size());
    c.done = true;
}

/// A piece of work of a member at one launch: its number among the member's, and whether it can be done.
struct Turn {
    std::uint64_t number;
    std::function<bool()> arrive;
};

/// Each may run when those before it have, whatever their streams. next: called at each launch.
void queue(Member* member, cudaStream_t stream, const char* name, std::function<std::function<bool()>()> next) {
    const auto turns = std::make_shared<std::deque<Turn>>();
    Work work{name,
              [member, turns] {
                  ++member->finished;
                  turns->pop_front();
              },
              [member, turns] {
                  const Turn& turn = turns->front();
                  return member->finished == turn.number && !member->all->aborted && turn.arrive();
              }};
    work.launched = [member, turns, next = std::move(next)] { turns->push_back({member->queued++, next()}); };
    Machine::get().queue(stream, std::move(work));
}

ncclResult_t collective(const Part& part, Member* member, cudaStream_t stream, std::size_t send, std::size_t receive) {
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    if (member->all->aborted) return ncclInvalidUsage;
    const std::size_t size = kernels::size_of(format_of(part.type));
    if (!holds(part.send, part.count * send * size, Kind::device) ||
        !holds(part.receive, part.count * receive * size, Kind::device)) {
        machine.fail("misuse: a collective on what is not whole in a GPU's memory");
        return ncclInvalidArgument;
    }
    const auto arrive = [member, part](std::uint64_t number) {
        Collective& c = member->all->collectives[number];
        const auto rank = static_cast<std::size_t>(member->rank);
        c.parts.resize(member->all->ranks);
        c.here.resize(member->all->ranks);
        if (!c.here[rank]) {
            c.here[rank] = true;
            c.parts[rank] = part;
            if (++c.arrived == c.parts.size()) carry_out(c);
        }
        return c.done;
    };
    queue(member, stream, "collective",
          [member, arrive] { return [arrive, number = member->collectives++] { return arrive(number); }; });
    return ncclSuccess;
}

/// The sends and receives of a group, or one alone.
struct Exchange {
    Member* member = nullptr;
    cudaStream_t stream = nullptr;
    struct Side {
        bool sends;
        int peer;
        std::shared_ptr<Message> message;
    };
    std::vector<Side> sides;
};
thread_local int open_groups = 0;
thread_local Exchange group;

void match(Communicator& all, std::pair<int, int> way) {
    Posted &sends = all.sends[way], &receives = all.receives[way];
    while (!sends.empty() && !receives.empty()) {
        const auto from = sends.front(), to = receives.front();
        sends.pop_front();
        receives.pop_front();
        if (from->bytes != to->bytes)
            return Machine::get().fail("misuse: " + std::to_string(from->bytes) + " bytes are sent where " +
                                       std::to_string(to->bytes) + " are received");
        std::memmove(to->to, from->from, from->bytes);
        from->done = to->done = true;
    }
}

void queue(Exchange exchange) {
    if (exchange.sides.empty()) return;
    Member* const member = exchange.member;
    const cudaStream_t stream = exchange.stream;
    queue(member, stream, "messages", [exchange = std::move(exchange)] {
        std::vector<Exchange::Side> sides = exchange.sides;
        for (Exchange::Side& side : sides) side.message = std::make_shared<Message>(*side.message);
        return [member = exchange.member, sides = std::move(sides), posted = false]() mutable {
            Communicator& all = *member->all;
            for (const auto& [sends, peer, message] : sides) {
                if (posted) break;
                const std::pair way = sends ? std::pair(member->rank, peer) : std::pair(peer, member->rank);
                (sends ? all.sends : all.receives)[way].push_back(message);
                match(all, way);
            }
            posted = true;
            return std::ranges::all_of(sides, [](const auto& side) { return side.message->done; });
        };
    });
}

ncclResult_t add(Member* member, cudaStream_t stream, bool sends, int peer, const void* from, void* to,
                 std::size_t bytes) {
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    if (member->all->aborted) return ncclInvalidUsage;
    if (!holds(sends ? from : to, bytes, Kind::device)) {
        machine.fail("misuse: a message in what is not whole in a GPU's memory");
        return ncclInvalidArgument;
    }
    auto message = std::make_shared<Message>(Message{from, to, bytes});
    if (open_groups == 0) {
        queue(Exchange{member, stream, {{sends, peer, std::move(message)}}});
        return ncclSuccess;
    }
    group.member = member;
    group.stream = stream;
    group.sides.push_back({sends, peer, std::move(message)});
    return ncclSuccess;
}

}  // namespace

}  // namespace orrery::emulated

using orrery::emulated::Machine;
using orrery::emulated::Part;
using orrery::emulated::What;

ncclResult_t ncclGetVersion(int* version) {
    *version = 22703;
    return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
    constexpr std::array names{"no error",      "unhandled cuda error",  "invalid argument",
                               "invalid usage", "remote process exited", "in progress"};
    return names.at(result);
}

const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    static std::uint64_t next = 0;
    const auto lock = Machine::get().lock();
    *id = {};
    ++next;
    std::memcpy(id->internal, &next, sizeof next);
    return ncclSuccess;
}

/// Others may join later: the member is in progress until all have.
ncclResult_t ncclCommInitRankConfig(ncclComm_t* member, int ranks, ncclUniqueId id, int rank, ncclConfig_t*) {
    const auto lock = Machine::get().lock();
    std::uint64_t number = 0;
    std::memcpy(&number, id.internal, sizeof number);
    auto& all = orrery::emulated::communicators()[number];
    if (all == nullptr) all = std::make_shared<orrery::emulated::Communicator>();
    all->ranks = static_cast<std::size_t>(ranks);
    ++all->joined;
    *member = new orrery::emulated::Member{all, rank};
    return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t member, ncclResult_t* state) {
    const auto lock = Machine::get().lock();
    *state = member->all->aborted                       ? ncclRemoteError
             : Machine::get().failure()                 ? ncclUnhandledCudaError
             : member->all->joined < member->all->ranks ? ncclInProgress
                                                        : ncclSuccess;
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t member) {
    Machine& machine = Machine::get();
    auto lock = machine.lock();
    return machine.wait(lock, [member] { return member->finished == member->queued; }) ? ncclSuccess
                                                                                       : ncclUnhandledCudaError;
}

ncclResult_t ncclCommDestroy(ncclComm_t member) {
    const auto lock = Machine::get().lock();
    delete member;
    return ncclSuccess;
}

/// Work that is queued never runs: the machine drops it with everything else.
ncclResult_t ncclCommAbort(ncclComm_t member) {
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    member->all->aborted = true;
    if (member->finished != member->queued) machine.fail("a communicator was aborted with work under way");
    delete member;
    return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
    ++orrery::emulated::open_groups;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
    const auto lock = Machine::get().lock();
    if (--orrery::emulated::open_groups == 0)
        orrery::emulated::queue(std::exchange(orrery::emulated::group, orrery::emulated::Exchange{}));
    return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t how,
                           ncclComm_t member, cudaStream_t stream) {
    return orrery::emulated::collective({What::all_reduce, send, receive, count, type, how}, member, stream, 1, 1);
}

ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclComm_t member,
                           cudaStream_t stream) {
    return orrery::emulated::collective({What::all_gather, send, receive, count, type}, member, stream, 1,
                                        member->all->ranks);
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t how,
                               ncclComm_t member, cudaStream_t stream) {
    return orrery::emulated::collective({What::reduce_scatter, send, receive, count, type, how}, member, stream,
                                        member->all->ranks, 1);
}

ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t member, cudaStream_t stream) {
    return orrery::emulated::collective({What::broadcast, send, receive, count, type, ncclSum, root}, member, stream, 1,
                                        1);
}

ncclResult_t ncclSend(const void* memory, std::size_t count, ncclDataType_t, int to, ncclComm_t member,
                      cudaStream_t stream) {
    return orrery::emulated::add(member, stream, true, to, memory, nullptr, count);
}

ncclResult_t ncclRecv(void* memory, std::size_t count, ncclDataType_t, int from, ncclComm_t member,
                      cudaStream_t stream) {
    return orrery::emulated::add(member, stream, false, from, nullptr, memory, count);
}
