// Optimus, Tesseract and a cube of ranks over Megatron-LM's division.
#include "tests/sim/lecture.hpp"

namespace orrery::sim {

namespace {

const std::vector<std::string> one_width_of_30{"strategy.tensor_mode=1d", "strategy.placement=null",
                                               "training.micro_batch_size=30", "training.global_batch_size=30"};
const std::vector<std::string> one_width{"strategy.tensor_mode=1d", "strategy.tensor_depth=1"};
const std::vector<std::string> a_square{"strategy.tensor_mode=2d", "strategy.tensor_depth=1"};

}  // namespace

std::vector<Figure> figures_of_grids() {
    const char *grid = "tensor-grid-gpt", *depth = "tensor-depth-gpt";
    const std::vector<std::string> cube{"strategy.tensor_mode=3d", "strategy.placement=null"},
        narrow{"strategy.tensor_mode=1d", "training.micro_batch_size=48", "training.global_batch_size=48"};
    const char* blocking =
        "V100 for Quadro RTX 5000; its own code empties PyTorch's cache before each product, which is not modelled";
    const char* ideal =
        "sizes are not in the abstract; NCCL's rings enter a node once for 1d's sums, once a GPU for broadcasts of "
        "blocks, and squares sum gradients";
    return {
        {"Optimus over Megatron-LM, 64 GPUs as 8 x 8, 384 sequences against 30",
         grid,
         {},
         "1.48",
         nullptr,
         blocking,
         false,
         &one_width_of_30},
        {"the same with ranks in order",
         grid,
         {"strategy.placement=null"},
         "–",
         nullptr,
         "a row then spans two nodes, not four: activations, which are the most, cross once",
         false,
         &one_width_of_30},
        {"its memory", grid, {}, "fits 8 times Megatron-LM's batch", peak},
        {"Megatron-LM's at an eighth of the batch", grid, narrow, "fits, of 16 GiB", peak,
         "inputs of layers are whole on every rank; --distribute-checkpointed-activations divides them"},
        {"64 V100 as a cube, over Megatron-LM", grid, cube, "2.32", nullptr, "batches as above", false,
         &one_width_of_30},
        {"over 8 x 8", grid, cube, "1.57", nullptr, "sizes are not in the abstract", false, &a_square},
        {"Tesseract, 64 A100 as four squares of 16, over Megatron-LM",
         depth,
         {},
         "1.38",
         nullptr,
         ideal,
         false,
         &one_width},
        {"over 8 x 8", depth, {}, "1.53", nullptr, "the same", false, &a_square},
    };
}

}  // namespace orrery::sim
