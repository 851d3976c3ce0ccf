#include "tests/scenarios/bad_scenarios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "scenarios/document.hpp"
#include "scenarios/keys.hpp"

namespace orrery::scenarios {

namespace {

using nlohmann::json;

/// A change to the sound document: the value at a pointer, as JSON text; an empty text removes the key.
struct Change {
    std::string pointer, text;
};

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

std::string pointer_of(const Key& key) { return child_pointer(pointer(key.place), key.name); }

/// A value of the wrong kind, and how messages show it.
struct Wrong {
    std::string text, shown;
};

const std::vector<Wrong>& wrong_values(Kind kind) {
    static const std::vector<Wrong> object{
        {"7", "7"}, {"\"x\"", "x"}, {"[]", "[]"}, {"null", "null"}, {"true", "true"}};
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
    static const std::vector<Wrong> tokens{{"\"300X\"", "300X"}, {"\"-1B\"", "-1B"}, {"-5", "-5"},
                                           {"0", "0"},           {"true", "true"},   {"\"many\"", "many"},
                                           {"null", "null"},     {"1e19", "1e+19"}};
    switch (kind) {
        case Kind::object: return object;
        case Kind::text: return text;
        case Kind::boolean: return boolean;
        case Kind::integer: return integer;
        case Kind::number: return number;
        case Kind::choice: return choice;
        case Kind::bytes: return bytes;
        case Kind::rate: return rate;
        case Kind::tokens: return tokens;
    }
    return object;
}

void add_wrong_kinds(std::vector<BadScenario>& all) {
    for (const Key& key : keys()) {
        for (const Wrong& wrong : wrong_values(key.kind)) {
            const std::string at = pointer_of(key);
            all.push_back({file_name(fmt::format("{}-is-{}", at.substr(1), wrong.text)), changed({{at, wrong.text}}),
                           at, wrong.shown, true});
        }
    }
}

void add_missing(std::vector<BadScenario>& all) {
    for (const Key& key : keys()) {
        if (!key.required) continue;
        const std::string at = pointer_of(key);
        all.push_back({file_name("missing-" + at.substr(1)), changed({{at, ""}}), at, std::string(key.name), true});
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
                                            "/model/num_local_experts",
                                            "/model/n_laye",
                                            "/cluster/node",
                                            "/cluster/gpus",
                                            "/cluster/nic_speed",
                                            "/cluster/Preset",
                                            "/strategy/tensr",
                                            "/strategy/tensor-model-parallel-size",
                                            "/strategy/zero_stage",
                                            "/strategy/expert_model_parallel_size",
                                            "/strategy/context_parallel_size",
                                            "/strategy/pipline",
                                            "/strategy/micro_batch_size",
                                            "/strategy/a~1b",
                                            "/training/batch",
                                            "/training/seq",
                                            "/training/lr",
                                            "/training/tensor",
                                            "/outputs/trace",
                                            "/outputs/token_budgets"};
    for (const std::string& at : pointers) {
        const std::string key = json::json_pointer(at).back();
        all.push_back({file_name("unknown-" + at.substr(1)), changed({{at, "1"}}), at, key, true});
    }
}

void add_both_spellings(std::vector<BadScenario>& all) {
    const json sound = sound_scenario();
    for (const Alias& alias : aliases()) {
        const json::json_pointer plain(child_pointer(pointer(alias.place), alias.name));
        const std::string other = child_pointer(pointer(alias.place), alias.spelling);
        const std::string value = sound.contains(plain) ? sound[plain].dump() : "1";
        all.push_back({file_name("twice-" + other.substr(1)),
                       changed({{plain.to_string(), value}, {other, alias.is_switch() ? "true" : value}}), "?",
                       std::string(alias.spelling), false});
        // The reader meets keys in alphabetical order: the fault lies at the later one.
        all.back().expected_pointer = child_pointer(pointer(alias.place), std::max(alias.spelling, alias.name));
    }
}

/// Values that are well formed and contradict each other, the model or the machine.
struct Clash {
    std::string name;
    std::vector<Change> changes;
    std::string pointer, mention;
};

const std::vector<Clash>& clashes() {
    static const std::vector<Clash> table{
        {"tensor-3-of-16-heads",
         {{"/strategy/tensor", "3"}, {"/strategy/data", "1"}},
         "/strategy/tensor",
         "3 does not"},
        {"tensor-beyond-cluster", {{"/strategy/tensor", "32"}}, "/strategy/tensor", "64"},
        {"pipeline-beyond-cluster", {{"/strategy/pipeline", "24"}}, "/strategy/pipeline", "96"},
        {"data-beyond-cluster", {{"/strategy/data", "5"}}, "/strategy/data", "40"},
        {"pipeline-5-of-24-layers", {{"/strategy/pipeline", "5"}, {"/strategy/data", "1"}}, "/strategy/pipeline", "5"},
        {"layers-not-divisible", {{"/model/num_hidden_layers", "23"}}, "/strategy/pipeline", "23"},
        {"data-not-derivable", {{"/strategy/pipeline", "3"}, {"/strategy/data", ""}}, "/strategy/data", "32"},
        {"batch-below-slice", {{"/training/global_batch_size", "4"}}, "/training/global_batch_size", "4"},
        {"batch-not-divisible", {{"/training/global_batch_size", "63"}}, "/training/global_batch_size", "63"},
        {"micro-batch-not-divisible", {{"/training/micro_batch_size", "3"}}, "/training/global_batch_size", "64"},
        {"chunks-under-1f1b",
         {{"/strategy/virtual_pipeline", "2"}, {"/strategy/schedule", "\"1f1b\""}},
         "/strategy/virtual_pipeline",
         "2"},
        {"chunks-under-gpipe",
         {{"/strategy/virtual_pipeline", "3"}, {"/strategy/schedule", "\"gpipe\""}},
         "/strategy/virtual_pipeline",
         "3"},
        {"chunks-not-dividing", {{"/strategy/virtual_pipeline", "5"}}, "/strategy/virtual_pipeline", "5"},
        {"chunks-without-stages",
         {{"/strategy/virtual_pipeline", "2"}, {"/strategy/pipeline", "1"}},
         "/strategy/virtual_pipeline",
         "2"},
        {"interleaving-odd-micro-batches",
         {{"/strategy/virtual_pipeline", "2"}, {"/training/global_batch_size", "24"}},
         "/training/global_batch_size",
         "24"},
        {"overlap-p2p-without-chunks", {{"/strategy/overlap_p2p", "true"}}, "/strategy/overlap_p2p", "true"},
        {"param-gather-without-zero1", {{"/strategy/sharding", "\"none\""}}, "/strategy/overlap_param_gather", "true"},
        {"param-gather-without-grad-overlap",
         {{"/strategy/overlap_grad_reduce", "false"}},
         "/strategy/overlap_param_gather",
         "true"},
        {"recompute-layers-without-full",
         {{"/strategy/recompute_num_layers", "2"}},
         "/strategy/recompute_num_layers",
         "2"},
        {"recompute-more-than-chunk",
         {{"/strategy/recompute", "\"full\""}, {"/strategy/recompute_num_layers", "13"}},
         "/strategy/recompute_num_layers",
         "13"},
        {"bucket-too-small", {{"/strategy/bucket_size", "\"1 B\""}}, "/strategy/bucket_size", "1 B"},
        {"bucket-too-large", {{"/strategy/bucket_size", "\"9 PB\""}}, "/strategy/bucket_size", "9 PB"},
        {"bucket-overflow", {{"/strategy/bucket_size", "\"1e300 MB\""}}, "/strategy/bucket_size", "1e300"},
        {"seq-beyond-positions", {{"/training/seq_length", "4096"}}, "/training/seq_length", "4096"},
        {"seq-not-divisible", {{"/training/seq_length", "2047"}}, "/training/seq_length", "2047"},
        {"fp16-gradients-beside-bf16",
         {{"/training/grad_reduce_precision", "\"fp16\""}},
         "/training/grad_reduce_precision",
         "fp16"},
        {"bf16-gradients-beside-fp16",
         {{"/training/precision", "\"fp16\""}, {"/training/grad_reduce_precision", "\"bf16\""}},
         "/training/grad_reduce_precision",
         "bf16"},
        {"half-gradients-beside-fp32",
         {{"/training/precision", "\"fp32\""}, {"/training/grad_reduce_precision", "\"fp16\""}},
         "/training/grad_reduce_precision",
         "fp16"},
        {"fp8-on-a100", {{"/training/precision", "\"fp8\""}}, "/training/precision", "fp8"},
        {"bf16-on-v100", {{"/cluster", R"({"preset": "dgx-1v", "nodes": 4})"}}, "/training/precision", "bf16"},
        {"tf32-on-v100",
         {{"/cluster", R"({"preset": "dgx-1v", "nodes": 4})"}, {"/training/precision", "\"tf32\""}},
         "/training/precision",
         "tf32"},
        {"fp16-and-bf16",
         {{"/training/precision", ""}, {"/training/fp16", "true"}, {"/training/bf16", "true"}},
         "/training/fp16",
         "bf16"},
        {"switch-not-boolean",
         {{"/strategy/sharding", ""}, {"/strategy/use_distributed_optimizer", "\"zero1\""}},
         "/strategy/use_distributed_optimizer",
         "zero1"},
        {"unknown-model", {{"/model/name", "\"gpt5-900b\""}}, "/model/name", "gpt5-900b"},
        {"unknown-model-of-4000-letters", {{"/model/name", '"' + std::string(4000, 'g') + '"'}}, "/model/name", "gggg"},
        {"text-too-long", {{"/name", '"' + std::string(5000, 'n') + '"'}}, "/name", "nnnn"},
        {"control-character", {{"/model/name", "\"gpt3\\u0000-1.3b\""}}, "/model/name", "gpt3"},
        {"line-break-in-name", {{"/name", "\"two\\nlines\""}}, "/name", "two"},
        {"model-named-twice", {{"/model/hugging_face", "\"models/gpt2.json\""}}, "/model/name", "gpt3-1.3b"},
        {"hugging-face-missing",
         {{"/model", R"({"hugging_face": "no/such/config.json"})"}},
         "/model/hugging_face",
         "no/such/config.json"},
        {"hugging-face-folder", {{"/model", R"({"hugging_face": "."})"}}, "/model/hugging_face", "."},
        {"family-of-a-known-model", {{"/model/model_type", "\"llama\""}}, "/model/model_type", "llama"},
        {"empty-model", {{"/model", "{}"}}, "/model/num_hidden_layers", "num_hidden_layers"},
        {"custom-without-heads",
         {{"/model", R"({"num_hidden_layers": 24, "hidden_size": 2048, "vocab_size": 32000})"}},
         "/model/num_attention_heads",
         "num_attention_heads"},
        {"custom-without-vocab",
         {{"/model", R"({"num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 16})"}},
         "/model/vocab_size",
         "vocab_size"},
        {"custom-without-positions",
         {{"/model", R"({"num_layers": 24, "n_embd": 2048, "n_head": 16, "vocab_size": 32000})"}},
         "/model/max_position_embeddings",
         "max_position_embeddings"},
        {"llama-without-ffn",
         {{"/model",
           R"({"model_type": "llama", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 16, "vocab_size": 1000})"}},
         "/model/intermediate_size",
         "intermediate_size"},
        {"heads-not-dividing-hidden", {{"/model/num_attention_heads", "17"}}, "/model/num_attention_heads", "17"},
        {"groups-not-dividing-heads", {{"/model/num_key_value_heads", "3"}}, "/model/num_key_value_heads", "3"},
        {"more-groups-than-heads", {{"/model/num_query_groups", "32"}}, "/model/num_query_groups", "32"},
        {"groups-below-tensor", {{"/model/num_key_value_heads", "2"}}, "/strategy/tensor", "2 key-value heads"},
        {"ffn-not-divisible", {{"/model/intermediate_size", "8190"}}, "/strategy/tensor", "8190"},
        {"odd-head-under-rope",
         {{"/model/head_dim", "63"}, {"/model/position_embedding_type", "\"rope\""}},
         "/model/head_dim",
         "63"},
        {"causal-bert-head", {{"/model/mlm_head", "true"}}, "/model/mlm_head", "causal"},
        {"post-norm-and-parallel-residual",
         {{"/model/post_norm", "true"}, {"/model/use_parallel_residual", "true"}},
         "/model/use_parallel_residual",
         "post_norm"},
        {"window-without-causal",
         {{"/model/sliding_window", "1024"}, {"/model/causal", "false"}},
         "/model/sliding_window",
         "window"},
        {"seq-beyond-window", {{"/model/sliding_window", "1024"}}, "/training/seq_length", "2048"},
        {"unknown-preset", {{"/cluster/preset", "\"superpod-a200\""}}, "/cluster/preset", "superpod-a200"},
        {"unknown-gpu", {{"/cluster/gpu", "\"RTX-3090\""}}, "/cluster/gpu", "RTX-3090"},
        {"more-nodes-than-the-fabric", {{"/cluster/nodes", "131072"}}, "/cluster/nodes", "131072"},
        {"micro-batch-too-many-tokens",
         {{"/training/micro_batch_size", "65536"}, {"/training/global_batch_size", "262144"}},
         "/training/micro_batch_size",
         "65536"},
        {"too-many-micro-batches",
         {{"/training/global_batch_size", "16000000"}},
         "/training/global_batch_size",
         "16000000"},
    };
    return table;
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
    add("comment", "// GPT-3\n" + sound, "", "line 1");
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
    add("large", "{\"name\": \"" + std::string(17U << 20U, 'x') + "\"}", "", "16 MiB");
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
    add_both_spellings(all);
    add_clashes(all);
    add_raw(all);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].name = fmt::format("{:03}-{}", i, all[i].name);
    return all;
}

}  // namespace orrery::scenarios
