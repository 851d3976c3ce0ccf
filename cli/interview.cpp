#include "cli/interview.hpp"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "models/catalog.hpp"
#include "topology/catalog.hpp"

namespace orrery::cli {

namespace {

using scenarios::UsualKeys;

std::uint32_t whole(const std::string& text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value == 0)
        throw Error(fmt::format("\"{}\" is no whole number from 1 on", text), "write digits alone");
    return value;
}

std::string one_of(const std::string& text, const std::vector<std::string_view>& names, const char* list) {
    for (const std::string_view name : names)
        if (name == text) return text;
    throw Error(fmt::format("\"{}\" is not among them", text),
                fmt::format("nearest: {}; `orrery list {}` names all", join(nearest(text, names, 2)), list));
}

std::string known_model(const std::string& text) {
    std::vector<std::string_view> names;
    for (const models::ModelSpec& model : models::catalog()) names.push_back(model.name);
    return one_of(text, names, "models");
}

std::string known_cluster(const std::string& text) {
    std::vector<std::string_view> names;
    for (const topology::Preset& preset : topology::presets()) names.push_back(preset.name);
    return one_of(text, names, "clusters");
}

struct Question {
    const char *text, *otherwise;
    std::function<void(UsualKeys&, const std::string&)> take;
};

std::function<void(UsualKeys&, const std::string&)> number(const char* key) {
    return [key](UsualKeys& keys, const std::string& text) { keys.set(key, std::to_string(whole(text))); };
}

}  // namespace

void ask(UsualKeys& keys, std::istream& in, std::ostream& out) {
    const Question questions[] = {
        {"model, of `orrery list models`", "llama3-8b",
         [](UsualKeys& k, const std::string& text) { k.set("model", known_model(text)); }},
        {"cluster, of `orrery list clusters`", "dgx-h100",
         [](UsualKeys& k, const std::string& text) { k.set("cluster", known_cluster(text)); }},
        {"GPUs, in whole nodes, or a part of one", "64",
         [](UsualKeys& k, const std::string& text) {
             UsualKeys tried = k;
             tried.set_gpus(whole(text));
             (void)tried.scenario("answers");
             k = tried;
         }},
        {"tensor-parallel ranks", "1", number("tensor")},
        {"pipeline stages", "1", number("pipeline")},
        {"sequences of a micro-batch", "1", number("micro-batch")},
        {"sequences of a step", "128", number("global-batch")},
        {"tokens of a sequence", "8192", number("seq-length")},
    };
    for (const Question& question : questions) {
        while (true) {
            out << fmt::format("{} [{}]: ", question.text, question.otherwise) << std::flush;
            std::string answer;
            if (!std::getline(in, answer))
                throw Error(fmt::format("no answer to \"{}\"", question.text),
                            "answer, or say it with options: --model llama3-8b --cluster dgx-h100 --gpus 64");
            answer = trimmed(answer);
            try {
                question.take(keys, answer.empty() ? question.otherwise : answer);
                break;
            } catch (const Error& error) {
                out << "  " << error.what() << '\n';
            }
        }
    }
}

}  // namespace orrery::cli
