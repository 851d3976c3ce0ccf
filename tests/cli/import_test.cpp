// orrery import, and orrery simulate of what it writes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

struct Example {
    const char* name;
    Arguments import;
    int gpus;
};

class Imports : public testing::TestWithParam<Example> {};

TEST_P(Imports, BecomeScenariosThatAreSimulated) {
    const Folder folder;
    const std::string scenario = folder / "imported.json";
    Arguments arguments{"import"};
    arguments.insert(arguments.end(), GetParam().import.begin(), GetParam().import.end());
    arguments.insert(arguments.end(), {"--out", scenario});
    const Result imported = orrery(arguments);
    ASSERT_EQ(imported.exit, 0) << imported.err;
    EXPECT_EQ(imported.out, scenario + ": orrery simulate " + scenario + '\n');
    const Result simulated = orrery({"simulate", scenario, "--json", "-"});
    ASSERT_EQ(simulated.exit, 0) << simulated.err;
    const Json prediction = Json::parse(simulated.out);
    EXPECT_GT(prediction.at("step_time_s").get<double>(), 0.01);
    EXPECT_EQ(prediction.at("gpu_kinds").at(0).at("gpus"), GetParam().gpus);
}

INSTANTIATE_TEST_SUITE_P(
    Examples, Imports,
    testing::Values(Example{"megatron", {"megatron", "doors/examples/gpt-1.7b.sh", "--cluster", "dgx-a100"}, 32},
                    Example{"deepspeed",
                            {"deepspeed", "doors/examples/ds_zero2.json", "--gpu", "A100", "--gpus", "64", "--model",
                             "scenarios/models/llama2-7b.json", "--set", "training.seq_length=2048"},
                            64},
                    Example{"hf",
                            {"hf", "scenarios/models/gpt2.json", "--gpu", "H100", "--gpus", "8", "--set",
                             "training.seq_length=1024", "--set", "training.global_batch_size=64"},
                            8},
                    Example{"torchtitan", {"torchtitan", "doors/examples/llama3-8b.toml", "--cluster", "dgx-h100"}, 64},
                    Example{"maxtext", {"maxtext", "doors/examples/llama2-70b-maxtext.yml", "--strict"}, 128},
                    Example{"nemo", {"nemo", "doors/examples/gpt3-5b.yaml", "--cluster", "dgx-a100", "--strict"}, 128}),
    [](const auto& test) { return std::string(test.param.name); });

const Arguments bare{"--num-layers",
                     "24",
                     "--hidden-size",
                     "2048",
                     "--num-attention-heads",
                     "16",
                     "--seq-length",
                     "1024",
                     "--max-position-embeddings",
                     "1024",
                     "--micro-batch-size",
                     "2",
                     "--bf16",
                     "--lr",
                     "1e-4",
                     "--use-sharp",
                     "--fly"};

Result import_bare(Arguments options, const Arguments& more = {}) {
    Arguments arguments{"import", "megatron", "--gpu", "A100", "--gpus", "8"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.emplace_back("--");
    arguments.insert(arguments.end(), bare.begin(), bare.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return orrery(arguments);
}

TEST(Import, TakesBareArgumentsAndWritesToStandardOutput) {
    const Result result = import_bare({});
    ASSERT_EQ(result.exit, 0) << result.err;
    const Json scenario = Json::parse(result.out);
    EXPECT_EQ(scenario.at("model").at("hidden_size"), 2048);
    EXPECT_EQ(scenario.at("training").at("global_batch_size"), 16);
    EXPECT_NE(result.err.find("note: arguments: no effect on time or memory: --lr"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("arguments:16: not modelled: --use-sharp"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("arguments:17: unknown: --fly"), std::string::npos) << result.err;
}

TEST(Import, StrictRefusesWhatIsNotModelledOrUnknown) {
    const Result result = import_bare({"--strict"});
    EXPECT_EQ(result.exit, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find("orrery: error: arguments:16: --use-sharp"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("orrery: error: arguments:17: --fly"), std::string::npos) << result.err;
}

TEST(Import, SaysEveryProblemWithPlaceAndRemedyAndLeavesNoFile) {
    const Folder folder;
    const std::string script = folder.file("train.sh",
                                           "torchrun --nnodes $NODES --nproc_per_node 8 pretrain_gpt.py \\\n"
                                           "  --num-layers 24 --hidden-size 2048 --num-attention-heads sixteen \\\n"
                                           "  --context-parallel-size four --micro-batch-size $MBS --bf16\n");
    const Result result = orrery({"import", "megatron", script, "--cluster", "dgx-h100", "--out", folder / "out.json"});
    EXPECT_EQ(result.exit, 2);
    EXPECT_EQ(result.out, "");
    for (const char* word : {":2: --num-attention-heads: sixteen", ":3: --context-parallel-size: four",
                             ":3: --micro-batch-size: its value is $MBS", "--define MBS=VALUE",
                             "--seq-length is not given", "on how many GPUs"})
        EXPECT_NE(result.err.find(word), std::string::npos) << word << " is missing from\n" << result.err;
    std::size_t errors = 0, hints = 0;
    for (std::size_t at = 0; (at = result.err.find("orrery: error: ", at)) != std::string::npos; ++at) ++errors;
    for (std::size_t at = 0; (at = result.err.find("\n  hint: ", at)) != std::string::npos; ++at) ++hints;
    EXPECT_EQ(errors, hints) << result.err;
    EXPECT_EQ(folder.names(), Arguments{"train.sh"});
}

TEST(Import, TakesDefinitionsAndArgumentsBehindTheScript) {
    const Result result = orrery({"import", "megatron", "doors/examples/gpt-1.7b.sh", "--gpu", "H100", "--define",
                                  "NNODES=2", "--name", "mine", "--", "--recompute-granularity", "full"});
    ASSERT_EQ(result.exit, 0) << result.err;
    const Json scenario = Json::parse(result.out);
    EXPECT_EQ(scenario.at("name"), "mine");
    EXPECT_EQ(scenario.at("cluster").at("nodes"), 2);
    EXPECT_EQ(scenario.at("strategy").at("recompute"), "full") << "the later word counts";
}

TEST(Import, RefusesWrongUse) {
    const Folder folder;
    const std::string file = folder.file("x.json", "{}");
    for (const Arguments& arguments : {Arguments{"import"},
                                       {"import", "megatron"},
                                       {"import", "excel", file},
                                       {"import", "nemo", folder / "missing.yaml"},
                                       {"import", "nemo", folder / ""},
                                       {"import", "hf", file, "too", "many"},
                                       {"import", "hf", file, "--out", file},
                                       {"import", "hf", file, "--gpus", "0"},
                                       {"import", "hf", file, "--set", "x"},
                                       {"import", "megatron", file, "--define", "=1"},
                                       {"import", "megatron", file, "--define", "A=1", "--define", "A=2"}}) {
        const Result result = orrery(arguments);
        EXPECT_EQ(result.exit, 2) << result.err;
        EXPECT_EQ(result.out, "");
        EXPECT_NE(result.err.find("\n  hint: "), std::string::npos) << result.err;
    }
}

}  // namespace
}  // namespace orrery::cli
