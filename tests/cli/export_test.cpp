// orrery export chakra.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Arguments = std::vector<std::string>;

TEST(Export, WritesAFileForEachRankAndTheGroups) {
    const Folder folder;
    const Arguments command{"export", "chakra",          "scenarios/gpt-tiny-cpu.json",
                            "--set",  "strategy.data=2", "--global-batch",
                            "8",      "--out",           folder / "new/chakra"};
    const Result result = orrery(command);
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_NE(result.out.find("2 ranks"), std::string::npos) << result.out;
    const std::string first = content_of(folder / "new/chakra/step.0.et");
    EXPECT_GT(first.size(), 1000U);
    EXPECT_EQ(first.substr(0, 8), std::string("\x07\x0a\x05", 3) + "0.0.4") << "GlobalMetadata";
    EXPECT_GT(content_of(folder / "new/chakra/step.1.et").size(), 1000U);
    EXPECT_TRUE(nlohmann::json::parse(content_of(folder / "new/chakra/groups.json")).is_object());
    ASSERT_EQ(orrery(command).exit, 0) << "files of the same command are replaced";
    EXPECT_EQ(content_of(folder / "new/chakra/step.0.et"), first);
}

TEST(Export, RefusesAFolderWithRanksOfALargerStep) {
    const Folder folder;
    const auto exported = [&](const char* data, const char* name) {
        return orrery({"export", "chakra", "scenarios/gpt-tiny-cpu.json", "--set", std::string("strategy.data=") + data,
                       "--global-batch", "8", "--name", name, "--out", folder / "chakra"});
    };
    ASSERT_EQ(exported("2", "step").exit, 0);
    const std::string first = content_of(folder / "chakra/step.0.et");
    const Result fewer = exported("1", "step");
    EXPECT_EQ(fewer.exit, 2);
    EXPECT_NE(fewer.err.find("holds step.1.et of ranks that this step of 1 has not"), std::string::npos) << fewer.err;
    EXPECT_EQ(content_of(folder / "chakra/step.0.et"), first) << "nothing was written";
    EXPECT_EQ(exported("1", "ste").exit, 0) << "another name is another step";
    EXPECT_EQ(exported("2", "step").exit, 0);
}

TEST(Export, WritesSomeRanksOfALargeJob) {
    const Folder folder;
    const Result result = orrery({"export", "chakra", "scenarios/gpt3-175b-superpod-a100.json", "--rank", "0", "--rank",
                                  "1023", "--name", "gpt3", "--out", folder / "chakra"});
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_GT(content_of(folder / "chakra/gpt3.1023.et").size(), 1'000'000U);
    const auto groups = nlohmann::json::parse(content_of(folder / "chakra/groups.json"));
    EXPECT_EQ(groups.at("1").size(), 8U) << "tensor-parallel ranks";
}

TEST(Export, RefusesWhatCannotBeWritten) {
    const Folder folder;
    const std::string file = folder.file("file", "");
    const std::string big = "scenarios/gpt3-175b-superpod-a100.json", tiny = "scenarios/gpt-tiny-cpu.json";
    for (const Arguments& arguments :
         {Arguments{"export"},
          {"export", "chakra", tiny},
          {"export", "chakra", tiny, "--out", file + "/below"},
          {"export", "chakra", tiny, "--rank", "7", "--out", folder / "x"},
          {"export", "chakra", big, "--micro-batch", "1", "--global-batch", "15360", "--out", folder / "y"}}) {
        const Result result = orrery(arguments);
        EXPECT_EQ(result.exit, 2) << result.err;
        EXPECT_EQ(result.out, "");
        EXPECT_NE(result.err.find("\n  hint: "), std::string::npos) << result.err;
    }
    EXPECT_EQ(folder.names(), Arguments{"file"});
}

}  // namespace
}  // namespace orrery::cli
