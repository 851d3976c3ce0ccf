// What is no full training step of a Transformer is named here, before anything is derived from it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "validate/map_row.hpp"

namespace orrery::validate {

namespace {

struct Family {
    std::string_view word;   ///< beginning of a word of the model's name, lower case
    std::string_view label;  ///< for the reason
};

constexpr Family unsupported[] = {
    {"vgg", "vgg"},
    {"u-net", "u-net"},
    {"unet", "u-net"},
    {"amoebanet", "amoebanet"},
    {"inception", "inception"},
    {"gnmt", "gnmt"},
    {"transformer-big", "encoder-decoder transformer"},
    {"m6", "m6"},
    {"diffusion", "diffusion"},
    {"flux", "diffusion"},
    {"multimodal", "multimodal"},
    {"llava", "multimodal"},
    {"dlrm", "dlrm"},
    {"switch", "encoder-decoder transformer"},
    {"gshard", "encoder-decoder transformer"},
};

constexpr std::string_view expert_models[] = {"moe", "mixtral", "grok", "dbrx"};

/// A switch of a table or a Megatron-LM argument that changes the work in a way the step program does not hold.
struct Unmodelled {
    const char* path;
    const char* reason;
};

constexpr Unmodelled arguments[] = {
    {"switches.mamba-int-list", "elastic training of several widths at once is not supported"},
    {"switches.fine-grained-activation-offloading", "offload of single activations is not supported"},
};

void check_family(const Row& row) {
    const std::string name = row.words("model.name");
    for (const Family& family : unsupported)
        if (begins_word(name, family.word)) throw Skip(fmt::format("model family not supported: {}", family.label));
}

void check_task(const Row& row) {
    if (contains(row.words("model.name"), "distill")) throw Skip("a second model teaches: distillation");
    const std::string task = row.words("switches.task");
    if (contains(task, "infer") || contains(task, "generat")) throw Skip("not a training step");
}

/// nanotron's tensor ranks pass parts of a product's input round by Python's calls, whose host time grows with their
/// number (src/nanotron/parallel/tensor_parallel, tp_linear_async_communication).
void check_tensor_ranks(const Row& row) {
    const bool ring = contains(row.words("switches.framework") + source_words(row), "nanotron");
    if (ring && row.count("tp").value_or(1) > 1)
        throw Skip("products in a ring of nanotron's tensor ranks are not supported");
}

/// What map_strategy.cpp reads: a row's own columns, or "full".
void check_offload(const Row& row) {
    if (row.flag("switches.Opt Offl") || row.flag("switches.Par Offl")) return;
    if (row.flag("switches.cpu_offload").value_or(false)) throw Skip("offload is not supported");
    const std::string offload = row.words("switches.offload");
    if (offload.empty() || offload == "none" || offload == "n" || offload == "no" || contains(offload, "full")) return;
    throw Skip("offload is not supported");
}

bool is_set(const Row& row, const char* path) {
    const nlohmann::json* value = row.find(path);
    if (value == nullptr) return false;
    if (value->is_boolean()) return value->get<bool>();
    return !(value->is_number() && value->get<double>() == 0);
}

}  // namespace

bool names_experts(const Row& row) {
    const std::string name = row.words("model.name");
    return std::ranges::any_of(expert_models, [&](std::string_view word) { return begins_word(name, word); });
}

void check_supported(const Row& row) {
    if (const nlohmann::json* flags = row.find("flags"); flags != nullptr && !flags->empty())
        throw Skip("row contradicts itself (flags)");
    check_task(row);
    check_family(row);
    check_tensor_ranks(row);
    for (const Unmodelled& argument : arguments)
        if (is_set(row, argument.path)) throw Skip(argument.reason);
    check_offload(row);
}

}  // namespace orrery::validate
