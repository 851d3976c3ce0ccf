// The rules, applied to the sources of the project. Runs in its root.
#include <gtest/gtest.h>

#include "tests/code/rules.hpp"
#include "tests/code/scanner.hpp"

namespace orrery::code {
namespace {

const std::vector<SourceFile>& project() {
    static const std::vector<SourceFile> files = read_project(".");
    return files;
}

/// Every finding on a line of its own: nothing when the rule is kept everywhere.
std::string broken(Findings (*rule)(const SourceFile&)) {
    std::string text;
    for (const SourceFile& file : project())
        for (const std::string& finding : rule(file)) text += finding + '\n';
    return text;
}

TEST(Project, IsRead) {
    std::size_t sources = 0, functions = 0, includes = 0;
    for (const SourceFile& file : project()) {
        if (!is_cpp(file.path)) continue;
        ++sources;
        functions += functions_of(file.text).size();
        includes += includes_of(file.text).size();
    }
    EXPECT_GT(sources, 20u) << "the tests run in the root of the project";
    EXPECT_GT(functions, 3 * sources / 2);
    EXPECT_GT(includes, 2 * sources);
}

TEST(Project, KeepsTheFolderOrder) { EXPECT_EQ(broken(folder_order), ""); }

TEST(Project, KeepsTheLibraryDoors) { EXPECT_EQ(broken(library_doors), ""); }

TEST(Project, KeepsTheSizes) { EXPECT_EQ(broken(sizes), ""); }

TEST(Project, KeepsTheFormOfHeaders) { EXPECT_EQ(broken(headers), ""); }

TEST(Project, LeavesNothingUnfinished) { EXPECT_EQ(broken(leftovers), ""); }

TEST(Project, DescribesEveryFolder) {
    for (const std::string& finding : folder_readmes(project())) ADD_FAILURE() << finding;
    for (const std::string& finding : readmes_name_headers(project())) ADD_FAILURE() << finding;
}

}  // namespace
}  // namespace orrery::code
