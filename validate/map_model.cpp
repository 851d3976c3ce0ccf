// Which model a row trained: the catalog's by name, else its family with the row's dimensions.
#include <fmt/format.h>

#include <cctype>

#include "base/text.hpp"
#include "models/catalog.hpp"
#include "models/model_fields.hpp"
#include "validate/map_row.hpp"
#include "validate/published.hpp"

namespace orrery::validate {

namespace {

using models::ModelSpec;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "Llama-2_70B" and "llama2-70b" are one name, "gpt-2 2b" and "gpt-22b" two: separators count between digits only.
std::string bare(std::string_view name) {
    std::string result;
    bool separated = false;
    for (const char c : lower(name)) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.') {
            separated = true;
            continue;
        }
        if (separated && is_digit(c) && !result.empty() && is_digit(result.back())) result += '-';
        result += c;
        separated = false;
    }
    return result;
}

const ModelSpec* in_catalog(const std::string& name) {
    for (const ModelSpec& spec : models::catalog())
        if (bare(spec.name) == bare(name)) return &spec;
    return nullptr;
}

/// Nemotron 3 and 4 (arXiv 2402.16819, section 2): rotary positions, squared ReLU, no biases, untied embeddings, no
/// dropout.
ModelSpec nemotron() {
    ModelSpec spec = models::find("gpt2");
    spec.activation = models::ActivationKind::squared_relu;
    spec.position = models::PositionKind::rope;
    spec.linear_bias = spec.qkv_bias = spec.tied_embeddings = false;
    spec.dropout = 0;
    return spec;
}

struct Structure {
    std::string_view word, model;  ///< a model whose structure the family shares
};
constexpr Structure structures[] = {
    {"neox", "gpt-neox-20b"}, {"gpt-neox", "gpt-neox-20b"}, {"pythia", "gpt-neox-20b"}, {"bloom", "bloom-176b"},
    {"mpt", "mpt-7b"},        {"qwen3", "qwen3-8b"},        {"qwen", "qwen2-7b"},       {"mistral", "mistral-7b"},
};

/// The structure of a model of that name, without its dimensions. Gated means a Llama: every published decoder with
/// a gated MLP in these tables has its norms, positions and untied logits.
ModelSpec structure_of(const Row& row, const std::string& name, Software software) {
    if (begins_word(name, "bert"))
        return models::find(software == Software::megatron_core ? "megatron-bert-336m" : "bert-large");
    if (begins_word(name, "t5")) return megatron_t5();
    if (!layer_pattern(row).empty()) return models::find("gpt2");
    if (begins_word(name, "nemotron")) return nemotron();
    for (const Structure& structure : structures)
        if (begins_word(name, structure.word)) return models::find(structure.model);
    // Megatron-LM's argument alone: its GPTs change their MLP and nothing else.
    if (row.flag("switches.swiglu").value_or(false)) {
        ModelSpec gpt = models::find("gpt2");
        gpt.activation = models::ActivationKind::silu;
        return gpt;
    }
    const bool gated = row.flag("model.gated").value_or(begins_word(name, "llama") || begins_word(name, "mixtral"));
    return models::find(gated ? "llama2-7b" : "gpt2");
}

/// GPT-2's BPE, BERT's uncased WordPiece (for T5 its cased one and 100 words of its own, as Megatron-LM's
/// train_t5_220m_distributed.sh), Llama's SentencePiece: what a family's published runs use.
std::uint32_t usual_vocabulary(const ModelSpec& spec) {
    if (spec.family == models::Family::bert) return 30522;
    if (spec.family == models::Family::t5) return 28996 + 100;
    const bool llama = spec.gated && spec.position == models::PositionKind::rope;
    return llama ? 32000 : 50257;
}

/// Llama (arXiv 2302.13971): 2/3 of 4 hidden, rounded up to a multiple of 256; 4 hidden elsewhere.
std::uint32_t usual_ffn(const ModelSpec& spec) {
    if (!spec.gated) return 4 * spec.hidden;
    const std::uint32_t wide = spec.hidden / 3 * 8 + (spec.hidden % 3 * 8 + 2) / 3;
    return (wide + 255) / 256 * 256;
}

std::uint32_t dimension(std::uint32_t stated, std::uint32_t otherwise, const char* what) {
    if (stated > 0) return stated;
    if (otherwise == 0) throw Skip(fmt::format("model dimensions not published: {}", what));
    return otherwise;
}

/// The dimensions that a row states (0: not published) over those of `known` (all 0 for a model that is not in the
/// catalog, or has another width).
void set_dimensions(ModelSpec& spec, const ModelSpec& stated, const ModelSpec& known) {
    spec.layers = dimension(stated.layers, known.layers, "layers");
    spec.hidden = dimension(stated.hidden, known.hidden, "hidden");
    spec.heads = dimension(stated.heads, known.heads, "heads");
    if (spec.hidden > (1U << 24)) throw Skip("field out of range: model.hidden");
    const bool same_heads = known.heads == spec.heads;
    spec.kv_heads = dimension(stated.kv_heads, same_heads ? known.kv_heads : spec.heads, "kv_heads");
    spec.head_dim = dimension(stated.head_dim, same_heads ? known.head_dim : spec.hidden / spec.heads, "head_dim");
    spec.ffn = dimension(stated.ffn, known.ffn != 0 ? known.ffn : usual_ffn(spec), "ffn");
    spec.vocab = dimension(stated.vocab, known.vocab != 0 ? known.vocab : usual_vocabulary(spec), "vocab");
    spec.vocab_multiple = stated.vocab_multiple;
}

/// With --swiglu and no width Megatron-LM takes 2/3 of four times hidden, a multiple of 64 (training/arguments.py);
/// rows that were read from its configurations print four times hidden there as well.
void narrow_swiglu(ModelSpec& spec, const Row& row) {
    if (row.flag("switches.swiglu").value_or(false) && spec.ffn == 4 * spec.hidden)
        spec.ffn = 4 * spec.hidden * 2 / 3 / 64 * 64;
}

/// Megatron-LM arguments that a row prints.
void apply_arguments(ModelSpec& spec, const Row& row) {
    const std::string position = row.words("switches.position-embedding-type");
    if (position == "rope") spec.position = models::PositionKind::rope;
    if (position == "none") spec.position = models::PositionKind::none;
    if (row.flag("switches.untie-embeddings-and-output-weights").value_or(false)) spec.tied_embeddings = false;
    if (row.flag("switches.disable-bias-linear").value_or(false)) spec.linear_bias = spec.qkv_bias = false;
    if (row.flag("switches.use-parallel-residual").value_or(false)) spec.parallel_residual = true;
    if (row.words("switches.normalization") == "rmsnorm") spec.norm = models::NormKind::rmsnorm;
}

}  // namespace

models::ModelSpec map_model(const Row& row, Software software) {
    if (is_image_model(row)) return map_image_model(row);
    if (is_recurrent_model(row)) return map_recurrent_model(row);
    const std::string name = row.words("model.name");
    const ModelSpec* known = in_catalog(name);
    ModelSpec spec = known != nullptr ? *known : structure_of(row, name, software);
    ModelSpec stated;
    read_published(row, models::model_fields(), stated);
    if (known != nullptr && stated.hidden != 0 && stated.hidden != known->hidden) known = nullptr;
    spec.name = name.empty() ? "model" : name;
    read_published(row, models::model_fields(), spec);
    set_dimensions(spec, stated, known != nullptr ? *known : ModelSpec{.name = ""});
    narrow_swiglu(spec, row);
    if (row.flag("switches.multi-latent-attention").value_or(false) && spec.kv_lora_rank == 0)
        throw Skip("model dimensions not published: latent attention");
    map_experts(row, known != nullptr ? *known : ModelSpec{.name = ""}, spec);
    map_mixers(row, spec);
    map_further_tokens(row, spec);
    if (spec.family == models::Family::t5) spec.decoder_layers = spec.layers;
    apply_arguments(spec, row);
    if (!row.has("model.seq")) throw Skip("sequence length not published");
    const bool learned = spec.position == models::PositionKind::learned;
    spec.max_positions = learned ? std::max(*row.count("model.seq"), known != nullptr ? known->max_positions : 0) : 0;
    return spec;
}

}  // namespace orrery::validate
