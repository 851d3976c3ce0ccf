#include "strategies/layer_runs.hpp"

namespace orrery::strategies {

namespace {

bool makes_host_wait(const LayerBlocks& blocks) {
    return blocks.forward_to_wait != LayerBlocks::none || blocks.backward_to_wait != LayerBlocks::none;
}

std::vector<std::uint32_t> runs_of(const std::vector<PlacedLayer>& chunk, bool joined) {
    std::vector<std::uint32_t> layers(chunk.size(), 1);
    if (!joined) return layers;
    for (std::size_t first = 1, end = 1; first < chunk.size(); first = end) {
        const LayerBlocks* const blocks = chunk[first].blocks;
        for (end = first + 1; end < chunk.size() && chunk[end].blocks == blocks && !makes_host_wait(*blocks);) ++end;
        for (std::size_t i = first; i < end; ++i) layers[i] = static_cast<std::uint32_t>(end - first);
    }
    return layers;
}

}  // namespace

LayerRuns layer_runs(const Stage& stage, bool joined) {
    LayerRuns runs;
    for (const std::vector<PlacedLayer>& chunk : stage.chunks) runs.push_back(runs_of(chunk, joined));
    return runs;
}

}  // namespace orrery::strategies
