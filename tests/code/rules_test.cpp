// Every rule is shown a violation: one that cannot fail would be worth nothing.
#include "tests/code/rules.hpp"

#include <gtest/gtest.h>

namespace orrery::code {
namespace {

std::size_t order(std::string path, std::string text) { return folder_order({path, text}).size(); }
std::size_t door(std::string path, std::string text) { return library_doors({path, text}).size(); }

std::string repeated(std::size_t times, std::string_view line) {
    std::string text;
    for (; times > 0; --times) text += line;
    return text;
}

TEST(FolderOrder, AllowsWhatStandsBefore) {
    EXPECT_EQ(order("base/a.cpp", "#include \"base/error.hpp\"\n#include <vector>\n"), 0u);
    EXPECT_EQ(order("models/a.hpp", "#include \"kernels/kernel.hpp\"\n"), 0u);
    EXPECT_EQ(order("sim/a.cpp", "#include \"calibrate/profile.hpp\"\n#include \"strategies/mesh.hpp\"\n"), 0u);
    EXPECT_EQ(order("cli/main.cpp", "#include \"report/table.hpp\"\n#include \"base/error.hpp\"\n"), 0u);
    EXPECT_EQ(order("tests/base/a.cpp", "#include \"sim/replay.hpp\"\n#include \"tests/code/rules.hpp\"\n"), 0u);
}

TEST(FolderOrder, RefusesTheWayBack) {
    EXPECT_EQ(order("base/a.cpp", "#include \"kernels/kernel.hpp\"\n"), 1u);
    EXPECT_EQ(order("kernels/a.cpp", "#include \"models/gpt.hpp\"\n"), 1u);
    EXPECT_EQ(order("topology/a.cpp", "#include \"kernels/kernel.hpp\"\n"), 1u);
    EXPECT_EQ(order("topology/a.cpp", "#include \"models/gpt.hpp\"\n"), 1u);
    EXPECT_EQ(order("models/a.cpp", "#include \"topology/cluster.hpp\"\n"), 1u);
    EXPECT_EQ(order("strategies/a.cpp", "#include \"topology/cluster.hpp\"\n"), 1u);
    EXPECT_EQ(order("scenarios/a.cpp", "#include \"calibrate/profile.hpp\"\n"), 1u);
    EXPECT_EQ(order("calibrate/a.cpp", "#include \"topology/cluster.hpp\"\n"), 1u);
    EXPECT_EQ(order("calibrate/suite/a.cpp", "#include \"sim/engine.hpp\"\n"), 1u);
    EXPECT_EQ(order("sim/a.cpp", "\n\n#include \"report/table.hpp\"\n#include \"cli/main.hpp\"\n"), 2u);
    EXPECT_EQ(order("report/a.cpp", "#include \"cli/main.hpp\"\n"), 1u);
}

TEST(FolderOrder, RefusesIncludesThatDoNotBeginAtTheRoot) {
    EXPECT_EQ(order("base/a.cpp", "#include \"error.hpp\"\n"), 1u);
    EXPECT_EQ(order("base/a.cpp", "#include \"../base/error.hpp\"\n"), 1u);
    EXPECT_EQ(order("base/a.cpp", "#include \"tests/code/rules.hpp\"\n"), 1u);
    EXPECT_EQ(order("tests/base/a.cpp", "#include \"helper.hpp\"\n"), 1u);
}

TEST(FolderOrder, NamesPlaceAndReason) {
    const Findings findings = folder_order({"base/a.cpp", "\n#include \"sim/engine.hpp\"\n"});
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0], "base/a.cpp:2: base may not use sim/engine.hpp");
}

TEST(LibraryDoors, KeepSimGridInSim) {
    EXPECT_EQ(door("sim/engine.cpp", "#include <simgrid/s4u.hpp>\n"), 0u);
    EXPECT_EQ(door("tests/sim/engine_test.cpp", "#include <simgrid/s4u.hpp>\n"), 0u);
    EXPECT_EQ(door("report/a.cpp", "#include <simgrid/s4u.hpp>\n"), 1u);
    EXPECT_EQ(door("cli/a.cpp", "#include \"xbt/log.h\"\n"), 1u);
    EXPECT_EQ(door("tests/base/a.cpp", "#include <simgrid/s4u.hpp>\n"), 1u);
}

TEST(LibraryDoors, KeepTheOthersInTheirFolders) {
    EXPECT_EQ(door("topology/a.cpp", "#include <boost/graph/adjacency_list.hpp>\n"), 0u);
    EXPECT_EQ(door("sim/a.cpp", "#include <boost/graph/adjacency_list.hpp>\n"), 1u);
    for (const std::string header :
         {"cuda_runtime.h", "cublas_v2.h", "nccl.h", "mpi.h", "cblas.h", "dnnl.hpp", "nvml.h"}) {
        EXPECT_EQ(door("kernels/cuda/a.cpp", "#include <" + header + ">\n"), 0u) << header;
        EXPECT_EQ(door("calibrate/a.cpp", "#include <" + header + ">\n"), 1u) << header;
    }
    EXPECT_EQ(door("cli/main.cpp", "#include <CLI/CLI.hpp>\n"), 0u);
    EXPECT_EQ(door("report/a.cpp", "#include <CLI/CLI.hpp>\n"), 1u);
}

TEST(LibraryDoors, KeepTheWholeOfJsonOutOfHeaders) {
    EXPECT_EQ(door("report/a.hpp", "#include <nlohmann/json.hpp>\n"), 1u);
    EXPECT_EQ(door("report/a.hpp", "#include <nlohmann/json_fwd.hpp>\n"), 0u);
    EXPECT_EQ(door("report/a.cpp", "#include <nlohmann/json.hpp>\n"), 0u);
    EXPECT_EQ(door("scenarios/a.hpp", "#include <nlohmann/json.hpp>\n"), 0u);
}

std::size_t size_findings(std::string path, std::string text) { return sizes({path, text}).size(); }

TEST(Sizes, LimitFiles) {
    EXPECT_EQ(size_findings("base/a.cpp", repeated(most_file_lines, "int a;\n")), 0u);
    EXPECT_EQ(size_findings("base/a.cpp", repeated(most_file_lines + 1, "int a;\n")), 1u);
    EXPECT_EQ(size_findings("calibrate/data.csv", repeated(most_file_lines + 1, "1,2\n")), 0u);
}

TEST(Sizes, LimitFunctions) {
    const auto function = [](std::size_t lines) { return "void f() {\n" + repeated(lines, "    g();\n") + "}\n"; };
    EXPECT_EQ(size_findings("base/a.cpp", function(most_function_lines)), 0u);
    EXPECT_EQ(size_findings("base/a.cpp", function(most_function_lines + 1)), 1u);
    EXPECT_EQ(size_findings("base/a.cpp", "namespace a {\n" + function(most_function_lines + 1) + "}\n"), 1u);
    EXPECT_EQ(size_findings("base/a.cpp", "const int a[] = {\n" + repeated(100, "    1,\n") + "};\n"), 0u);
}

TEST(Sizes, LimitLinesInCharacters) {
    EXPECT_EQ(size_findings("base/a.cpp", "//" + repeated(most_columns - 2, "x") + "\n"), 0u);
    EXPECT_EQ(size_findings("base/a.cpp", "//" + repeated(most_columns - 2, "é") + "\n"), 0u);
    EXPECT_EQ(size_findings("base/a.cpp", "//" + repeated(most_columns - 1, "x") + "\n"), 1u);
}

TEST(Sizes, RefuseTabsExceptInRecipes) {
    EXPECT_EQ(size_findings("base/a.cpp", "\tint a;\n"), 1u);
    EXPECT_EQ(size_findings("Makefile", "all:\n\techo\n"), 0u);
    EXPECT_EQ(size_findings("Makefile", "all:\n\techo\tx\n"), 1u);
}

TEST(Headers, SayWhatTheyAreForAndAreIncludedOnce) {
    EXPECT_EQ(headers({"base/a.hpp", "// What.\n#pragma once\n"}).size(), 0u);
    EXPECT_EQ(headers({"base/a.hpp", "#pragma once\n"}).size(), 1u);
    EXPECT_EQ(headers({"base/a.hpp", "// What.\n// #pragma once\n"}).size(), 1u);
    EXPECT_EQ(headers({"base/a.hpp", ""}).size(), 2u);
    EXPECT_EQ(headers({"base/a.cpp", "int a;\n"}).size(), 0u);
}

TEST(Leftovers, RefuseMarkersOfUnfinishedWork) {
    // Taken apart, so that this file passes.
    for (const std::string marker : {"TO"
                                     "DO",
                                     "FIX"
                                     "ME",
                                     "X"
                                     "XX",
                                     "HA"
                                     "CK"}) {
        EXPECT_EQ(leftovers({"base/a.cpp", "// " + marker + ": later\n"}).size(), 1u) << marker;
        EXPECT_EQ(leftovers({"README.md", marker + "\n"}).size(), 1u) << marker;
        EXPECT_EQ(leftovers({"base/a.cpp", "int a" + marker + "s;\n"}).size(), 0u) << marker;
    }
}

TEST(Leftovers, RefusePathsOfOneMachine) {
    for (const std::string place : {"/wo"
                                    "rk/",
                                    "/ro"
                                    "ot/",
                                    "/ho"
                                    "me/"}) {
        EXPECT_EQ(leftovers({"scenarios/a.json", "{\"file\": \"" + place + "x\"}\n"}).size(), 1u) << place;
        EXPECT_EQ(leftovers({"tools/setup", place + "x\n"}).size(), 1u) << place;
        EXPECT_EQ(leftovers({"README.md", "`cd " + place + "x`\n"}).size(), 1u) << place;
        EXPECT_EQ(leftovers({"README.md", "a" + place + "x\n"}).size(), 0u) << place;
    }
}

TEST(FolderReadmes, NameEveryHeaderOfTheirFolder) {
    const std::vector<SourceFile> files{{"base/README.md", "| `plan_fields`, units | what |"},
                                        {"base/plan_fields.hpp", ""},
                                        {"base/units.hpp", ""},
                                        {"base/plan.hpp", ""},
                                        {"base/a/inner.hpp", ""},
                                        {"base/b.cpp", ""},
                                        {"sim/c.hpp", ""}};
    EXPECT_EQ(readmes_name_headers(files), Findings{"base/plan.hpp: plan is not in the folder's README.md"});
}

TEST(FolderReadmes, AreAskedOfEveryFolderAtTheTop) {
    const Findings findings = folder_readmes({{"base/README.md", ""},
                                              {"base/a.cpp", ""},
                                              {"sim/a.cpp", ""},
                                              {"sim/b/README.md", ""},
                                              {".ci/run", ""},
                                              {"x", ""}});
    EXPECT_EQ(findings, Findings{"sim/: no README.md says what it is"});
}

}  // namespace
}  // namespace orrery::code
