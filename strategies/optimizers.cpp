#include "strategies/optimizers.hpp"

#include <fmt/format.h>

#include <array>

#include "base/enum_table.hpp"
#include "hardware/eager.hpp"
#include "strategies/muon.hpp"
#include "strategies/refusal.hpp"

namespace orrery::strategies {

namespace {

/// torch/optim/adam.py, _single_tensor_adam, of AdamW; fused it is PointwiseKind::adam.
constexpr std::array adam_loop{UpdateKernel{"weight decay", 2},  UpdateKernel{"first moment", 3},
                               UpdateKernel{"second moment", 2}, UpdateKernel{"second moment", 3},
                               UpdateKernel{"denominator", 2},   UpdateKernel{"denominator", 2},
                               UpdateKernel{"denominator", 2},   UpdateKernel{"update", 4}};
/// torch/optim, fused=True, without masters: w, m, v and g in the weights' format.
constexpr std::array adam_kernel{UpdateKernel{"adam", 7}};
/// w -= rate g.
constexpr std::array sgd_kernel{UpdateKernel{"sgd", 3}};
/// m = mu m + g, w -= rate m: apex, csrc/multi_tensor_sgd_kernel.cu; torch/optim/sgd.py, _single_tensor_sgd.
constexpr std::array momentum_kernel{UpdateKernel{"sgd with momentum", 5}};
constexpr std::array momentum_loop{UpdateKernel{"momentum", 2}, UpdateKernel{"momentum", 3}, UpdateKernel{"update", 3}};
/// w -= rate sign(b1 m + (1 - b1) g), m = b2 m + (1 - b2) g (Chen et al. 2023, arXiv:2302.06675, algorithm 2): its
/// authors' Triton kernel, and lion_pytorch's update_fn.
constexpr std::array lion_kernel{UpdateKernel{"lion", 5}};
constexpr std::array lion_loop{UpdateKernel{"weight decay", 2}, UpdateKernel{"direction", 2},
                               UpdateKernel{"direction", 2},    UpdateKernel{"direction", 3},
                               UpdateKernel{"direction", 2},    UpdateKernel{"update", 3},
                               UpdateKernel{"momentum", 2},     UpdateKernel{"momentum", 3}};
/// apex, csrc/multi_tensor_lamb.cu: Adam's direction over g, the norms of weights and directions by parameter, and the
/// step (You et al. 2020, arXiv:1904.00962, algorithm 2). By parameter: TorchScript's kernels of NVIDIA's
/// DeepLearningExamples (Transformer-XL, lamb.py, lamb_kernel), between which a bound of the norm and the trust ratio
/// are formed.
constexpr std::array lamb_kernels{UpdateKernel{"lamb direction", 7}, UpdateKernel{"norms of weights", 1},
                                  UpdateKernel{"norms of directions", 1}, UpdateKernel{"lamb update", 3}};
constexpr std::array lamb_loop{UpdateKernel{"lamb direction", 7}, UpdateKernel{"norm of weights", 1},
                               UpdateKernel{"bound", 0},          UpdateKernel{"norm of direction", 1},
                               UpdateKernel{"trust ratio", 0},    UpdateKernel{"lamb update", 3}};
/// bitsandbytes, kOptimizerStatic8bit2StateBlockwise (Dettmers et al. 2022, arXiv:2110.02861): g and w, two moments of
/// a byte each, read and written but for g.
constexpr std::array adam8bit_loop{UpdateKernel{"8-bit adam", 3, 4}};
/// transformers/optimization.py, Adafactor.step, without a first moment (Shazeer and Stern 2018, arXiv:1804.04235,
/// algorithm 4): squares, their means by row and by column, the factored root, the clipped and scaled update.
constexpr std::array adafactor_loop{UpdateKernel{"size of weights", 1},
                                    UpdateKernel{"scale", 0},
                                    UpdateKernel{"scale", 0},
                                    UpdateKernel{"squares", 2},
                                    UpdateKernel{"squares", 2},
                                    UpdateKernel{"means by row", 1},
                                    UpdateKernel{"means by row", 0},
                                    UpdateKernel{"means by row", 0},
                                    UpdateKernel{"means by column", 1},
                                    UpdateKernel{"means by column", 0},
                                    UpdateKernel{"means by column", 0},
                                    UpdateKernel{"roots", 0},
                                    UpdateKernel{"roots", 0},
                                    UpdateKernel{"roots", 0},
                                    UpdateKernel{"roots", 0},
                                    UpdateKernel{"factored root", 1},
                                    UpdateKernel{"direction", 3},
                                    UpdateKernel{"size of direction", 1},
                                    UpdateKernel{"clip", 0},
                                    UpdateKernel{"clip", 0},
                                    UpdateKernel{"clip", 2},
                                    UpdateKernel{"rate", 2},
                                    UpdateKernel{"update", 3}};

/// The same where a compiler joins operators (XLA): a kernel for each sum, which the next needs whole.
constexpr std::array adafactor_joined{UpdateKernel{"size of weights", 1}, UpdateKernel{"means by row", 1},
                                      UpdateKernel{"means by column", 1}, UpdateKernel{"size of direction", 1},
                                      UpdateKernel{"adafactor", 3}};

constexpr std::array table{
    OptimizerRow{Optimizer::adam, "Adam", 8, adam_kernel, adam_loop, false, false},
    OptimizerRow{Optimizer::sgd, "SGD", 0, sgd_kernel, sgd_kernel, false, false},
    OptimizerRow{Optimizer::momentum, "SGD with momentum", 4, momentum_kernel, momentum_loop, false, false},
    OptimizerRow{Optimizer::lion, "Lion", 4, lion_kernel, lion_loop, false, false},
    OptimizerRow{Optimizer::lamb, "LAMB", 8, lamb_kernels, lamb_loop, true, true},
    OptimizerRow{Optimizer::adafactor, "Adafactor", 0, adafactor_joined, adafactor_loop, false, false, false, true},
    OptimizerRow{Optimizer::adam8bit, "8-bit Adam", 2, {}, adam8bit_loop, false, false, true},
    OptimizerRow{Optimizer::muon, "Muon", 4, {}, {}, false, false},  // of matrices (muon.hpp)
};

constexpr bool in_order() {
    for (std::size_t i = 0; i < table.size(); ++i)
        if (table[i].optimizer != static_cast<Optimizer>(i)) return false;
    return table.size() == enumerators<Optimizer>;
}
static_assert(in_order(), "the table has a row for each Optimizer, in their order");

}  // namespace

const OptimizerRow& row_of(Optimizer optimizer) { return table[static_cast<std::size_t>(optimizer)]; }

bool has_foreach(Optimizer optimizer) {
    return optimizer == Optimizer::adam || optimizer == Optimizer::sgd || optimizer == Optimizer::momentum;
}

bool updates_many_at_once(const Training& training) {
    const OptimizerRow& row = row_of(training.optimizer);
    if (row.joined && hardware::is_eager(training.software)) return false;
    return training.optimizer == Optimizer::muon || !row.fused.empty();
}

namespace {

void check_master_weights(const Plan& plan) {
    const Training& training = plan.training;
    if (training.master_weights) return;
    const auto only = [](bool holds, const std::string& otherwise, const char* remedy, Source source) {
        if (!holds) refuse("/training/master_weights", "false, but " + otherwise, remedy, source);
    };
    only(kernels::size_of(training.precision.compute) < 4, "weights in fp32 have no others beside them",
         "set it to true, or precision to bf16", Source::origin_of_key);
    only(kernels::size_of(training.precision.grad_reduce) < 4, "gradients of 16-bit weights are in 16 bits",
         "set it to true, or grad_reduce_precision to bf16 (what is reduced may be wider: communication_data_type)",
         Source::origin_of_key);
    only(!training.fp8_param_gather, "weights that are kept in fp8 are cast from masters",
         "set it to true, or fp8_param_gather to false", Source::megatron_config);
    only(training.optimizer != Optimizer::muon, "muon's momentum is in fp32 here", "set it to true",
         Source::not_modelled);
    only(!plan.strategy.optimizer_cpu_offload && !plan.offloads_weights() && !plan.uses_drives(),
         "what is offloaded is updated in fp32", "set it to true, or offload nothing", Source::not_modelled);
    only(plan.strategy.compression != Compression::onebit_adam, "1-bit Adam keeps its momentum in fp32",
         "set it to true, or strategy.compression to \"none\"", Source::not_modelled);
}

}  // namespace

void check_optimizer(const Plan& plan) {
    const Training& training = plan.training;
    const OptimizerRow& row = row_of(training.optimizer);
    const bool adam = training.optimizer == Optimizer::adam;
    check_muon(plan);
    check_master_weights(plan);
    if (training.fused_optimizer && !updates_many_at_once(training))
        refuse("/training/fused_optimizer", fmt::format("true, but {} has no kernels over all parameters", row.title),
               "set it to false", Source::origin_of_key);
    if (training.foreach_optimizer && training.fused_optimizer)
        refuse("/training/foreach_optimizer", "true, but fused_optimizer has one kernel for all operations",
               "set it to false, or fused_optimizer to false", Source::origin_of_key);
    if (training.foreach_optimizer && !has_foreach(training.optimizer))
        refuse("/training/foreach_optimizer", fmt::format("true, but {} is none of torch.optim's", row.title),
               "set it to false", Source::origin_of_key);
    if (is_fused_adam(training) || !training.master_weights) return;
    const char* const key = adam ? "/training/fused_optimizer" : "/training/optimizer";
    const std::string what = adam ? "false" : row.title;
    const char* const hint = adam ? "leave it out" : "set it to \"adam\"";
    if (plan.strategy.optimizer_cpu_offload)
        refuse(key, what + ", but optimizer_cpu_offload runs a fused Adam on the host's processor", hint,
               Source::not_modelled);
    if (plan.strategy.compression == Compression::onebit_adam)
        refuse(key, what + ", but strategy.compression is 1-bit Adam's own", hint, Source::compressed_momentum);
}

}  // namespace orrery::strategies
