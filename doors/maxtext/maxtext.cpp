// MaxText: a YAML of its keys (configs/base.yml, or what lies over it), and words KEY=VALUE of its command line.
#include "doors/maxtext/maxtext.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "doors/convert.hpp"
#include "doors/documents/flatten.hpp"
#include "doors/readers.hpp"

namespace orrery::doors {

namespace {

constexpr std::string_view estimate = "compare with a measurement before you rely on the difference";

/// The last word on a key counts, and those of the command line come last (pyconfig.py).
Givens givens_of(const Request& request, Draft& draft) {
    Givens given;
    if (!request.file.empty()) given = flattened(read_yaml(request.file), request.file);
    for (const std::string& word : request.arguments) {
        const std::size_t equals = word.find('=');
        const Origin origin{{"arguments", ""}, word.substr(0, equals)};
        if (equals == std::string::npos || equals == 0)
            draft.findings.unknown(origin.place, origin.name, "write KEY=VALUE, as in per_device_batch_size=4");
        else
            given.add({word.substr(0, equals), yaml_value(word.substr(equals + 1)), origin});
    }
    return given;
}

/// Weights are fp32 unless weight_dtype says otherwise, cast to dtype before they are gathered; states follow them.
void read_precision(const Givens& given, Draft& draft) {
    const Given* const computed = given.find("dtype");
    const std::string dtype = computed == nullptr ? "bfloat16" : text_of(computed->value);
    const Origin origin = computed == nullptr ? draft.whole_file() : computed->origin;
    draft.set("/training/precision", dtype == "float32" ? "fp32" : dtype == "float16" ? "fp16" : "bf16", origin);
    const Given* const weights = given.find("weight_dtype");
    if (weights != nullptr && text_of(weights->value) == "bfloat16" && dtype == "bfloat16")
        draft.set("/training/master_weights", false, weights->origin);
    if (const Given* const states = given.find("mu_dtype");
        states != nullptr && !text_of(states->value).empty() && (weights == nullptr || states->value != weights->value))
        draft.findings.not_modelled(states->origin.place, states->origin.name,
                                    "the first moments are as wide as the weights", std::string(estimate));
    if (given.text("grad_dtype") == "bfloat16")
        draft.set("/training/grad_reduce_precision", "bf16", given.find("grad_dtype")->origin);
    const Given* const quantization = given.find("quantization");
    const std::string kind = quantization == nullptr ? "" : text_of(quantization->value);
    if (kind.empty()) return;
    if (kind.find("fp8") != std::string::npos) return draft.set("/training/precision", "fp8", quantization->origin);
    draft.findings.refuse(quantization->origin.place, quantization->origin.name,
                          fmt::format("products of {} are not modelled", kind),
                          "leave it out for bf16, or fp8 where the chip has it");
}

void read_optimizer(const Givens& given, Draft& draft) {
    if (const Given* const optimizer = given.find("opt_type")) {
        const std::string name = text_of(optimizer->value);
        if (name.starts_with("adam"))
            draft.set("/training/optimizer", "adam", optimizer->origin);
        else
            set_key("/training/optimizer", *optimizer, draft);
    }
    if (const Given* const norm = given.find("gradient_clipping_threshold"))
        set_key("/training/clip_grad", *norm, draft);
}

/// Experts by megablox take the tokens that come; with a capacity they are padded to it.
void read_experts(const Givens& given, Draft& draft) {
    const Given* const capacity = given.find("capacity_factor");
    if (capacity == nullptr || real_number(capacity->value).value_or(-1) <= 0) return;
    set_key("/training/moe_expert_capacity_factor", *capacity, draft);
    draft.set("/training/moe_pad_expert_input_to_capacity", true, capacity->origin);
}

void read_layers(const Givens& given, Draft& draft) {
    const auto joined = [&](const char* name, const char* pointer) {
        const Given* const said = given.find(name);
        draft.set(pointer, given.is_on(name), said == nullptr ? draft.whole_file() : said->origin);
    };
    joined("fused_qkv", "/training/fuse_attention_qkv");
    joined("fused_mlp", "/training/fuse_attention_ffn");
    if (const Given* const attention = given.find("attention")) {
        const std::string kind = text_of(attention->value);
        if (kind == "dot_product") draft.set("/training/fused_attention", false, attention->origin);
        if (kind.starts_with("cudnn")) draft.set("/training/attention_kernel", "cudnn", attention->origin);
    }
    if (const Given* const tiles = given.find("num_vocab_tiling"); tiles != nullptr && tiles->value != 1)
        set_key("/training/loss_chunks", *tiles, draft);
    const Given* const rate = given.find("dropout_rate");
    draft.set("/training/dropout", 0.0, draft.whole_file());
    if (rate != nullptr && given.text("enable_dropout") != "false" && real_number(rate->value).value_or(0) > 0)
        set_key("/training/dropout", *rate, draft);
}

}  // namespace

namespace {

/// Every key of MaxText's has a default: what names none is some other file.
bool is_maxtext(const Givens& given, Draft& draft) {
    const auto known = [](const Given& each) { return find_row(maxtext::keys(), each.name) != nullptr; };
    if (std::ranges::any_of(given.all(), known)) return true;
    draft.hopeless = true;
    const Place place = draft.whole_file().place;
    draft.findings.refuse(place, "", "names no key of MaxText's", "write model_name and per_device_batch_size");
    return false;
}

}  // namespace

void read_maxtext(const Request& request, Draft& draft) {
    const Givens given = givens_of(request, draft);
    if (!is_maxtext(given, draft)) return;
    apply(maxtext::keys(), given, draft);
    maxtext::read_model(request, given, draft);
    maxtext::read_batch(given, maxtext::read_mesh(request, given, draft), draft);
    maxtext::read_remat(given, draft);
    read_layers(given, draft);
    read_precision(given, draft);
    read_optimizer(given, draft);
    read_experts(given, draft);
    draft.set("/training/software", "jax", draft.whole_file());
    draft.set("/training/cross_entropy_loss_fusion", true, draft.whole_file());  // XLA joins it
    constexpr std::uint64_t usual_length = 2048;                                 // configs/base.yml
    if (const Given* const tokens = given.find("max_target_length"))
        set_key("/training/seq_length", *tokens, draft);
    else
        draft.set("/training/seq_length", usual_length, draft.whole_file());
}

}  // namespace orrery::doors
