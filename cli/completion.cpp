#include "cli/completion.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace orrery::cli {

namespace {

struct Choice {
    std::string name;  ///< "--fold", or a command's
    std::string what;
    std::vector<std::string> words;  ///< that it takes; empty: anything, or nothing
};

/// One command: what may follow it.
struct Node {
    std::string path;  ///< "", "simulate", "calibrate show"
    std::vector<Choice> commands, options;
};

std::vector<std::string> names(const std::vector<Choice>& choices) {
    std::vector<std::string> all;
    for (const Choice& each : choices) all.push_back(each.name);
    return all;
}

/// The words of "HOW:{auto,off,verify}".
std::vector<std::string> words_of(const std::string& type) {
    const std::size_t open = type.find('{'), close = type.find('}');
    std::vector<std::string> words;
    if (open == type.npos || close == type.npos) return words;
    std::string word;
    for (const char c : type.substr(open + 1, close - open - 1))
        if (c == ',')
            words.push_back(std::exchange(word, {}));
        else
            word += c;
    words.push_back(word);
    return words;
}

/// On one line, and without what shells read as their own; an apostrophe becomes a typographic one.
std::string plain(const std::string& described) {
    std::string text;
    for (const char c : described) {
        if (c == '\'')
            text += "\u2019";
        else if (c != '`' && c != '"' && c != '\\' && c != '$')
            text += c == '\n' ? ' ' : c;
    }
    return text;
}

void add_nodes(const CLI::App& command, const std::string& path, std::vector<Node>& nodes) {
    Node node{path, {}, {}};
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_positional()) continue;
        const auto add = [&](const std::string& name) {
            node.options.push_back({name, plain(option->get_description()), words_of(option->get_type_name())});
        };
        for (const std::string& name : option->get_lnames()) add("--" + name);
        for (const std::string& name : option->get_snames()) add("-" + name);
    }
    const auto all = command.get_subcommands([](const CLI::App*) { return true; });
    for (const CLI::App* each : all) node.commands.push_back({each->get_name(), plain(each->get_description()), {}});
    nodes.push_back(std::move(node));
    for (const CLI::App* each : all) add_nodes(*each, path + (path.empty() ? "" : " ") + each->get_name(), nodes);
}

/// 'simulate'|'calibrate show': every command, as patterns of a shell's case.
std::string patterns(const std::vector<Node>& nodes) {
    std::string text;
    for (const Node& node : nodes)
        if (!node.path.empty()) text += fmt::format("{}'{}'", text.empty() ? "" : "|", node.path);
    return text;
}

/// Lines of a case: for each option that takes known words, `act` with them.
template <class Act>
std::string word_cases(const std::vector<Node>& nodes, const Act& act) {
    std::string text;
    for (const Node& node : nodes)
        for (const Choice& option : node.options)
            if (!option.words.empty())
                text += fmt::format("        '{} {}') {} ;;\n", node.path, option.name, act(join(option.words, " ")));
    return text;
}

std::string bash(const std::string& name, const std::vector<Node>& nodes) {
    const std::string function = '_' + plain(name);
    std::string text =
        fmt::format(R"sh(# Completion of {0} for bash: {0} --completion bash
{1}() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} at= word commands= options= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${{at:+$at }}${{COMP_WORDS[i]}}"
        case $word in {2}) at=$word ;; esac
    done
    case "$at $before" in
{3}    esac
    case $at in
)sh",
                    name, function, patterns(nodes), word_cases(nodes, [](const std::string& words) {
                        return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$current\")); return", words);
                    }));
    for (const Node& node : nodes)
        text += fmt::format("        '{}') commands='{}' options='{}' ;;\n", node.path, join(names(node.commands), " "),
                            join(names(node.options), " "));
    return text + fmt::format(R"sh(    esac
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    elif [[ -n $commands ]]; then
        COMPREPLY=($(compgen -W "$commands" -- "$current"))
    else
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}}
complete -o filenames -F {1} {0}
)sh",
                              name, function);
}

/// 'name:what' for zsh's _describe, whose names have no colon.
std::string described(const std::vector<Choice>& choices) {
    std::string text;
    for (const Choice& each : choices) text += fmt::format(" '{}:{}'", each.name, each.what);
    return text;
}

std::string zsh(const std::string& name, const std::vector<Node>& nodes) {
    std::string text = fmt::format(R"sh(#compdef {0}
# Completion of {0} for zsh: {0} --completion zsh
_{0}() {{
    local at= word
    local -i i
    local -a commands options
    for ((i = 2; i < CURRENT; i++)); do
        word="${{at:+$at }}${{words[i]}}"
        case $word in ({1}) at=$word ;; esac
    done
    case "$at ${{words[CURRENT-1]}}" in
{2}    esac
    case $at in
)sh",
                                   name, patterns(nodes), word_cases(nodes, [](const std::string& words) {
                                       return fmt::format("compadd -- {}; return", words);
                                   }));
    for (const Node& node : nodes)
        text += fmt::format("        '{}')\n            commands=({})\n            options=({}) ;;\n", node.path,
                            described(node.commands), described(node.options));
    return text + fmt::format(R"sh(    esac
    if [[ $PREFIX == -* ]]; then
        _describe -o option options
    elif (( $#commands )); then
        _describe command commands
    else
        _files
    fi
}}
_{0} "$@"
)sh",
                              name);
}

std::string fish(const std::string& name, const std::vector<Node>& nodes) {
    std::string paths = patterns(nodes);
    std::ranges::replace(paths, '|', ' ');
    const std::string function = "__" + name + "_at";
    std::string text = fmt::format(R"sh(# Completion of {0} for fish: {0} --completion fish
function {1}
    set -l at
    for word in (commandline -opc)[2..-1]
        if contains -- (string join ' ' -- $at $word) {2}
            set -a at $word
        end
    end
    test "$at" = "$argv"
end
)sh",
                                   name, function, paths);
    for (const Node& node : nodes) {
        const std::string here = fmt::format("complete -c {} -n \"{} {}\"", name, function, node.path);
        for (const Choice& each : node.commands) text += fmt::format("{} -fa {} -d '{}'\n", here, each.name, each.what);
        for (const Choice& each : node.options) {
            const bool is_long = each.name.starts_with("--");
            const std::string words = each.words.empty() ? "" : fmt::format(" -xa '{}'", join(each.words, " "));
            text += fmt::format("{} {} {} -d '{}'{}\n", here, is_long ? "-l" : "-s", each.name.substr(is_long ? 2 : 1),
                                each.what, words);
        }
    }
    return text;
}

}  // namespace

std::string completion(const CLI::App& program, std::string_view shell) {
    std::vector<Node> nodes;
    add_nodes(program, "", nodes);
    if (shell == "bash") return bash(program.get_name(), nodes);
    if (shell == "zsh") return zsh(program.get_name(), nodes);
    return fish(program.get_name(), nodes);
}

void add_completion(CLI::App& program) {
    program
        .add_option_function<std::string>(
            "--completion",
            [&program](const std::string& shell) { throw CLI::CallForVersion(completion(program, shell), 0); },
            "print what makes this shell complete commands and options")
        ->check(CLI::IsMember({"bash", "zsh", "fish"}))
        ->type_name("SHELL");
}

}  // namespace orrery::cli
