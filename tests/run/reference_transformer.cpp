#include "run/tokens.hpp"
#include "tests/run/reference_parts.hpp"

namespace orrery::run {

namespace {

class Transformer : public ReferenceModel {
public:
    Transformer(const strategies::Plan& plan, const RunSettings& settings);
    M loss(Tape& tape, std::uint32_t step, std::uint32_t sample) override;

private:
    [[nodiscard]] bool learned() const { return spec_.position == models::PositionKind::learned; }
    [[nodiscard]] bool latent() const { return spec_.kv_lora_rank > 0; }
    [[nodiscard]] std::size_t plain() const { return spec_.head_dim - spec_.rope_head_dim; }
    void layer(const std::string& at, bool experts);
    void head();
    void attention_parameters(const std::string& at);
    void latent_parameters(const std::string& at);
    /// `count` of them below each other.
    void mlp(const std::string& at, std::size_t ffn, std::size_t count) {
        linear(at + "up", count * ffn * (spec_.gated ? 2 : 1), spec_.hidden, spec_.linear_bias, count);
        linear(at + "down", count * spec_.hidden, ffn, spec_.linear_bias, count);
    }

    M block(Tape& tape, const M& x, std::uint32_t layer);
    M attention(Tape& tape, const M& x, std::uint32_t layer, const std::string& at);
    M normed_heads(Tape& tape, const M& x, std::size_t cols, const std::string& name);
    M latent_attention(Tape& tape, const M& x, const std::string& at);
    M rotated_part(Tape& tape, const M& heads, std::size_t count);
    M feed_forward(Tape& tape, const M& x, const std::string& at);
    M dense(Tape& tape, const M& x, const std::string& at) {
        return applied(tape, activated(tape, applied(tape, x, at + "up")), at + "down");
    }
    M expert(Tape& tape, const M& token, const std::string& at, std::size_t number);
    M experts(Tape& tape, const M& x, const std::string& at);

    Tokens tokens_;
    std::size_t first_token_ = 0;  ///< of the sequence, counted over the step's global batch
    Dropouts dropouts_;            ///< of the layer at hand
    /// What a dropout leaves of a branch, or of words and positions.
    M dropped(Tape& tape, const M& x) { return ReferenceModel::dropped(tape, x, dropouts_, first_token_); }
    void drop_scores(Heads& heads, std::size_t seq);
};

Transformer::Transformer(const strategies::Plan& plan, const RunSettings& settings)
    : ReferenceModel(plan, settings), tokens_(settings.data, plan.model.vocab, plan.training.seq, settings.seed) {
    parameter("embedding.words", spec_.vocab, spec_.hidden);
    if (learned()) parameter("embedding.positions", spec_.max_positions, spec_.hidden);
    if (spec_.embedding_norm) norm("embedding_norm", spec_.hidden);
    for (std::uint32_t l = 0; l < spec_.layers; ++l) layer("layer." + std::to_string(l) + ".", spec_.has_experts(l));
    head();
}

void Transformer::layer(const std::string& at, bool with_experts) {
    if (spec_.input_norm) norm(at + "attention_norm", spec_.hidden);
    latent() ? latent_parameters(at) : attention_parameters(at);
    linear(at + "projection", spec_.hidden, std::size_t{spec_.heads} * spec_.value_dim(),
           spec_.linear_bias && !spec_.bare_projection);
    if (spec_.output_norm) norm(at + "attention_output_norm", spec_.hidden);
    if ((spec_.input_norm || spec_.post_norm) && !spec_.shared_norm) norm(at + "mlp_norm", spec_.hidden);
    if (spec_.output_norm) norm(at + "mlp_output_norm", spec_.hidden);
    if (!with_experts) return mlp(at, spec_.ffn, 1);
    if (spec_.shared_expert_ffn > 0) mlp(at, spec_.shared_expert_ffn, 1);
    parameter(at + "router.weight", spec_.experts, spec_.hidden);
    mlp(at + "experts.", spec_.expert_ffn, spec_.experts);
}

void Transformer::attention_parameters(const std::string& at) {
    const std::size_t queries = std::size_t{spec_.heads} * spec_.head_dim,
                      keys = std::size_t{spec_.kv_heads} * spec_.head_dim;
    linear(at + "qkv", queries + 2 * keys, spec_.hidden, spec_.qkv_bias);
    if (!spec_.qk_norm) return;
    parameter(at + "query_norm.weight", 1, spec_.qk_norm_whole ? queries : spec_.head_dim, Initial::ones);
    parameter(at + "key_norm.weight", 1, spec_.qk_norm_whole ? keys : spec_.head_dim, Initial::ones);
}

void Transformer::latent_parameters(const std::string& at) {
    const std::size_t width = std::size_t{spec_.q_lora_rank} + spec_.kv_lora_rank;
    linear(at + "queries", std::size_t{spec_.heads} * spec_.head_dim,
           spec_.q_lora_rank > 0 ? spec_.q_lora_rank : spec_.hidden, false);
    linear(at + "latent", width + spec_.rope_head_dim, spec_.hidden, false);
    norm(at + "latent_norm", width);
    linear(at + "keys_values", spec_.heads * (plain() + spec_.v_head_dim), spec_.kv_lora_rank, false);
}

void Transformer::head() {
    if (!spec_.post_norm) norm("final_norm", spec_.hidden);
    if (spec_.mlm_head) {
        linear("mlm_dense", spec_.hidden, spec_.hidden, true);
        norm("mlm_norm", spec_.hidden);
    }
    if (!spec_.tied_embeddings) parameter("logits.weight", spec_.vocab, spec_.hidden);
    if (spec_.logits_bias || spec_.mlm_head) parameter("logits.bias", 1, spec_.vocab, Initial::zeros);
}

M Transformer::loss(Tape& tape, std::uint32_t step, std::uint32_t sample) {
    const std::vector<std::int32_t> sequence = tokens_.sequence(step, sample);
    first_token_ = std::size_t{sample} * (sequence.size() - 1);
    const std::vector<std::int32_t> ids(sequence.begin(), sequence.end() - 1);
    const std::vector<std::int32_t> targets(sequence.begin() + 1, sequence.end());
    M x = tape.rows_of(get("embedding.words"), ids);
    if (learned()) x = tape.plus(x, tape.first_rows(get("embedding.positions"), ids.size()));
    dropouts_ = {step, -1};
    x = dropped(tape, x);
    if (spec_.embedding_norm) x = normed(tape, x, "embedding_norm");
    for (std::uint32_t l = 0; l < spec_.layers; ++l) x = block(tape, x, l);
    if (!spec_.post_norm) x = normed(tape, x, "final_norm");
    if (spec_.mlm_head) x = normed(tape, tape.applied(applied(tape, x, "mlm_dense"), gelu), "mlm_norm");
    M logits = tape.product(x, get(spec_.tied_embeddings ? "embedding.words" : "logits.weight"));
    if (has("logits.bias")) logits = tape.plus_row(logits, get("logits.bias"));
    return tape.cross_entropy(logits, targets, spec_.vocab);
}

M Transformer::block(Tape& tape, const M& x, std::uint32_t layer) {
    dropouts_ = {dropouts_.step, static_cast<std::int32_t>(layer)};
    const std::string at = "layer." + std::to_string(layer) + ".";
    const bool before = spec_.input_norm && !spec_.post_norm;
    const M input = before ? normed(tape, x, at + "attention_norm") : x;
    M a = applied(tape, attention(tape, input, layer, at), at + "projection");
    if (spec_.output_norm) a = normed(tape, a, at + "attention_output_norm");
    if (spec_.parallel_residual) {
        const M other = spec_.shared_norm ? input : normed(tape, x, at + "mlp_norm");
        return tape.plus(x, dropped(tape, tape.plus(a, feed_forward(tape, other, at))));
    }
    M middle = tape.plus(x, dropped(tape, a));
    if (spec_.post_norm) middle = normed(tape, middle, at + "attention_norm");
    M b = feed_forward(tape, before ? normed(tape, middle, at + "mlp_norm") : middle, at);
    if (spec_.output_norm) b = normed(tape, b, at + "mlp_output_norm");
    const M sum = tape.plus(middle, dropped(tape, b));
    return spec_.post_norm ? normed(tape, sum, at + "mlp_norm") : sum;
}

void Transformer::drop_scores(Heads& heads, std::size_t seq) {
    if (spec_.dropout == 0 || spec_.hidden_dropout_alone) return;
    const std::size_t length = heads.document > 0 ? heads.document : seq, all = spec_.heads, first = first_token_;
    heads.factor = [=, mask = next_mask(dropouts_)](std::size_t head, std::size_t query, std::size_t key) {
        const std::size_t document = (first + query) / length;
        return mask(((document * all + head) * length + query % length) * length + key % length);
    };
}

/// Over heads of head_dim, or over all of them.
M Transformer::normed_heads(Tape& tape, const M& x, std::size_t cols, const std::string& name) {
    if (spec_.qk_norm_whole) return tape.rmsnorm(x, get(name));
    return tape.in_rows_of(tape.rmsnorm(tape.in_rows_of(x, spec_.head_dim), get(name)), cols);
}

M Transformer::attention(Tape& tape, const M& x, std::uint32_t layer, const std::string& at) {
    if (latent()) return latent_attention(tape, x, at);
    const std::size_t queries = std::size_t{spec_.heads} * spec_.head_dim,
                      keys = std::size_t{spec_.kv_heads} * spec_.head_dim;
    const M packed = applied(tape, x, at + "qkv");
    M q = tape.columns(packed, 0, queries), k = tape.columns(packed, queries, keys);
    if (spec_.qk_norm) {
        q = normed_heads(tape, q, queries, at + "query_norm.weight");
        k = normed_heads(tape, k, keys, at + "key_norm.weight");
    }
    if (spec_.position == models::PositionKind::rope) {
        q = tape.rope(q, spec_.heads, spec_.head_dim);
        k = tape.rope(k, spec_.kv_heads, spec_.head_dim);
    }
    Heads heads{spec_.heads, spec_.kv_heads, spec_.causal, spec_.has_window(layer) ? spec_.attention_window : 0,
                plan_.training.document_length};
    drop_scores(heads, x->rows);
    return tape.attention(q, k, tape.columns(packed, queries + keys, keys), heads);
}

/// The last columns of each of `count` heads, [tokens, count head_dim], rotated.
M Transformer::rotated_part(Tape& tape, const M& heads, std::size_t count) {
    const std::size_t turned = spec_.rope_head_dim;
    const M each = tape.in_rows_of(heads, spec_.head_dim);
    const M part = tape.in_rows_of(tape.columns(each, plain(), turned), count * turned);
    const M rotated = tape.in_rows_of(tape.rope(part, count, turned), turned);
    return tape.in_rows_of(tape.beside(tape.columns(each, 0, plain()), rotated), count * spec_.head_dim);
}

/// DeepSeek-V2 (arXiv:2405.04434), equations 9 to 19: every head's key is its own columns and the one rotated row that
/// all share.
M Transformer::latent_attention(Tape& tape, const M& x, const std::string& at) {
    const std::size_t heads = spec_.heads, of_q = spec_.q_lora_rank, of_kv = spec_.kv_lora_rank,
                      turned = spec_.rope_head_dim;
    const M latent = applied(tape, x, at + "latent");
    const auto part_normed = [&](std::size_t first, std::size_t width) {
        return tape.rmsnorm(tape.columns(latent, first, width),
                            tape.columns(get(at + "latent_norm.weight"), first, width));
    };
    const M q = applied(tape, of_q > 0 ? part_normed(0, of_q) : x, at + "queries");
    const M kv = applied(tape, part_normed(of_q, of_kv), at + "keys_values");
    const M shared = tape.rope(tape.columns(latent, of_q + of_kv, turned), 1, turned);
    std::vector<std::int32_t> repeated;
    for (std::size_t r = 0; r < x->rows; ++r) repeated.insert(repeated.end(), heads, static_cast<std::int32_t>(r));
    const M own = tape.in_rows_of(tape.columns(kv, 0, heads * plain()), plain());
    const M k = tape.in_rows_of(tape.beside(own, tape.rows_of(shared, repeated)), heads * spec_.head_dim);
    Heads of{heads, heads, spec_.causal, 0, plan_.training.document_length};
    drop_scores(of, x->rows);
    return tape.attention(rotated_part(tape, q, heads), k, tape.columns(kv, heads * plain(), heads * spec_.v_head_dim),
                          of);
}

M Transformer::feed_forward(Tape& tape, const M& x, const std::string& at) {
    if (!has(at + "router.weight")) return dense(tape, x, at);
    const M sum = experts(tape, x, at);
    return spec_.shared_expert_ffn > 0 ? tape.plus(sum, dense(tape, x, at)) : sum;
}

M Transformer::expert(Tape& tape, const M& token, const std::string& at, std::size_t number) {
    const auto part = [&](const M& x, const std::string& name) {
        const M y = tape.product(x, tape.part_of(get(at + name + ".weight"), number, spec_.experts));
        if (!spec_.linear_bias) return y;
        return tape.plus_row(y, tape.part_of(get(at + name + ".bias"), number, spec_.experts));
    };
    return part(activated(tape, part(token, "experts.up")), "experts.down");
}

/// Token t of the step goes to experts t k, t k + 1, ... t k + k - 1 modulo their number.
M Transformer::experts(Tape& tape, const M& x, const std::string& at) {
    const M probabilities = tape.softmax(tape.product(x, get(at + "router.weight")));
    M rows = nullptr;
    for (std::size_t r = 0; r < x->rows; ++r) {
        const M token = tape.part_of(x, r, x->rows), all = tape.part_of(probabilities, r, x->rows);
        std::vector<std::size_t> chosen;
        for (std::size_t j = 0; j < spec_.experts_per_token; ++j)
            chosen.push_back(((first_token_ + r) * spec_.experts_per_token + j) % spec_.experts);
        M sum = nullptr;
        for (const std::size_t number : chosen) {
            const M weighed = tape.weighed(expert(tape, token, at, number), all, number, chosen);
            sum = sum ? tape.plus(sum, weighed) : weighed;
        }
        rows = rows ? tape.below(rows, sum) : sum;
    }
    return rows;
}

}  // namespace

std::unique_ptr<ReferenceModel> reference_transformer(const strategies::Plan& plan, const RunSettings& settings) {
    return std::make_unique<Transformer>(plan, settings);
}

}  // namespace orrery::run
