#include "tests/code/scanner.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace orrery::code {
namespace {

TEST(CodeOnly, BlanksCommentsAndLiteralsInPlace) {
    EXPECT_EQ(code_only("a // b {\nc"), "a       \nc");
    EXPECT_EQ(code_only("a /* {\n} */ b"), "a     \n     b");
    EXPECT_EQ(code_only("f(\"{\\\"}\", '}')"), "f(      ,    )");
    EXPECT_EQ(code_only("x = R\"y(\"){)y\";"), "x =           ;");
    EXPECT_EQ(code_only("1'000'000 + '{'"), "1'000'000 +    ");
    EXPECT_EQ(code_only("\"// no comment\" x"), "                x");
}

TEST(IncludesOf, FindsBothKindsAndTheirLines) {
    const auto includes =
        includes_of("// #include \"no.hpp\"\n#include \"base/error.hpp\"\n\n#  include <vector> // v\n");
    ASSERT_EQ(includes.size(), 2u);
    EXPECT_EQ(includes[0].name, "base/error.hpp");
    EXPECT_TRUE(includes[0].quoted);
    EXPECT_EQ(includes[0].line, 2u);
    EXPECT_EQ(includes[1].name, "vector");
    EXPECT_FALSE(includes[1].quoted);
    EXPECT_EQ(includes[1].line, 4u);
}

TEST(IncludesOf, SkipsThoseInCommentsAndStrings) {
    EXPECT_TRUE(includes_of("/*\n#include <no>\n*/\n").empty());
    EXPECT_TRUE(includes_of("auto s = R\"(\n#include <no>\n)\";\n").empty());
}

std::vector<std::string> heads_of(std::string_view text) {
    std::vector<std::string> heads;
    for (const Function& function : functions_of(text)) heads.push_back(function.head);
    return heads;
}

using Heads = std::vector<std::string>;

TEST(FunctionsOf, MeasuresBodies) {
    const auto functions =
        functions_of("int a() { return 1; }\n\nint b(int x)\n{\n    if (x) {\n        x = 1;\n    }\n}\n");
    ASSERT_EQ(functions.size(), 2u);
    EXPECT_EQ(functions[0].line, 1u);
    EXPECT_EQ(functions[0].body_lines, 0u);
    EXPECT_EQ(functions[1].line, 4u);
    EXPECT_EQ(functions[1].body_lines, 3u);
}

TEST(FunctionsOf, FindsThemInEveryForm) {
    EXPECT_EQ(heads_of("namespace a { int f() const noexcept { } }"), Heads{"int f() const noexcept"});
    EXPECT_EQ(heads_of("template <class T, int N = (1)> auto g(T x) -> B<T> { }").size(), 1u);
    EXPECT_EQ(heads_of("struct S { S() : a{1}, b(2), c{} { } ~S() { } };").size(), 2u);
    EXPECT_EQ(heads_of("void f(B b = {}, int c = 0) { }").size(), 1u);
    EXPECT_EQ(heads_of("const auto f = [](int x) { return x; };").size(), 1u);
    EXPECT_EQ(heads_of("template <class T> requires (sizeof(T) > 1) void f(T) { }").size(), 1u);
    EXPECT_EQ(heads_of("bool operator()(int a) const { }\nbool operator<(A) { }").size(), 2u);
    EXPECT_EQ(heads_of("TEST(A, B) {\n}").size(), 1u);
    EXPECT_EQ(heads_of("const A table[] = {{1, [](int) { }}, {2, [](int) { }}};").size(), 2u);
}

TEST(FunctionsOf, TellsThemFromOtherBraces) {
    EXPECT_EQ(heads_of("namespace a::b { struct S { int x = 1; }; enum class E { a, b }; union U { }; }"), Heads{});
    EXPECT_EQ(heads_of("constexpr std::array<int, f(3)> a{1, 2};\nint b{3};\nint c = {4};\nX d[] = {{1}, {2}};"),
              Heads{});
    EXPECT_EQ(heads_of("class S : public T<decltype(f())> { };"), Heads{});
    EXPECT_EQ(heads_of("#define F(x) { x\nint a;\n"), Heads{});
    EXPECT_EQ(heads_of("#define F(x) \\\n  { x\nint a;\n"), Heads{});
}

TEST(FunctionsOf, CountsWhatIsNestedAsPartOfTheOuter) {
    EXPECT_EQ(heads_of("void f() { auto g = [] { }; struct L { int h() { return 1; } }; }"), Heads{"void f()"});
}

TEST(FunctionsOf, RefusesBracesThatDoNotMatch) {
    EXPECT_THROW(functions_of("int f() {"), std::runtime_error);
    EXPECT_THROW(functions_of("}"), std::runtime_error);
    EXPECT_NO_THROW(functions_of("char c = '{'; // {\n"));
}

TEST(ReadProject, LeavesOutWhatIsHiddenBuiltOrBinary) {
    namespace fs = std::filesystem;
    std::string name = (fs::temp_directory_path() /
                        "orrery-code-"
                        "X"
                        "XX"
                        "X"
                        "XX")
                           .string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    const fs::path root = name;
    const auto write = [&root](const char* path, std::string_view text) {
        fs::create_directories((root / path).parent_path());
        std::ofstream(root / path, std::ios::binary) << text;
    };
    write("b/x.cpp", "x");
    write("a.md", "a");
    write(".ci/run", "r");
    write(".git/config", "g");
    write("build/b.cpp", "b");
    write("c/image.png", std::string_view("\x89PNG\0", 5));
    const auto files = read_project(root);
    fs::remove_all(root);
    ASSERT_EQ(files.size(), 3u);
    EXPECT_EQ(files[0].path, ".ci/run");
    EXPECT_EQ(files[1].path, "a.md");
    EXPECT_EQ(files[2].path, "b/x.cpp");
    EXPECT_EQ(files[2].text, "x");
}

}  // namespace
}  // namespace orrery::code
