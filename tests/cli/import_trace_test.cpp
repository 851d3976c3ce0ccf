// orrery import torch-trace, and orrery compare with what it writes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

constexpr const char* trace = "doors/examples/gpt2-trace.json.gz";

/// The training that the example pretends to be.
Arguments simulate(const std::string& profile, const std::string& out) {
    return {"simulate",
            "--model",
            "gpt2",
            "--cluster",
            "dgx-a100",
            "--gpus",
            "8",
            "--set",
            "model.num_layers=2",
            "--set",
            "profile=" + profile,
            "--micro-batch",
            "4",
            "--global-batch",
            "32",
            "--seq-length",
            "1024",
            "--operations",
            "--json",
            out};
}

TEST(ImportTrace, BecomesAMeasurementThatIsCompared) {
    const Folder folder;
    const std::string measured = folder / "measured.json", predicted = folder / "predicted.json";
    const Result imported = orrery({"import", "torch-trace", trace, "--out", measured});
    ASSERT_EQ(imported.exit, 0) << imported.err;
    EXPECT_NE(imported.out.find("2 of ProfilerStep#3 to ProfilerStep#4"), std::string::npos) << imported.out;
    ASSERT_EQ(orrery(simulate("a100", predicted)).exit, 0);
    const Result compared =
        orrery({"compare", predicted, measured, "--tolerance", "90", "--json", "-", "--html", folder / "page.html"});
    ASSERT_EQ(compared.exit, 0) << compared.err;
    const Json comparison = Json::parse(compared.out);
    Json by_name;
    for (const Json& group : comparison.at("operations"))
        by_name[group.at("name").get<std::string>() + ' ' + group.at("kind").get<std::string>()] = group;
    for (const char* name : {"layer 0 (forward) gemm", "layer 1 (backward) attention", "layer 1 (backward) gemm",
                             "outside of layers (backward) gemm", "communication communication"}) {
        ASSERT_TRUE(by_name.contains(name)) << name << " is missing from\n" << by_name.dump(1);
        EXPECT_GT(by_name.at(name).at("predicted"), 0) << name;
        EXPECT_GT(by_name.at(name).at("measured"), 0) << name;
    }
    EXPECT_NE(content_of(folder / "page.html").find("layer 0 (forward)"), std::string::npos);
}

TEST(ImportTrace, AddsProductsToAProfileThatPredictsWithThem) {
    const Folder folder;
    const std::string profile = folder / "mine.json";
    const Result imported = orrery({"import", "torch-trace", trace, "--out", folder / "measured.json", "--profile",
                                    "a100", "--profile-out", profile});
    ASSERT_EQ(imported.exit, 0) << imported.err;
    EXPECT_NE(imported.out.find("15 products of the trace"), std::string::npos) << imported.out;
    const Json made = Json::parse(content_of(profile));
    EXPECT_EQ(made.at("name"), "mine");
    EXPECT_EQ(made.at("batched_gemm").size(), 3U) << "one for each pass";
    EXPECT_EQ(made.at("batched_gemm").at(0).at("provenance").at("origin"), "torch.profiler, gpt2-trace.json.gz");
    ASSERT_EQ(orrery(simulate(profile, folder / "with.json")).exit, 0);
    ASSERT_EQ(orrery(simulate("a100", folder / "without.json")).exit, 0);
    const auto gemm = [&](const char* file) {
        return Json::parse(content_of(folder / file)).at("breakdown_s").at("gemm").get<double>();
    };
    EXPECT_NE(gemm("with.json"), gemm("without.json"));
}

TEST(ImportTrace, RefusesWrongUse) {
    const Folder folder;
    const std::string text = folder.file("x.json", "{\"traceEvents\": [");
    for (const Arguments& arguments :
         {Arguments{"import", "torch-trace"},
          {"import", "torch-trace", folder / "missing.json"},
          {"import", "torch-trace", folder / ""},
          {"import", "torch-trace", text},
          {"import", "torch-trace", trace, "--out", trace},
          {"import", "torch-trace", trace, "--profile", "a100"},
          {"import", "torch-trace", trace, "--profile-out", folder / "p.json"},
          {"import", "torch-trace", trace, "--profile", "h100", "--profile-out", folder / "p.json"}}) {
        const Result result = orrery(arguments);
        EXPECT_EQ(result.exit, 2) << result.err;
        EXPECT_EQ(result.out, "");
        EXPECT_NE(result.err.find("\n  hint: "), std::string::npos) << result.err;
    }
    EXPECT_EQ(folder.names(), Arguments{"x.json"});
}

}  // namespace
}  // namespace orrery::cli
