#include "strategies/pytorch_tensor.hpp"

#include "strategies/refusal.hpp"
#include "strategies/tensor_grid.hpp"

namespace orrery::strategies {

namespace {

void refuse_grids(const Plan& plan, const char* key) {
    if (plan.strategy.tensor_mode != TensorMode::one_d)
        refuse(key, "false beside a grid of tensor ranks, which PyTorch does not have", "leave one of them out",
               Source::origin_of_key);
}

void check_inputs(const Plan& plan) {
    constexpr const char* key = "/strategy/tp_prepare_module_input";
    if (plan.strategy.prepare_module_input) return;
    refuse_grids(plan, key);
    if (!plan.heads_apart() && !plan.gate_apart())
        refuse(key, "false, but no products of one input are apart",
               "set training.fuse_attention_qkv or fuse_attention_ffn to false, or leave it out",
               Source::origin_of_key);
    if (plan.strategy.tensor_comm_overlap)
        refuse(key, "false beside tp_comm_overlap: products that are cut into parts read what is gathered for all",
               "leave one of them out", Source::not_modelled);
}

void check_logits(const Plan& plan) {
    constexpr const char* key = "/strategy/loss_parallel";
    if (plan.strategy.loss_parallel) return;
    refuse_grids(plan, key);
    if (plan.model.takes_images())
        refuse(key, "false, but classes of images are no words that tensor ranks divide", "leave it out",
               Source::not_modelled);
    if (plan.model.recurrence.memory > 0)
        refuse(key, "false, but words of clusters are not divided", "leave it out", Source::not_modelled);
}

}  // namespace

bool exchanges_inputs_apart(const Plan& plan) {
    return plan.strategy.tensor > 1 && !plan.strategy.prepare_module_input;
}

bool gathers_logits(const Plan& plan) { return plan.strategy.tensor > 1 && !plan.strategy.loss_parallel; }

void check_pytorch_tensor(const Plan& plan) {
    check_inputs(plan);
    check_logits(plan);
}

}  // namespace orrery::strategies
