// From a published row to the scenario that predicts it. Rules go by class of hardware, framework and model family,
// never by row or source; README.md lists them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "scenarios/scenario.hpp"
#include "topology/catalog.hpp"
#include "validate/row.hpp"
#include "validate/software.hpp"

namespace orrery::validate {

/// Whether a profile of that name can be loaded; a GPU without one cannot be predicted.
using HasProfile = std::function<bool(const std::string& profile)>;

/// A training step (or a memory measurement of one). Throws Skip, naming the first thing that is missing or that the
/// simulator does not model.
scenarios::Scenario map_row(const Row& row, const HasProfile& has_profile);

// The parts of it, each of which throws Skip.

/// The GPU a row names. Throws Skip when none is named, or it has no profile.
const topology::Gpu& map_gpu(const Row& row, const HasProfile& has_profile);

/// Nodes, NICs and fabric for `gpus` GPUs.
topology::ClusterSpec map_cluster(const Row& row, const topology::Gpu& gpu, std::uint32_t gpus);

/// What a row's cuda-graph-scope says is recorded. mlps: of MLPs alone; the rest of a layer is launched one by one.
enum class PrintedGraph : std::uint8_t { nothing, mlps, routers, outside_experts, full };
PrintedGraph printed_graph(const Row& row);

/// Whether the row trained a network over images, whose samples are images and have no length.
bool is_image_model(const Row& row);
/// One of the catalog's ResNets. Throws Skip for other depths and classifiers.
models::ModelSpec map_image_model(const Row& row);
/// Images of a GPU and step where they are not printed: those of NVIDIA's DeepLearningExamples in PyTorch
/// (Classification/ConvNets/configs.yml), 256, but 112 in fp32 on a DGX-1. 0: another source, which says nothing.
std::uint32_t usual_image_batch(const Row& row, kernels::Dtype compute);
/// Whether batch norms, additions and ReLUs are one kernel. In 16 bits: MXNet in NVIDIA's examples (runner:
/// --fuse-bn-relu, --fuse-bn-add-relu), OneFlow (--fuse_bn_relu, --fuse_bn_add_relu of DLPerf's script), PaddlePaddle
/// (--fuse_bn_act_ops, --fuse_elewise_add_act_ops) and TensorFlow, whose optimizer of graphs (grappler's remapper,
/// _FusedBatchNormEx) fuses them in fp16 alone. XLA does in every format. PyTorch and Gluon never.
strategies::KernelFusion image_kernel_fusion(const Row& row, kernels::Dtype compute);
strategies::MemoryFormat image_memory_format(const Row& row, kernels::Dtype compute);

/// Whether the row trained Transformer-XL, whose segments are as long as its memory where nothing is printed.
bool is_recurrent_model(const Row& row);
/// "base", "large", as the row or the heading of its table says; empty where neither does.
std::string model_variant(const Row& row);
/// The catalog's of that name. Throws Skip where none is named.
models::ModelSpec map_recurrent_model(const Row& row);

/// The model; checks family and dimensions.
models::ModelSpec map_model(const Row& row, Software software);

/// Megatron-LM's encoder-decoder without its dimensions (megatron/core/models/T5, pretrain_t5.py): a GPT's layers, one
/// table of learned positions for both stacks, a bias of the logits.
models::ModelSpec megatron_t5();
/// Kinds of layers, where they are printed (hybrid-layer-pattern); and the layers of each part of a pipeline that it is
/// cut into, none where it is not.
std::string layer_pattern(const Row& row);
std::vector<std::uint32_t> pattern_stages(const Row& row);
/// The mixers of a model whose layers are printed. Throws Skip where a hybrid's number of layers is another.
void map_mixers(const Row& row, models::ModelSpec& spec);
/// Tokens that are predicted beside the next one: printed, or of the recipe (recipes.hpp).
void map_further_tokens(const Row& row, models::ModelSpec& spec);

/// Its experts, those of `known` (the catalog's model, if any) where the row states none. Throws Skip where it has some
/// and not how many.
void map_experts(const Row& row, const models::ModelSpec& known, models::ModelSpec& spec);
/// Whether the model's name is that of a mixture of experts.
bool names_experts(const Row& row);

/// Whether the row trains adapters (LoRA) beside frozen weights.
bool trains_adapters(const Row& row);

/// Throws Skip for work that is not a full training step of a decoder or encoder: other families, LoRA, speculative
/// heads, rows that contradict themselves.
void check_supported(const Row& row);

struct Parallelism {
    std::uint32_t gpus = 1, tensor = 1, context = 1, pipeline = 1, virtual_pipeline = 1, data = 1, expert = 1;
};
/// Degrees, the absent ones derived from the GPU count. Throws Skip when they do not multiply to it.
Parallelism map_parallelism(const Row& row, Software software);
/// The schedule that the row names, and as many chunks a stage as it has; by the chunks where none is named. Throws
/// Skip for a name that is not known.
void map_schedule(const Row& row, strategies::Strategy& strategy);
/// layers: of the model.
strategies::Strategy map_strategy(const Row& row, Software software, const Parallelism& degrees, std::uint32_t layers);
/// How the plan's experts are divided, after everything else.
void map_expert_parallelism(const Row& row, Software software, const Parallelism& degrees, strategies::Plan& plan);

struct Batch {
    std::uint32_t micro = 1, global = 1;
};
Batch map_batch(const Row& row, const Parallelism& degrees, kernels::Dtype compute);
kernels::Dtype map_precision(const Row& row);
/// What updates the weights, as the scripts behind a row say; Adam where they say nothing else. Networks over images
/// are trained by SGD with momentum everywhere. In NVIDIA's DeepLearningExamples LAMB trains BERT (PyTorch's apex
/// FusedLAMB, TensorFlow's LAMBOptimizer under XLA; run_pretraining_lamb.sh) and Transformer-XL, there as TorchScript
/// parameter by parameter (wt103_base.yaml, "optim: jitlamb"). bitsandbytes' 8-bit Adam is launched parameter by
/// parameter, too.
void map_optimizer(const Row& row, strategies::Training& training);
strategies::Training map_training(const Row& row, Software software, const topology::Gpu& gpu, const Batch& batch);

}  // namespace orrery::validate
