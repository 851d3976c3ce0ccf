#include "strategies/partition/expert_padding.hpp"

namespace orrery::strategies {

bool pads_experts_apart(const Plan& plan) {
    return is_narrow(plan.training.precision.compute) &&
           plan.training.software == hardware::Software::transformer_engine &&
           plan.strategy.dispatcher != Dispatcher::flex && !plan.training.pad_to_capacity;
}

void add_expert_padding(LayerStream& stream, const ExpertShapes& shapes, std::uint64_t width, bool up, Piece& piece) {
    const auto copy = [&](const char* name) {
        return Work{
            .name = name, .what = stream.pointwise(kernels::PointwiseKind::scale, shapes.rows, width), .routed = true};
    };
    if (up) {
        piece.forward.insert(piece.forward.begin(), copy("pad experts"));
        piece.backward.push_back(copy("pad experts backward"));
    } else {
        piece.forward.push_back(copy("unpad experts"));
        piece.backward.insert(piece.backward.begin(), copy("unpad experts backward"));
    }
    piece.working_bytes += shapes.rows * width * stream.bytes;
    stream.layer.flow.complete = false;
}

}  // namespace orrery::strategies
