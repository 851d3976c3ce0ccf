#include "strategies/packed_documents.hpp"

#include <fmt/format.h>

#include "strategies/refusal.hpp"

namespace orrery::strategies {

namespace {

constexpr const char* key = "/training/document_length";

/// Attention over one sequence of tokens is what documents divide.
void check_model(const Plan& plan) {
    const models::ModelSpec& model = plan.model;
    const std::uint32_t document = plan.training.document_length;
    if (model.takes_images())
        refuse(key, fmt::format("{} tokens, but {} takes images, of which each is one", document, model.name),
               "leave it out", Source::origin_of_key);
    if (model.two_stacks() || model.relative_buckets > 0)
        refuse(key, fmt::format("documents of {} tokens in {}, which has two stacks", document, model.name),
               "leave it out", Source::not_modelled);
    if (model.family == models::Family::transfo_xl)
        refuse(key,
               fmt::format("documents of {} tokens in {}, whose queries see a memory of earlier ones", document,
                           model.name),
               "leave it out", Source::not_modelled);
}

}  // namespace

void check_documents(const Plan& plan) {
    const Training& training = plan.training;
    const std::uint32_t document = training.document_length;
    if (document == 0) return;
    check_model(plan);
    if (training.seq % document != 0)
        refuse(key, fmt::format("documents of {} tokens do not fill a sequence of {}", document, training.seq),
               nearest_divisors(document, training.seq), Source::not_modelled);
    if (!training.fused_attention)
        refuse(key, fmt::format("documents of {} tokens, but attention is not fused", document),
               "set fused_attention to true, or leave it out", Source::engine_attention);
    if (plan.strategy.context > 1)
        refuse(key,
               fmt::format("documents of {} tokens in sequences that {} context ranks share", document,
                           plan.strategy.context),
               "set context to 1, or leave it out", Source::not_modelled);
}

}  // namespace orrery::strategies
