#include "run/support.hpp"

#include <fmt/format.h>

#include <string>

#include "base/error.hpp"

namespace orrery::run {

namespace {

void require(bool holds, const std::string& pointer, const std::string& message, const std::string& hint) {
    if (!holds) throw Error("", pointer, message, hint);
}

void require_model(const models::ModelSpec& model) {
    require(model.dropout == 0, "/model/dropout", fmt::format("dropout {} cannot be executed yet", model.dropout),
            "set it to 0");
    require(!model.post_norm && !model.mlm_head && model.token_types == 0, "/model",
            "BERT's post-norm layers, segment table and head cannot be executed yet", "take a GPT or Llama model");
    require(!model.parallel_residual, "/model/parallel_residual", "a parallel residual cannot be executed yet",
            "set it to false");
    require(!model.qk_norm, "/model/qk_norm", "norms of queries and keys cannot be executed yet", "set it to false");
    require(model.position != models::PositionKind::alibi, "/model/position", "ALiBi cannot be executed yet",
            "take learned or rope");
}

}  // namespace

void require_executable(const strategies::Plan& plan) {
    using kernels::Dtype;
    const strategies::Strategy& strategy = plan.strategy;
    const strategies::Training& training = plan.training;
    require_model(plan.model);
    require(training.precision.compute == Dtype::fp32, "/training/precision",
            fmt::format("{} cannot be executed yet", kernels::name(training.precision.compute)), "set it to fp32");
    require(training.fused_attention, "/training/fused_attention", "unfused attention cannot be executed yet",
            "set it to true");
    require(!training.cuda_graph, "/training/cuda_graph", "graphs cannot be executed yet", "set it to false");
    require(strategy.placement.empty() && strategy.placement_file.empty(), "/strategy/placement",
            "a run cannot place its ranks: mpirun does", "leave it out, and order --hosts");
    const bool exchanged = plan.model.tied_embeddings && strategy.pipeline > 1;
    require(!exchanged || strategy.sharding == strategies::Sharding::none || strategy.data == 1, "/strategy/sharding",
            "a distributed optimizer cannot exchange the gradients of tied embeddings between stages yet: first and "
            "last stage shard them differently",
            "set tied_embeddings to false, sharding to \"none\" or pipeline to 1");
}

}  // namespace orrery::run
