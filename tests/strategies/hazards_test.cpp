#include "strategies/hazards.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace orrery::strategies {
namespace {

/// Programs of operations that only read and write.
class Writer {
public:
    BufferId buffer() { return builder_.buffer(8, Keep::scratch); }
    std::uint32_t op(Lane lane, std::initializer_list<BufferId> reads, std::initializer_list<BufferId> writes) {
        return builder_.emit(lane, {}, Compute{0}, reads, writes);
    }
    std::uint32_t host_sync(std::initializer_list<BufferId> reads) {
        return builder_.emit(Lane::compute, {}, HostSync{}, reads, {});
    }
    Program finish() && { return std::move(builder_).finish(); }

private:
    Builder builder_{"test"};
};

std::vector<std::uint32_t> waits(const Program& program, std::uint32_t op) {
    const Hazards hazards(program);
    const auto list = hazards.of(op);
    return {list.begin(), list.end()};
}

using Ops = std::vector<std::uint32_t>;

TEST(Hazards, AReadWaitsForTheLastWriteOfAnotherLane) {
    Writer writer;
    const BufferId b = writer.buffer();
    writer.op(Lane::compute, {}, {b});
    writer.op(Lane::tensor, {}, {b});
    writer.op(Lane::data, {b}, {});
    const Program program = std::move(writer).finish();
    EXPECT_EQ(waits(program, 2), Ops{1});
}

TEST(Hazards, AWriteWaitsForEveryReadSinceTheLastWrite) {
    Writer writer;
    const BufferId b = writer.buffer();
    writer.op(Lane::compute, {}, {b});
    writer.op(Lane::data, {b}, {});
    writer.op(Lane::tensor, {b}, {});
    writer.op(Lane::compute, {}, {b});
    writer.op(Lane::data, {}, {b});
    const Program program = std::move(writer).finish();
    EXPECT_EQ(waits(program, 3), (Ops{1, 2}));
    EXPECT_EQ(waits(program, 4), Ops{3}) << "what read before the last write has been waited for by it";
}

TEST(Hazards, AWriteWaitsForTheWriteBeforeIt) {
    Writer writer;
    const BufferId b = writer.buffer();
    writer.op(Lane::compute, {}, {b});
    writer.op(Lane::data, {}, {b});
    EXPECT_EQ(waits(std::move(writer).finish(), 1), Ops{0});
}

TEST(Hazards, ReadsDoNotWaitForReads) {
    Writer writer;
    const BufferId b = writer.buffer();
    writer.op(Lane::compute, {b}, {});
    writer.op(Lane::data, {b}, {});
    EXPECT_EQ(waits(std::move(writer).finish(), 1), Ops{});
}

TEST(Hazards, OrderWithinALaneIsImplied) {
    Writer writer;
    const BufferId b = writer.buffer();
    writer.op(Lane::compute, {}, {b});
    writer.op(Lane::compute, {b}, {b});
    EXPECT_EQ(waits(std::move(writer).finish(), 1), Ops{});
}

TEST(Hazards, AHostSyncWaitsForItsOwnLaneToo) {
    Writer writer;
    const BufferId a = writer.buffer(), b = writer.buffer();
    writer.op(Lane::compute, {}, {a});
    writer.op(Lane::data, {}, {b});
    writer.host_sync({a, b});
    EXPECT_EQ(waits(std::move(writer).finish(), 2), (Ops{0, 1}));
}

TEST(Hazards, EachOperationIsNamedOnce) {
    Writer writer;
    const BufferId a = writer.buffer(), b = writer.buffer();
    writer.op(Lane::data, {}, {a, b});
    writer.op(Lane::compute, {a, b}, {b});
    EXPECT_EQ(waits(std::move(writer).finish(), 1), Ops{0});
}

TEST(Hazards, AnOperationDoesNotWaitForItself) {
    Writer writer;
    const BufferId b = writer.buffer();
    writer.host_sync({b});
    writer.op(Lane::data, {b}, {b});
    const Program program = std::move(writer).finish();
    EXPECT_EQ(waits(program, 1), Ops{0}) << "the host read it first";
}

}  // namespace
}  // namespace orrery::strategies
