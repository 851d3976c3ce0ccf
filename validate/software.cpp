#include "validate/software.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/text.hpp"
#include "validate/map_row.hpp"
#include "validate/nemo_recipes.hpp"
#include "validate/recipes.hpp"

namespace orrery::validate {

std::string source_words(const Row& row) {
    const nlohmann::json* source = row.find("source");
    if (source == nullptr) return "";
    if (source->is_string()) return row.words("source");
    if (!source->is_object()) throw Skip("field of a wrong type: source");
    std::string words;
    for (const auto& [key, value] : source->items())
        if (value.is_string()) words += fmt::format(" {}", lower(value.get_ref<const std::string&>().substr(0, 400)));
    return words;
}

namespace {

constexpr int undated = 9999;

/// Year and month, as in 2109: of the earliest arXiv number, else January of the earliest year ("SC'21"), since code is
/// older than what is printed of it.
int date_of(const std::string& words) {
    static const std::regex year(R"((?:\b20|')([12]\d)\b)"),
        paper(R"((?:arxiv[ :/.]{1,3}(?:org/)?(?:abs/|pdf/)?|abs/|pdf/)(\d{4})\.\d{4,5})");
    int earliest = undated;
    for (std::sregex_iterator at(words.begin(), words.end(), paper), end; at != end; ++at)
        earliest = std::min(earliest, std::stoi((*at)[1]));
    if (earliest != undated) return earliest;
    for (std::sregex_iterator at(words.begin(), words.end(), year), end; at != end; ++at)
        earliest = std::min(earliest, std::stoi((*at)[1]) * 100 + 1);
    return earliest;
}

bool any_of(const std::string& words, std::initializer_list<const char*> candidates) {
    for (const char* word : candidates)
        if (contains(words, word)) return true;
    return false;
}

/// Trainers on PyTorch whose code calls FlashAttention or scaled_dot_product_attention in every commit: huggingface/
/// nanotron, pytorch/torchtitan, InternLM/InternEvo, Lightning-AI/litgpt, foundation-model-stack/fms-fsdp,
/// allenai/OLMo.
bool calls_fused_attention(const std::string& words) {
    return any_of(words, {"nanotron", "torchtitan", "internevo", "litgpt", "fms-fsdp", "olmo"});
}

Software megatron_of(const Row& row, const std::string& words) {
    const std::string gpu = row.words("gpu");
    const bool old_gpu = contains(gpu, "v100") || contains(gpu, "p100");
    // Megatron-LM's history: collectives of tensor ranks beside weight gradients (--no-async-tensor-model-parallel-
    // allreduce) on 2 September 2021, --transformer-impl transformer_engine by default on 2 April 2024.
    constexpr int asynchronous = 2109, transformer_engine = 2404;
    const int date = date_of(words);
    if (old_gpu || (date < asynchronous && date != undated)) return Software::megatron_2021;
    return date < transformer_engine ? Software::megatron_local : Software::megatron_core;
}

bool names_deepspeed(const std::string& words) { return any_of(words, {"deepspeed", "meg-ds"}); }

Software from_words(const Row& row, const std::string& words, const std::string& dated) {
    if (any_of(words, {"maxtext", "paxml", "jax"})) return Software::jax;
    if (any_of(words, {"nemo", "megatron-bridge", "megatron bridge"})) return Software::nemo;
    if (words.starts_with("hf ")) return Software::data_parallel;
    if (names_deepspeed(words)) return Software::megatron_deepspeed;
    if (any_of(words, {"megatron", "gpt2-meg", "megascale"})) return megatron_of(row, dated);
    if (any_of(words, {"torch", "llm-foundry", "tensorflow", "mxnet", "paddle", "oneflow", "horovod"}) ||
        calls_fused_attention(words))
        return Software::data_parallel;
    return Software::other;
}

/// BigScience's name of Megatron-LM 1.1.5 in DeepSpeedExamples, whose --bias-gelu-fusion and its like are off unless
/// asked for, and were not (logs in experiments/gpt2-meg-ds-zero and gpt2-meg-ds-3d-old).
bool is_megatron_1(const std::string& words) {
    if (any_of(words, {"meg-ds-zero", "meg-ds-3d-old"})) return true;
    return contains(words, "deepspeed") && contains(words, "old branch");
}

/// switches.framework, else the texts of the source.
std::string framework_words(const Row& row) {
    const std::string framework = row.words("switches.framework");
    return framework.empty() ? source_words(row) : framework;
}

}  // namespace

bool runs_first_zero_3(const Row& row, Software software) {
    constexpr int gathers_ahead = 2203;  // DeepSpeed 0.6.0
    const std::string framework = framework_words(row), sharding = row.words("sharding");
    if (!contains(sharding, "zero")) return false;
    const int date = date_of(fmt::format("{} {}", framework, source_words(row)));
    const bool named = names_deepspeed(framework + " " + sharding);
    if (date != undated) return date < gathers_ahead && (named || is_early_megatron(software));
    return named && contains(row.words("gpu"), "v100");
}

bool fuses_attention(const Row& row) { return calls_fused_attention(framework_words(row)); }

Software software_of(const Row& row) {
    const std::string framework = row.words("switches.framework"), source = source_words(row);
    const std::string dated = fmt::format("{} {}", framework, source);
    const Software named = from_words(row, framework, dated);
    if (named != Software::other) return named;
    const Software of_source = from_words(row, source, dated);
    if (of_source == Software::other && !framework.empty())
        throw Skip(fmt::format("framework not understood: {}", label(framework)));
    return of_source;
}

hardware::AttentionKernel attention_kernel_of(const Row& row, Software software) {
    using hardware::AttentionKernel;
    if (recipe_takes_flash_2(row)) return AttentionKernel::flash_2;
    // NeMo's containers name their months; that of February 2026 is the first behind cuDNN 9.17 of December 2025.
    if (software == Software::nemo && row.words("source.release") >= "26.02") return AttentionKernel::cudnn_9_17;
    if (software == Software::nemo || software == Software::megatron_core) return AttentionKernel::cudnn;
    // What PyTorch has, and its users installed beside it, was FlashAttention-2 when these rows were measured.
    const bool foundry = contains(framework_words(row), "llm-foundry");
    if (software == Software::data_parallel && !foundry) return AttentionKernel::flash_2;
    // LLM Foundry's benchmark script (scripts/train/benchmarking/submit_benchmarks.py) takes attn_impl triton in every
    // commit that added a table, from May 2023 to January 2024.
    return foundry ? AttentionKernel::flash_triton : AttentionKernel::newest;
}

strategies::CrossEntropy cross_entropy_of(const Row& row) {
    using strategies::CrossEntropy;
    return contains(framework_words(row), "llm-foundry") ? CrossEntropy::fused : CrossEntropy::in_place;
}

bool runs_on_dtensors(const Row& row) { return contains(framework_words(row), "torchtitan"); }

/// TorchTitan's Llama (models/llama3, of every version with a table).
bool rotates_complex_numbers(const Row& row) { return contains(framework_words(row), "torchtitan"); }

/// nanotron and InternEvo call FlashAttention's own functions, which do. foundation-model-stack expands them
/// (fms/modules/attention.py), as what PyTorch's own function takes has to be; others on it are taken to do the same.
bool takes_shared_heads(const Row& row, Software software) {
    return software != Software::data_parallel || any_of(framework_words(row), {"nanotron", "internevo"});
}

/// BERT as Google wrote it (modeling.py, attention_layer), and as NVIDIA, Hugging Face, PaddleNLP and OneFlow have it
/// after that; T5 and Llama as Hugging Face and PaddleNLP have them, and foundation-model-stack's Llama of March 2024.
/// One product they are in GluonNLP's BERT (DotProductSelfAttentionCell) and in the Llamas of nanotron (qkv_proj) and
/// InternEvo (wqkv); and all GPTs have one.
bool fuses_qkv(const Row& row, Software software, models::Family family) {
    using enum models::Family;
    if (software != Software::data_parallel || (family != bert && family != t5 && family != llama)) return true;
    return any_of(framework_words(row), {"mxnet", "nanotron", "internevo"});
}

/// nanotron has one (gate_up_proj).
bool fuses_gate(const Row& row, Software software) {
    return software != Software::data_parallel || contains(framework_words(row), "nanotron");
}

/// nanotron's is Triton's, InternEvo's apex's, PyTorch's own one kernel since 2.8, which torchtitan calls; others on
/// PyTorch write it as Llama's code does. What is not PyTorch fuses it unless the row says otherwise.
bool fuses_rms_norm(const Row& row, Software software) {
    if (const auto stated = row.flag("switches.use_fused_rms_norm")) return *stated;
    if (contains(row.words("switches.rms_norm_kernel"), "fused")) return true;
    if (software != Software::data_parallel) return true;
    const std::string words = framework_words(row);
    return any_of(words, {"nanotron", "internevo", "torchtitan"}) || !contains(words, "torch");
}

/// Megatron-LM joins a bias with GELU, and with SwiGLU, unless told otherwise. NeMo's squared ReLU is two operators of
/// PyTorch (nemo/collections/llm/fn/activation.py: "torch.jit.script # remove until we have serialization"; NemotronH's
/// is a lambda); Megatron-LM's, which Megatron-Bridge takes, is compiled (training/activations.py,
/// core/activations.py).
bool fuses_activation(const Row& row, Software software, const models::ModelSpec& model) {
    if (model.activation == models::ActivationKind::squared_relu)
        return software != Software::nemo || of_megatron_bridge(row);
    return !row.flag(model.gated ? "switches.no-bias-swiglu-fusion" : "switches.no-bias-gelu-fusion").value_or(false);
}

/// Wrap layers of PyTorch's own products by checkpoint_wrapper, which is its non-reentrant checkpoint: fms-fsdp
/// (policies/ac_handler.py), torchtitan (distributed/activation_checkpoint.py). NeMo AutoModel's products are
/// Transformer Engine's, which run to their end; LLM Foundry's tables are of before PyTorch 2.1 and behind it. JAX's
/// jax.checkpoint drops what nobody takes (jax/_src/ad_checkpoint.py, remat_dce), and XLA does.
bool stops_recomputing_early(const Row& row, Software software, strategies::Recompute recompute) {
    if (software == Software::jax) return recompute != strategies::Recompute::none;
    if (recompute != strategies::Recompute::full) return false;
    return any_of(framework_words(row), {"fms-fsdp", "torchtitan"}) && !contains(row.words("precision"), "8");
}

/// OneFlow's GPT joins scale, mask, softmax and dropout, bias and GELU, bias and dropout, and splits heads in a kernel
/// of its own unless told otherwise (OneFlow-Benchmark, LanguageModeling/GPT, config.py and args_pretrain_gpt.sh). XLA
/// fuses chains of operations up to the next reduction: about one kernel an operator. NVIDIA's DeepLearningExamples
/// train TensorFlow with it (run_pretraining_lamb.sh, use_xla).
strategies::KernelFusion kernel_fusion_of(const Row& row, Software software) {
    using strategies::KernelFusion;
    if (software == Software::other) return KernelFusion::operators;
    const std::string words = framework_words(row);
    if (software != Software::data_parallel) return is_megatron_1(words) ? KernelFusion::operators : KernelFusion::full;
    if (contains(words, "oneflow-gpt")) return KernelFusion::full;
    if (!contains(words, "tensorflow")) return KernelFusion::operators;
    const bool xla = contains(words, "xla") || contains(source_words(row), "deeplearningexamples");
    return xla ? KernelFusion::operators : KernelFusion::primitives;
}

/// TensorFlow's graph rewrite leaves what follows a mean or a power in fp32 up to the next product, and with it sums of
/// both (auto_mixed_precision_lists.h); DeepLearningExamples' BERT casts there itself (transformer.py, "Use float32 in
/// keras layer norm and the gelu activation"). PaddlePaddle's, where it rewrites a graph (its O2 does not), leaves
/// embeddings, GELUs and softmaxes there, and what follows them up to the next product (fp16_lists.py,
/// rewrite_program); convolutions, batch norms and ReLUs are in 16 bits.
bool widens_activations(const Row& row, Software software) {
    if (software != Software::data_parallel) return false;
    const std::string words = framework_words(row);
    if (contains(words, "tensorflow")) return true;
    const bool rewrites = contains(words, "paddle") && contains(row.words("precision"), "amp");
    return rewrites && !is_image_model(row);
}

hardware::Software dispatcher_of(const Row& row, Software software) {
    using hardware::Software::megatron_lm, hardware::Software::pytorch, hardware::Software::tensorflow,
        hardware::Software::transformer_engine;
    const bool local = row.words("switches.transformer-impl") == "local";
    switch (software) {
        case Software::megatron_core: return local ? megatron_lm : transformer_engine;
        case Software::nemo: return transformer_engine;
        case Software::jax: return tensorflow;
        case Software::data_parallel:
            return any_of(framework_words(row), {"torch", "llm-foundry"}) ? pytorch : tensorflow;
        case Software::megatron_2021:
        case Software::megatron_local:
        case Software::megatron_deepspeed:
        case Software::other: break;
    }
    return megatron_lm;
}

}  // namespace orrery::validate
