#include "tests/emulated/watched.hpp"

#include <algorithm>

namespace orrery::kernels {

namespace {

Watch::Range range(const void* memory, std::uint64_t bytes, bool writes) {
    return {static_cast<const std::byte*>(memory), bytes, writes};
}

/// What an operand spans: heads inside packed rows lie apart, tables have their own number of rows.
std::uint64_t span_of(const Kernel& kernel, const Operand& operand, const Settings& settings) {
    if (const auto* const attention = std::get_if<Attention>(&kernel)) {
        const bool packed = operand.name == "q" || operand.name == "k" || operand.name == "v" || operand.name == "dq" ||
                            operand.name == "dk" || operand.name == "dv";
        if (!packed || settings.row_stride == 0) return operand.bytes();
        const std::uint64_t rows = std::uint64_t{attention->batch} * attention->seq;
        const std::uint64_t row = operand.bytes() / rows;
        return (rows - 1) * settings.row_stride * size_of(operand.format) + row;
    }
    const auto* const p = std::get_if<Pointwise>(&kernel);
    if (p == nullptr) return operand.bytes();
    const bool rotated = p->kind == PointwiseKind::rope || p->kind == PointwiseKind::rope_backward;
    if (rotated && (operand.name == "cos" || operand.name == "sin") && settings.positions != 0)
        return settings.positions * (settings.head != 0 ? settings.head : rope_head(p->cols)) / 2 * sizeof(float);
    if (rotated && settings.row_stride != 0)
        return ((p->rows - 1) * settings.row_stride + p->cols) * size_of(operand.format);
    if ((operand.name == "table" || operand.name == "dtable") && settings.table_rows != 0)
        return settings.table_rows * p->cols * size_of(operand.format);
    return operand.bytes();
}

}  // namespace

void Watch::queue(const std::string& what, Stream stream, const std::vector<Range>& ranges) {
    Clock& clock = streams_.at(stream);
    for (std::size_t s = 0; s < most_streams; ++s) clock[s] = std::max(clock[s], host_[s]);
    const std::uint64_t tick = ++clock[stream];
    for (const Range& own : ranges) {
        for (const Access& other : accesses_) {
            const bool overlap =
                own.begin < other.range.begin + other.range.bytes && other.range.begin < own.begin + own.bytes;
            if (!overlap || other.stream == stream || !(own.writes || other.range.writes)) continue;
            if (other.tick <= clock[other.stream]) continue;
            races_.insert(other.what + " on stream " + std::to_string(other.stream) + " and " + what + " on stream " +
                          std::to_string(stream) + " touch the same memory, and nothing says which is first");
        }
    }
    for (const Range& own : ranges)
        if (own.bytes > 0) accesses_.push_back({what, stream, tick, own});
}

void Watch::after(Stream stream, const Clock& clock) {
    Clock& own = streams_.at(stream);
    for (std::size_t s = 0; s < most_streams; ++s) own[s] = std::max(own[s], clock[s]);
}

void Watch::ended(const Clock& clock) {
    for (std::size_t s = 0; s < most_streams; ++s) host_[s] = std::max(host_[s], clock[s]);
    std::erase_if(accesses_, [this](const Access& access) { return access.tick <= host_[access.stream]; });
}

void Watch::all_ended() {
    for (std::size_t s = 0; s < most_streams; ++s) host_[s] = streams_[s][s];
    accesses_.clear();
}

void WatchedDevice::launch(const Kernel& kernel, std::span<void* const> operands, Stream stream,
                           const Settings& settings) {
    const std::vector<Operand> list = kernels::operands(kernel, settings);
    std::vector<Watch::Range> ranges;
    for (std::size_t i = 0; i < list.size(); ++i)
        ranges.push_back(range(operands[i], span_of(kernel, list[i], settings), list[i].role != Role::in));
    if (const auto* const gemm = std::get_if<Gemm>(&kernel); gemm != nullptr && settings.bias != nullptr)
        ranges.push_back(range(settings.bias, std::uint64_t{gemm->batch} * gemm->n * size_of(gemm->dtype), false));
    watch_.queue(to_text(kernel), stream, ranges);
    real_.launch(kernel, operands, stream, settings);
}

void WatchedDevice::copy(CopyKind kind, void* to, const void* from, std::uint64_t bytes, Stream stream) {
    watch_.queue("copy " + std::string(name(kind)), stream, {range(from, bytes, false), range(to, bytes, true)});
    real_.copy(kind, to, from, bytes, stream);
}

void WatchedDevice::wait(Stream waiting, Stream on) {
    watch_.after(waiting, watch_.now(on));
    real_.wait(waiting, on);
}

void WatchedDevice::synchronize() {
    real_.synchronize();
    watch_.all_ended();
}

Device::Mark WatchedDevice::mark(Stream stream) {
    const Mark mark = real_.mark(stream);
    marks_[mark] = watch_.now(stream);
    return mark;
}

void WatchedDevice::wait_for(Stream waiting, Mark mark) {
    if (waits_++ == forgotten_) return;
    watch_.after(waiting, marks_.at(mark));
    real_.wait_for(waiting, mark);
}

void WatchedDevice::finish(Mark mark) {
    real_.finish(mark);
    watch_.ended(marks_.at(mark));
}

void WatchedCommunicator::run(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype,
                              Stream stream, Reduction reduction) {
    watch_.queue(std::string(name(kind)), stream,
                 {range(send, send_bytes(kind, bytes, ranks()), false),
                  range(receive, receive_bytes(kind, bytes, ranks()), true)});
    real_->run(kind, send, receive, bytes, dtype, stream, reduction);
}

void WatchedCommunicator::send(const void* memory, std::uint64_t bytes, std::uint32_t to, Stream stream) {
    watch_.queue("send", stream, {range(memory, bytes, false)});
    real_->send(memory, bytes, to, stream);
}

void WatchedCommunicator::receive(void* memory, std::uint64_t bytes, std::uint32_t from, Stream stream) {
    watch_.queue("receive", stream, {range(memory, bytes, true)});
    real_->receive(memory, bytes, from, stream);
}

std::unique_ptr<Communicator> WatchedCommunicator::split(std::uint32_t color) {
    return std::make_unique<WatchedCommunicator>(real_->split(color), watch_);
}

}  // namespace orrery::kernels
