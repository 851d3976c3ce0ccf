// Encoders trained with a masked-language-model head.
#include <utility>

#include "models/families.hpp"

namespace orrery::models {

namespace {

/// Two segments, 512 learned positions, the uncased WordPiece vocabulary, GELU, dropout 0.1, and the head of
/// BertForMaskedLM: dense, GELU, norm, tied logits with a bias. No pooler and no next-sentence head.
ModelSpec megatron_bert(ModelSpec row) {
    row.family = Family::bert;
    row.token_types = 2;
    row.max_positions = 512;
    row.vocab = 30522;
    row.causal = false;
    row.mlm_head = true;
    row.dropout = 0.1;
    return with_derived_widths(std::move(row));
}

/// Norms behind the residual sums and behind the embedding.
ModelSpec bert(ModelSpec row) {
    row.post_norm = row.embedding_norm = true;
    return megatron_bert(std::move(row));
}

}  // namespace

// clang-format off
std::vector<ModelSpec> bert_models() {
    return {
        // Devlin et al. 2019, section 3; google-bert/bert-*-uncased config.json.
        bert({.name = "bert-base",  .layers = 12, .hidden = 768,  .heads = 12}),
        bert({.name = "bert-large", .layers = 24, .hidden = 1024, .heads = 16}),

        // Shoeybi et al. 2019 (Megatron-LM), table 4: norms moved before the branches.
        megatron_bert({.name = "megatron-bert-336m", .layers = 24, .hidden = 1024, .heads = 16}),
        megatron_bert({.name = "megatron-bert-1.3b", .layers = 24, .hidden = 2048, .heads = 32}),
        megatron_bert({.name = "megatron-bert-3.9b", .layers = 48, .hidden = 2560, .heads = 40}),
    };
}
// clang-format on

}  // namespace orrery::models
