// Completion scripts are made of the real commands and options, and complete what bash asks them for.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

/// What bash offers behind these words, the last of which is unfinished.
std::set<std::string> offered(const Folder& folder, const std::vector<std::string>& words) {
    const std::string script = folder.file("completion", orrery({"--completion", "bash"}).out);
    std::string line = "source " + script + "; COMP_WORDS=(orrery";
    for (const std::string& word : words) line += " '" + word + "'";
    line += "); COMP_CWORD=" + std::to_string(words.size()) + "; _orrery; printf \"%s\\n\" \"${COMPREPLY[@]}\"";
    const Result result = Running(Command{{"bash", "--norc", "-c", line}}).wait();
    EXPECT_EQ(result.err, "") << line;
    std::set<std::string> all;
    std::istringstream lines(result.out);
    for (std::string each; std::getline(lines, each);)
        if (!each.empty()) all.insert(each);
    return all;
}

using Words = std::set<std::string>;

TEST(Completion, OffersCommandsOptionsAndTheirWords) {
    const Folder folder;
    EXPECT_EQ(offered(folder, {"simu"}), Words{"simulate"});
    EXPECT_EQ(offered(folder, {"calibrate", "sh"}), Words{"show"});
    EXPECT_EQ(offered(folder, {"simulate", "--fold", ""}), (Words{"auto", "off", "verify"}));
    EXPECT_EQ(offered(folder, {"simulate", "x.json", "--engine", "f"}), Words{"fast"});
    EXPECT_EQ(offered(folder, {"list", "key"}), Words{"keys"});
    EXPECT_EQ(offered(folder, {"--vers"}), Words{"--version"});
    EXPECT_TRUE(offered(folder, {"sweep", "--v"}).contains("--vary"));
    EXPECT_EQ(offered(folder, {"simulate", "CMakeLi"}), Words{"CMakeLists.txt"});
}

/// Names in the lines below a heading of a help text.
std::vector<std::string> below(const std::string& help, const std::string& heading) {
    std::vector<std::string> found;
    std::istringstream lines(help);
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (line == heading)
            inside = true;
        else if (inside && !line.starts_with("  "))
            inside = false;
        else if (inside && line.size() > 2 && line[2] != ' ')
            found.push_back(line.substr(2, line.find_first_of(" ,:", 2) - 2));
    }
    return found;
}

TEST(Completion, NamesEveryCommandOfTheHelpInEveryShell) {
    const std::vector<std::string> commands = below(orrery({"--help"}).out, "Subcommands:");
    ASSERT_GE(commands.size(), 15U);
    for (const char* shell : {"bash", "zsh", "fish"}) {
        const Result result = orrery({"--completion", shell});
        EXPECT_EQ(result.exit, 0);
        EXPECT_EQ(result.err, "");
        for (const std::string& command : commands)
            EXPECT_NE(result.out.find('\'' + command + '\''), std::string::npos) << shell << ": " << command;
        for (const char* option : {"fold", "global-batch", "markdown"})
            EXPECT_NE(result.out.find(option), std::string::npos) << shell << ": " << option;
    }
}

TEST(Completion, OfAnotherShellIsRefused) {
    const Result result = orrery({"--completion", "csh"});
    EXPECT_EQ(result.exit, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find("bash,zsh,fish"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace orrery::cli
