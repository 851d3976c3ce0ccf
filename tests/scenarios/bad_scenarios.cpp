#include "tests/scenarios/bad_scenarios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "documents/message.hpp"
#include "scenarios/keys.hpp"
#include "tests/scenarios/clashes.hpp"

namespace orrery::scenarios {

namespace {

using documents::child_pointer;
using documents::Key;
using documents::Kind;
using documents::Section;
using documents::Spelling;
using nlohmann::json;

/// The document with the changes made; texts that nlohmann::json cannot hold ("1e999") survive as they are.
std::string changed(const std::vector<Change>& changes) {
    json document = sound_scenario();
    std::vector<std::string> texts;
    for (const Change& change : changes) {
        const json::json_pointer pointer(change.pointer);
        if (change.text.empty()) {
            document.at(pointer.parent_pointer()).erase(pointer.back());
        } else {
            document[pointer] = fmt::format("@{}@", texts.size());
            texts.push_back(change.text);
        }
    }
    std::string bytes = document.dump(4);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::string mark = fmt::format("\"@{}@\"", i);
        bytes.replace(bytes.find(mark), mark.size(), texts[i]);
    }
    return bytes;
}

std::string file_name(std::string text) {
    std::ranges::replace_if(
        text, [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '_'; }, '-');
    return text.substr(0, 60);
}

/// In a list of objects its first.
std::string pointer_of(const Section& section, const Key& key) {
    return child_pointer(std::string(section.pointer) + (section.in_list ? "/0" : ""), key.name);
}

/// What a key's object must hold for the key to be read.
std::vector<Change> around(const Section& section, const Key& key) {
    if (!section.in_list) return {};
    if (section.name == "scopes") {
        if (key.name == "of") return {{"/strategy/scopes/0/replica", "2"}};
        const Change pipeline{"/strategy/scopes/0/auto_parallel", "\"pipeline\""};
        if (key.name == "num_stages") return {pipeline};
        if (key.name == "num_micro_batch" || key.name == "strategy")
            return {pipeline, {"/strategy/scopes/0/num_stages", "2"}};
        return {};
    }
    return {{key.required ? "/other_jobs/0/first_gpu" : "/other_jobs/0/scenario", key.required ? "0" : "\"a.json\""}};
}

/// A value of the wrong kind, and how messages show it.
struct Wrong {
    std::string text, shown;
};

const std::vector<Wrong>& wrong_values(Kind kind) {
    static const std::vector<Wrong> object{
        {"7", "7"}, {"\"x\"", "x"}, {"[]", "[]"}, {"null", "null"}, {"true", "true"}};
    static const std::vector<Wrong> objects{{"7", "7"}, {"\"x\"", "x"}, {"{}", "{}"}, {"null", "null"}};
    static const std::vector<Wrong> nested{{"7", "7"}, {"null", "null"}, {"true", "true"}, {"[]", "[]"}};
    static const std::vector<Wrong> text{{"5", "5"},   {"true", "true"},        {"null", "null"}, {"[\"a\"]", "list"},
                                         {"{}", "{}"}, {"{\"a\": 1}", "\"a\""}, {"\"\"", "\"\""}};
    static const std::vector<Wrong> boolean{{"1", "1"},         {"0", "0"},   {"\"true\"", "true"}, {"null", "null"},
                                            {"\"yes\"", "yes"}, {"[]", "[]"}, {"{}", "{}"}};
    static const std::vector<Wrong> integer{{"\"8\"", "8"},
                                            {"1.5", "1.5"},
                                            {"-1", "-1"},
                                            {"true", "true"},
                                            {"null", "null"},
                                            {"[]", "[]"},
                                            {"{}", "{}"},
                                            {"1e30", "1e+30"},
                                            {"99999999999999999999", "1e+20"},
                                            {"-9223372036854775808", "-9223372036854775808"},
                                            {"18446744073709551615", "18446744073709551615"}};
    static const std::vector<Wrong> number{{"\"0.5\"", "0.5"}, {"-0.5", "-0.5"}, {"1e300", "1e+300"},
                                           {"null", "null"},   {"true", "true"}, {"[]", "[]"}};
    static const std::vector<Wrong> choice{{"\"\"", "\"\""}, {"\"best\"", "best"}, {"1", "1"},
                                           {"null", "null"}, {"true", "true"},     {"[]", "[]"}};
    static const std::vector<Wrong> bytes{{"160", "160"},           {"\"160\"", "160"},   {"\"-1 MB\"", "-1 MB"},
                                          {"\"160 Mb/s\"", "Mb/s"}, {"\"160 XB\"", "XB"}, {"\"MB\"", "MB"},
                                          {"true", "true"},         {"null", "null"},     {"\"nan MB\"", "nan"}};
    static const std::vector<Wrong> rate{
        {"200", "200"},          {"\"200\"", "200"},   {"\"200 GB\"", "200 GB"}, {"\"-200 Gb/s\"", "-200"},
        {"\"200 s\"", "200 s"},  {"\"fast\"", "fast"}, {"null", "null"},         {"\"inf Gb/s\"", "inf"},
        {"2e11", "200000000000"}};
    static const std::vector<Wrong> duration{{"5", "5"},         {"\"5\"", "5"},       {"\"-5 min\"", "-5"},
                                             {"\"5 GB\"", "GB"}, {"\"soon\"", "soon"}, {"null", "null"},
                                             {"true", "true"},   {"\"inf s\"", "inf"}};
    static const std::vector<Wrong> tokens{{"\"300X\"", "300X"}, {"\"-1B\"", "-1B"}, {"-5", "-5"},
                                           {"0", "0"},           {"true", "true"},   {"\"many\"", "many"},
                                           {"null", "null"},     {"1e19", "1e+19"}};
    static const std::vector<Wrong> texts{
        {"\"leaf 3\"", "leaf 3"}, {"3", "3"}, {"[3]", "3"}, {"[\"\"]", "empty"}, {"null", "null"}};
    static const std::vector<Wrong> integers{{"\"3,4,6,3\"", "3,4,6,3"}, {"3", "3"},   {"[]", "0 entries"},
                                             {"[3, 4]", "2 entries"},    {"{}", "{}"}, {"null", "null"}};
    static const std::vector<Wrong> named_texts{
        {"3", "3"},      {"[\"a100\"]", "text"}, {"\"\"", "empty"}, {"null", "null"},
        {"{}", "empty"}, {"{\"A100\": 3}", "3"}, {"true", "true"},  {"{\"A100\": \"\"}", "empty"}};
    switch (kind) {
        case Kind::object: return object;
        case Kind::objects: return objects;
        case Kind::nested: return nested;
        case Kind::text: return text;
        case Kind::texts: return texts;
        case Kind::named_texts: return named_texts;
        case Kind::numbers: break;  // no key of a scenario
        case Kind::integers: return integers;
        case Kind::boolean: return boolean;
        case Kind::integer: return integer;
        case Kind::number: return number;
        case Kind::choice: return choice;
        case Kind::bytes: return bytes;
        case Kind::rate: return rate;
        case Kind::tokens: return tokens;
        case Kind::duration: return duration;
    }
    return object;
}

void add_wrong_kinds(std::vector<BadScenario>& all) {
    for (const Section& section : sections())
        for (const Key& key : section.keys)
            for (const Wrong& wrong : wrong_values(key.kind)) {
                const std::string at = pointer_of(section, key);
                std::vector<Change> changes = around(section, key);
                changes.push_back({at, wrong.text});
                all.push_back({file_name(fmt::format("{}-is-{}", at.substr(1), wrong.text)), changed(changes), at,
                               wrong.shown, true});
            }
}

void add_missing(std::vector<BadScenario>& all) {
    for (const Section& section : sections())
        for (const Key& key : section.keys) {
            if (!key.required) continue;
            const std::string at = pointer_of(section, key);
            std::vector<Change> changes = around(section, key);
            if (changes.empty()) changes.push_back({at, ""});
            all.push_back({file_name("missing-" + at.substr(1)), changed(changes), at, std::string(key.name), true});
        }
}

/// The nearest neighbour of every key, which is none.
void add_misspelt(std::vector<BadScenario>& all) {
    for (const Section& section : sections())
        for (const Key& key : section.keys) {
            const std::string at = pointer_of(section, key) + "_";
            std::vector<Change> changes = around(section, key);
            changes.push_back({at, "1"});
            all.push_back(
                {file_name("misspelt-" + at.substr(1)), changed(changes), at, fmt::format("\"{}_\"", key.name), true});
        }
}

void add_unknown(std::vector<BadScenario>& all) {
    const std::vector<std::string> pointers{"/modle",
                                            "/Model",
                                            "/1",
                                            "/parallelism",
                                            "/training_steps",
                                            "/model/layers",
                                            "/model/hiddensize",
                                            "/model/experts",
                                            "/model/n_laye",
                                            "/cluster/node",
                                            "/cluster/gpus",
                                            "/cluster/nic_speed",
                                            "/cluster/Preset",
                                            "/strategy/tensr",
                                            "/strategy/tensor-model-parallel-size",
                                            "/strategy/zero_stage",
                                            "/strategy/expert_parallel",
                                            "/strategy/expert_parallel_size",
                                            "/strategy/pipline",
                                            "/strategy/micro_batch_size",
                                            "/strategy/a~1b",
                                            "/strategy/scopes/0/devices",
                                            "/strategy/scopes/0/replicate",
                                            "/strategy/scopes/0/tensor",
                                            "/training/batch",
                                            "/training/seq",
                                            "/training/lr",
                                            "/training/tensor",
                                            "/outputs/trace",
                                            "/outputs/token_budgets",
                                            "/other_jobs/0/gpus"};
    for (const std::string& at : pointers) {
        const std::string key = json::json_pointer(at).back();
        all.push_back({file_name("unknown-" + at.substr(1)), changed({{at, "1"}}), at, key, true});
    }
}

void add_both_spellings(std::vector<BadScenario>& all) {
    const json sound = sound_scenario();
    for (const Section& section : sections())
        for (const Key& key : section.keys)
            for (const Spelling& spelling : key.spellings()) {
                const json::json_pointer plain(child_pointer(section.pointer, key.name));
                const std::string other = child_pointer(section.pointer, spelling.name);
                const std::string value = sound.contains(plain) ? sound[plain].dump() : "1";
                all.push_back({file_name("twice-" + other.substr(1)),
                               changed({{plain.to_string(), value}, {other, spelling.is_switch() ? "true" : value}}),
                               "?", std::string(spelling.name), false});
                // The reader meets keys in alphabetical order: the fault lies at the later one.
                all.back().expected_pointer = child_pointer(section.pointer, std::max(spelling.name, key.name));
            }
}

void add_clashes(std::vector<BadScenario>& all) {
    for (const Clash& clash : clashes()) {
        all.push_back({clash.name, changed(clash.changes), clash.pointer, clash.mention, false});
    }
}

/// Files that are no JSON document of a scenario at all.
void add_raw(std::vector<BadScenario>& all) {
    const std::string sound = sound_scenario().dump(4);
    const auto add = [&all](std::string name, std::string bytes, std::string pointer, std::string mention) {
        all.push_back({std::move(name), std::move(bytes), std::move(pointer), std::move(mention), true});
    };
    add("empty", "", "", "empty");
    add("blanks", " \n\t\r\n ", "", "blanks");
    add("text", "tensor: 8\npipeline: 8\n", "", "line 1");
    add("xml", "<scenario><tensor>8</tensor></scenario>", "", "line 1");
    add("number", "42", "", "42");
    add("string", "\"gpt3-175b\"", "", "gpt3-175b");
    add("null", "null", "", "null");
    add("list", "[" + sound + "]", "", "list");
    add("empty-object", "{}", "/model", "model");
    add("two-documents", sound + "\n" + sound, "", "line");
    add("trailing-text", sound + " tail", "", "ta'");
    add("trailing-comma", "{\"model\": {\"name\": \"gpt2\"},}", "", "line 1");
    add("comment", "# GPT-3\n" + sound, "", "line 1");
    add("single-quotes", "{'model': 1}", "", "line 1");
    add("unquoted-key", "{model: 1}", "", "line 1");
    add("nan", "{\"seed\": NaN}", "", "line 1");
    add("infinity", "{\"seed\": -Infinity}", "", "line 1");
    add("hexadecimal", "{\"seed\": 0x10}", "", "line 1");
    add("leading-zero", "{\"seed\": 007}", "", "line 1");
    add("number-overflow", changed({{"/seed", "1e999"}}), "", "1e999");
    add("long-number", changed({{"/seed", std::string(100000, '9')}}), "", "9999");
    add("unterminated-string", "{\"name\": \"GPT", "", "line 1");
    add("bad-escape", R"({"name": "\q"})", "", "line 1");
    add("lone-surrogate", R"({"name": "\ud800"})", "", "line 1");
    add("bad-utf8", "{\"name\": \"\xFF\xFE\xC0\"}", "", "\\xFF");
    add("latin-1", "{\"name\": \"Z\xFCrich\"}", "", "\\xFC");
    add("overlong-utf8", "{\"name\": \"\xC0\xAF\"}", "", "\\xC0");
    add("utf16-le", std::string("\xFF\xFE{\0}\0", 6), "", "UTF-16");
    add("utf16-be", std::string("\xFE\xFF\0{\0}", 6), "", "UTF-16");
    add("utf32", std::string("\xFF\xFE\0\0{\0\0\0}\0\0\0", 12), "", "UTF-16");
    add("nul-inside", std::string("{\"name\"\0: 1}", 12), "", "NUL");
    add("nul-only", std::string(64, '\0'), "", "NUL");
    add("elf",
        std::string("\x7F"
                    "ELF\x02\x01\x01\0\0\0\0\0",
                    12),
        "", "NUL");
    add("gzip", std::string("\x1F\x8B\x08\0\0\0\0\0", 8), "", "NUL");
    add("png", "\x89PNG\r\n\x1A\n", "", "\\x89");
    add("deep-lists", std::string(100000, '['), "", "64");
    add(
        "deep-objects",
        [] {
            std::string bytes;
            for (int i = 0; i < 20000; ++i) bytes += "{\"a\":";
            return bytes;
        }(),
        "", "64");
    add("large", "{\"name\": \"" + std::string(17U << 20U, 'x') + "\"}", "", "16.0 MiB");
    for (std::size_t cut = 1; cut < sound.size(); cut += sound.size() / 16) {
        add("truncated-at-" + std::to_string(cut), sound.substr(0, cut), "", "line");
    }
    // A repeated key is no fault of the parsed document: a schema cannot see it.
    const auto repeat = [&all](std::string name, std::string bytes, std::string pointer, std::string mention) {
        all.push_back({std::move(name), std::move(bytes), std::move(pointer), std::move(mention), false});
    };
    repeat("repeated-section", R"({"model": {"name": "gpt2"}, "model": {"name": "gpt2-xl"}})", "/model", "model");
    repeat("repeated-key", R"({"strategy": {"tensor": 2, "data": 1, "tensor": 4}})", "/strategy/tensor", "tensor");
    repeat("repeated-escaped", R"({"seed": 1, "s\u0065ed": 2})", "/seed", "seed");
}

}  // namespace

json sound_scenario() {
    return json::parse(R"({
        "name": "sound",
        "model": {"name": "gpt3-1.3b"},
        "cluster": {"preset": "superpod-a100", "nodes": 4},
        "strategy": {"tensor": 4, "pipeline": 2, "data": 4, "sequence_parallel": true, "sharding": "zero1",
                     "overlap_grad_reduce": true, "overlap_param_gather": true},
        "training": {"seq_length": 2048, "micro_batch_size": 2, "global_batch_size": 64, "precision": "bf16"},
        "seed": 7,
        "outputs": {"token_budget": "300B"}
    })");
}

std::vector<BadScenario> bad_scenarios() {
    std::vector<BadScenario> all;
    add_wrong_kinds(all);
    add_missing(all);
    add_unknown(all);
    add_misspelt(all);
    add_both_spellings(all);
    add_clashes(all);
    add_raw(all);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].name = fmt::format("{:03}-{}", i, all[i].name);
    return all;
}

}  // namespace orrery::scenarios
