// A launch script, or bare arguments, of Megatron-LM.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/read_file.hpp"
#include "doors/convert.hpp"
#include "doors/megatron/arguments.hpp"
#include "doors/megatron/flags.hpp"
#include "doors/megatron/launch.hpp"
#include "doors/megatron/rules.hpp"
#include "doors/readers.hpp"
#include "doors/shell/sbatch.hpp"
#include "doors/shell/script.hpp"

namespace orrery::doors {

namespace {

using megatron::Argument;

constexpr std::uint64_t most_script_bytes = std::uint64_t{1} << 20U;

std::vector<std::string> texts_of(const shell::Launch& launch) {
    std::vector<std::string> texts;
    for (const shell::Traced& word : launch) texts.push_back(word.text());
    return texts;
}

/// A script may sweep over several: the first that says the model is meant.
const shell::Launch& chosen(const std::vector<shell::Launch>& launches) {
    const auto found = std::ranges::find_if(launches, [](const shell::Launch& launch) {
        return std::ranges::any_of(
            launch, [](const shell::Traced& word) { return megatron::flag_name(word.text()) == "num_layers"; });
    });
    return found == launches.end() ? launches.front() : *found;
}

/// What #SBATCH says of machines, where srun starts the program and its own options do not say it.
void count_slurm(const Request& request, std::string_view script, const std::vector<Argument>& words, Draft& draft) {
    const auto starts = [&](std::string_view part) {
        return std::ranges::any_of(words, [&](const Argument& word) { return word.text.find(part) != word.text.npos; });
    };
    if (std::ranges::find(words, "srun", &Argument::text) == words.end() || draft.machines.gpus) return;
    const std::vector<shell::SlurmVariable> said = shell::slurm_variables(script);
    const auto take = [&](const std::string& variable, std::optional<std::uint64_t>& to) {
        const auto found = std::ranges::find(said, variable, &shell::SlurmVariable::name);
        if (to || found == said.end()) return;
        const auto defined = request.defines.find(variable);
        const auto number = whole_number(defined == request.defines.end() ? found->value : defined->second);
        if (!number || *number == 0) return;
        to = number;
        draft.machines.origin = {{request.file, std::to_string(found->line)}, "#SBATCH"};
    };
    take("SLURM_NNODES", draft.machines.nodes);
    take("SLURM_GPUS_ON_NODE", draft.machines.gpus_per_node);
    const bool launched = starts("torchrun") || starts("nproc") || starts("torch.distributed") || starts("accelerate");
    if (!launched) take("SLURM_NTASKS_PER_NODE", draft.machines.gpus_per_node);  // a task is a GPU
}

/// The arguments behind the program of the launch that a script holds.
std::vector<Argument> script_arguments(const Request& request, Draft& draft) {
    const std::string text = read_file(request.file, "the path of a launch script", most_script_bytes);
    const shell::Script script = shell::read_script(
        text, request.defines, [](const shell::Launch& launch) { return megatron::is_training(texts_of(launch)); });
    for (const shell::Remark& remark : script.remarks)
        draft.findings.not_modelled({request.file, std::to_string(remark.line)}, "", remark.what, remark.remedy);
    if (script.launches.empty()) {
        draft.hopeless = true;
        draft.findings.refuse({request.file, ""}, "", "starts no training that could be found in it",
                              "give the script that calls torchrun, deepspeed or python with the arguments of the "
                              "training, or these themselves behind --");
        return {};
    }
    std::vector<Argument> words;
    for (const shell::Traced& word : chosen(script.launches))
        words.push_back({word.text(), {request.file, std::to_string(word.line())}});
    if (script.launches.size() > 1)
        draft.findings.not_modelled(
            words.front().place, "",
            fmt::format("one of the {} launches of the script is read: that of this line", script.launches.size()),
            "--define the variables that choose another, or give its arguments behind --");
    std::vector<Argument> arguments = megatron::program_arguments(words, draft);
    count_slurm(request, text, words, draft);
    return arguments;
}

}  // namespace

void read_megatron(const Request& request, Draft& draft) {
    std::vector<Argument> words;
    if (!request.file.empty()) words = script_arguments(request, draft);
    std::vector<Argument> bare;
    for (std::size_t i = 0; i < request.arguments.size(); ++i)
        bare.push_back({request.arguments[i], {"arguments", std::to_string(i + 1)}});
    if (request.file.empty()) bare = megatron::program_arguments(bare, draft);
    words.insert(words.end(), bare.begin(), bare.end());
    if (words.empty()) return;
    const Givens givens = megatron::read_arguments(words, megatron::flags(), draft);
    apply(megatron::flags(), givens, draft);
    megatron::read_model(givens, draft);
    megatron::read_vocabulary(givens, draft);
    megatron::read_experts(givens, draft);
    megatron::read_parallelism(givens, draft);
    megatron::read_overlap(givens, draft);
    megatron::read_recomputation(givens, draft);
    megatron::read_training(givens, draft);
}

}  // namespace orrery::doors
