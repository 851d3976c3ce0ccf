// Input that nobody means well with: read or refused, never more.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/doors/importing.hpp"

namespace orrery::doors {
namespace {

Request somewhere() {
    Request request;
    request.gpu = "A100";
    request.gpus = 8;
    return request;
}

/// Whether it ends as bad input does: refused with a remedy for each problem, or an Error with a hint.
void expect_bad(std::string_view importer, const std::string& text) {
    try {
        const Imported read = imported(importer, text, somewhere());
        EXPECT_TRUE(read.refused());
        for (const Finding& each : read.findings)
            EXPECT_TRUE(each.verdict != Verdict::refused || !each.remedy.empty()) << each.what;
    } catch (const Error& error) {
        EXPECT_FALSE(std::string(error.hint()).empty()) << error.what();
    }
}

TEST(Hostile, TextsOfNoKind) {
    const std::vector<std::string> texts{
        "",
        "\n",
        std::string(1, '\0'),
        "\xff\xfe",
        "\x01NAME\x02",
        "{",
        "}",
        "[[[[",
        "\"",
        "'",
        "`",
        "$(",
        "${",
        "$((",
        "A=(",
        "if",
        "case x in",
        "<<EOF",
        "f() {",
        "--",
        "-- --",
        "---",
        "=",
        "&&&&",
        ";;",
        "|||",
        "${a[}",
        "${#}",
        "${!x}",
        "torchrun pretrain_gpt.py --num-layers",
        "python x.py --num-layers 99999999999999999999 --hidden-size -1",
        "torchrun --nnodes 99999999999 --nproc_per_node 99999999999 a.py --num-layers 1",
        "{\"a\": 1e999}",
        "a: *b",
        "? :",
        "[a]\n[a]",
        "x = 1979-05-27",
        "model: 3",
        "model: {num_layers: {a: b}}",
        "[training]\nseq_len = -1",
        "!!binary x: y",
        "&a [*a]",
        "%YAML 9.9",
        "{\"zero_optimization\": 7}",
        "{\"fp16\": [1]}",
        "[model]\nname = 3\nflavor = [1]"};
    for (const std::string& text : texts)
        for (const Importer& importer : importers()) {
            SCOPED_TRACE(std::string(importer.name) + ": " + text);
            expect_bad(importer.name, text);
        }
}

TEST(Hostile, DepthAndLength) {
    for (const char* part :
         {"(", "$(", "${a:-", "\"$(", "if ", "{ ", "[", "a: {", "f() { ", "$((", "((", "! ", "[[ ("}) {
        std::string text;
        for (int i = 0; i < 20000; ++i) text += part;
        for (const Importer& importer : importers()) {
            SCOPED_TRACE(std::string(importer.name) + ": " + part);
            expect_bad(importer.name, text);
        }
    }
    expect_bad("megatron", std::string((1U << 20U) + 1, 'x'));
}

TEST(Hostile, MoreThanAnybodyWrites) {
    std::string flags = "torchrun pretrain_gpt.py --num-layers 2", keys = "model:\n", sums = "a0: 1\n";
    for (int i = 0; i < 60000; ++i) flags += " --flag" + std::to_string(i);
    for (int i = 0; i < 20000; ++i) keys += "  key" + std::to_string(i) + ": 1\n";
    for (int i = 1; i < 12; ++i) {
        sums += "a" + std::to_string(i) + ": \"${add:";
        for (int k = 0; k < 40; ++k) sums += (k > 0 ? ",${a" : "${a") + std::to_string(i - 1) + "}";
        sums += "}\"\n";
    }
    expect_bad("megatron", flags);
    expect_bad("nemo", keys);
    expect_bad("nemo", sums);
    const std::string same(300000, 'a');
    expect_bad("megatron", "A=" + same + "\nif [[ $A == *" + same + "b ]]; then X=1; fi\n");
}

TEST(Hostile, CountsThatOverflow) {
    const Imported read = of_arguments(
        "--num-layers 8192 --hidden-size 1048576 --num-attention-heads 4096 --seq-length 4194304 "
        "--max-position-embeddings 4194304 --micro-batch-size 16777216 --make-vocab-size-divisible-by "
        "18446744073709551615 --pipeline-model-parallel-size 8192 --num-layers-per-virtual-pipeline-stage 1 "
        "--ddp-bucket-size 18446744073709551615 --bf16");
    EXPECT_TRUE(read.refused());
}

}  // namespace
}  // namespace orrery::doors
