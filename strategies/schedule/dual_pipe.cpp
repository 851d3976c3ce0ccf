// DualPipe (DeepSeek-AI 2024, arXiv:2412.19437, section 3.2.1) and DualPipeV (its authors' repository, DualPipe):
// forwards and backwards of two chunks of a stage as pairs. In DualPipe the chunks are of two copies of the model, in
// DualPipeV of one that lies in a V; from the stage at the ends to that in the middle, or where the V turns, works
// follow each other in the same way.
#include <algorithm>
#include <array>
#include <deque>

#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

namespace {

/// One stage's slots. Its outer chunk has the lower virtual stage: micro-batches go through it first, or come from
/// there.
class DualPipe {
public:
    static constexpr std::uint32_t outer = 0, inner = 1;

    DualPipe(const PipelineShape& shape, std::uint32_t stage) {
        const bool opposes = shape.order == ChunkOrder::opposes;
        depth_ = opposes ? shape.pipeline / 2 : shape.pipeline;
        at_ = opposes ? std::min(stage, shape.pipeline - 1 - stage) : stage;
        for (const std::uint32_t chunk : {outer, inner})
            for (std::uint32_t m = 0; m < shape.micro_batches; ++m)
                if (shape.goes_through(chunk, stage, m)) waiting_.at(chunk).push_back(m);
        for (const std::uint32_t chunk : {outer, inner}) backwards_.at(chunk) = waiting_.at(chunk);
        rounds_ = static_cast<std::uint32_t>(waiting_.front().size()) + at_ + 1 - 2 * depth_;
    }

    /// The eight runs of the authors' schedule: outer forwards; both forwards; inner backwards with their weight
    /// gradients and forwards; the steady state, all in pairs; the last inner forwards; backwards alone, of which the
    /// later half puts off weight gradients; those beside the last outer backwards; and what is left of them.
    std::vector<Slot> write() && {
        const std::uint32_t behind = depth_ - 1 - at_;  // stages that lie further in
        for (std::uint32_t i = 0; i < 2 * behind; ++i) forward(outer);
        for (std::uint32_t i = 0; i <= at_; ++i) {
            forward(outer);
            forward(inner);
        }
        for (std::uint32_t i = 0; i < behind; ++i) {
            backward(inner, true);
            weight_gradient();
            forward(inner);
        }
        for (std::uint32_t i = 0; i < rounds_; ++i) {
            pair(outer, inner, i > 0 || behind > 0);  // innermost the first is no pair: its backward's way is shortest
            pair(inner, outer, true);
        }
        for (std::uint32_t i = 0; i < behind; ++i) {
            backward(inner, false);
            pair(inner, outer, true);
        }
        for (std::uint32_t i = 0; i < 2 * (at_ + 1); ++i) backward(i % 2 == 0 ? inner : outer, i > at_);
        for (std::uint32_t i = 0; i < behind; ++i) {
            weight_gradient();
            backward(outer, true);
        }
        while (!put_off_.empty()) weight_gradient();
        slots_.push_back({SlotWork::update});
        return std::move(slots_);
    }

private:
    using MicroBatches = std::deque<std::uint32_t>;

    static std::uint32_t next(MicroBatches& of) {
        const std::uint32_t first = of.front();
        of.pop_front();
        return first;
    }
    void forward(std::uint32_t chunk) { slots_.push_back({SlotWork::forward, chunk, next(waiting_.at(chunk))}); }
    void backward(std::uint32_t chunk, bool split) {
        const SlotWork work = split ? SlotWork::input_gradient : SlotWork::backward;
        slots_.push_back({work, chunk, next(backwards_.at(chunk))});
        if (split) put_off_.push_back(slots_.back());
    }
    void weight_gradient() {
        const Slot& of = put_off_.front();
        slots_.push_back({SlotWork::weight_gradient, of.chunk, of.micro_batch, false});
        put_off_.pop_front();
    }
    void pair(std::uint32_t ahead, std::uint32_t back, bool beside) {
        forward(ahead);
        slots_.back().exchange = !beside;
        slots_.back().pairs = beside;
        backward(back, false);
    }

    std::uint32_t depth_ = 0, at_ = 0, rounds_ = 0;
    std::array<MicroBatches, 2> waiting_, backwards_;  // by chunk
    std::deque<Slot> put_off_;
    std::vector<Slot> slots_;
};

}  // namespace

std::vector<Slot> dual_pipe(const PipelineShape& shape, std::uint32_t stage) { return DualPipe(shape, stage).write(); }

double dual_pipe_bubble(const PipelineShape& shape, const WorkSeconds& seconds) {
    const double shortest = std::min({seconds.forward, seconds.input_gradient, seconds.weight_gradient});
    const double each = std::max(0.0, 2 * shortest - seconds.saved);  // pair + backward - 3 weight gradients
    return (shape.virtual_stages() / 2.0 - 1) * each / shape.chunks_on_the_way();
}

}  // namespace orrery::strategies
