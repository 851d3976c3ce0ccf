#include "doors/megatron/launch.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "doors/convert.hpp"
#include "doors/shell/traced.hpp"

namespace orrery::doors::megatron {

namespace {

enum class Counts : std::uint8_t { nodes, gpus_per_node, gpus };

/// What launchers call their counts: torchrun, torch.distributed, srun, deepspeed, accelerate, mpirun.
struct LauncherFlag {
    std::string_view name;
    Counts counts;
};
constexpr std::array<LauncherFlag, 15> launcher_flags{{{"--nnodes", Counts::nodes},
                                                       {"--nproc_per_node", Counts::gpus_per_node},
                                                       {"--nproc-per-node", Counts::gpus_per_node},
                                                       {"--nodes", Counts::nodes},
                                                       {"-N", Counts::nodes},
                                                       {"--ntasks-per-node", Counts::gpus_per_node},
                                                       {"--gpus-per-node", Counts::gpus_per_node},
                                                       {"--num_nodes", Counts::nodes},
                                                       {"--num_gpus", Counts::gpus_per_node},
                                                       {"--num_machines", Counts::nodes},
                                                       {"--num_processes", Counts::gpus},
                                                       {"--ntasks", Counts::gpus},
                                                       {"-np", Counts::gpus},
                                                       {"-npernode", Counts::gpus_per_node},
                                                       {"-n", Counts::gpus}}};

/// Programs whose models no step is predicted of.
struct Program {
    std::string_view part, what;
};
constexpr std::array<Program, 9> programs{{{"pretrain_t5", "encoder-decoders are not imported yet"},
                                           {"pretrain_mamba", "state-space models are not imported yet"},
                                           {"pretrain_hybrid", "state-space models are not imported yet"},
                                           {"pretrain_retro", "retrieval is not predicted yet"},
                                           {"pretrain_realm", "retrieval is not predicted yet"},
                                           {"pretrain_ict", "retrieval is not predicted yet"},
                                           {"pretrain_vision", "vision models are not imported yet"},
                                           {"pretrain_vlm", "models of images and text are not imported yet"},
                                           {"multimodal", "models of images and text are not imported yet"}}};

constexpr std::array<std::string_view, 6> of_trainings{
    "num_layers", "hidden_size", "micro_batch_size", "global_batch_size", "seq_length", "tensor_model_parallel_size"};

bool is_program(std::string_view word) { return word.ends_with(".py"); }

void count(Counts what, const Argument& value, const std::string& flag, Draft& draft) {
    const auto number = whole_number(value.text);
    if (!number || *number == 0) return;  // "$NNODES", "auto", "1:4"
    Machines& machines = draft.machines;
    machines.origin = {value.place, flag};
    (what == Counts::nodes ? machines.nodes : what == Counts::gpus ? machines.gpus : machines.gpus_per_node) = number;
}

void read_launcher(std::span<const Argument> words, Draft& draft) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& text = words[i].text;
        const std::size_t equals = text.find('=');
        const auto* const flag = std::ranges::find(launcher_flags, text.substr(0, equals), &LauncherFlag::name);
        if (flag == launcher_flags.end()) continue;
        if (equals != std::string::npos)
            count(flag->counts, {text.substr(equals + 1), words[i].place}, text.substr(0, equals), draft);
        else if (i + 1 < words.size())
            count(flag->counts, words[i + 1], text, draft);
    }
}

/// torchrun's --nnodes is 1 unless it is given (torch/distributed/run.py).
void count_one_node(std::span<const Argument> words, Draft& draft) {
    const auto any = [&](const auto& is) { return std::ranges::any_of(words, is, &Argument::text); };
    const bool runs = any(
        [](const std::string& word) { return word.ends_with("torchrun") || word.starts_with("torch.distributed."); });
    const bool said = any([](const std::string& word) { return word.starts_with("--nnodes") || word == "srun"; });
    if (runs && !said && draft.machines.gpus_per_node && !draft.machines.nodes) draft.machines.nodes = 1;
}

}  // namespace

bool is_training(const std::vector<std::string>& words) {
    return std::ranges::any_of(words, [](const std::string& word) {
        return std::ranges::find(of_trainings, flag_name(word)) != of_trainings.end();
    });
}

std::vector<Argument> program_arguments(const std::vector<Argument>& words, Draft& draft) {
    const auto program = std::ranges::find_if(words, [](const Argument& word) { return is_program(word.text); });
    if (program == words.end()) {  // bare arguments, or a launch whose program is a variable
        const auto first = std::ranges::find_if(words, [](const Argument& word) { return is_training({word.text}); });
        const bool bare = words.empty() || !flag_name(words.front().text).empty();
        if (bare) return words;
        read_launcher({words.begin(), first}, draft);
        return {first, words.end()};
    }
    read_launcher({words.begin(), program}, draft);
    count_one_node({words.begin(), program}, draft);
    for (const Program& known : programs)
        if (program->text.find(known.part) != std::string::npos)
            draft.findings.refuse(program->place, program->text, std::string(known.what),
                                  "give the launch of a GPT, Llama or BERT");
    if (program->text.find("pretrain_bert") != std::string::npos)
        draft.set("/model/model_type", "bert", {program->place, program->text});
    return {program + 1, words.end()};
}

}  // namespace orrery::doors::megatron
