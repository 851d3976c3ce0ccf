// Launch scripts read without being run.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "doors/shell/arithmetic.hpp"
#include "doors/shell/conditions.hpp"
#include "doors/shell/sbatch.hpp"
#include "doors/shell/script.hpp"

namespace orrery::doors::shell {
namespace {

bool is_run(const Launch& launch) { return !launch.empty() && launch.front().text() == "run"; }

/// The words of the first command called "run", without its name.
std::string launched(const std::string& script, const std::map<std::string, std::string>& defines = {}) {
    const Script read = read_script(script, defines, is_run);
    if (read.launches.empty()) return "nothing";
    std::vector<std::string> words;
    for (const Traced& word : read.launches.front()) words.push_back("[" + without_unknowns(word.text()) + "]");
    return join(std::vector<std::string>(words.begin() + 1, words.end()), "");
}

TEST(Shell, PutsVariablesAndListsIn) {
    EXPECT_EQ(launched("N=8\nrun --n $N --m ${N}x"), "[--n][8][--m][8x]");
    EXPECT_EQ(launched("A=(--x 1\n  --y '2 3' # a remark\n)\nrun \"${A[@]}\""), "[--x][1][--y][2 3]");
    EXPECT_EQ(launched("A=(\"--x 1\")\nA+=(--y)\nrun ${A[@]} ${#A[@]}"), "[--x][1][--y][2]");
    EXPECT_EQ(launched("A=\" \\\n --x 1 \\\n\"\nA+=' --y'\nrun $A end"), "[--x][1][--y][end]");
    EXPECT_EQ(launched("A=()\nrun \"${A[@]}\" a"), "[a]");
    EXPECT_EQ(launched("export A=1 B='b c'\nrun \"$B\" $A"), "[b c][1]");
}

TEST(Shell, TakesDefaultsAndDefinitions) {
    EXPECT_EQ(launched("run ${N:-4} ${M-5}"), "[4][5]");
    EXPECT_EQ(launched("N=${N:-4}\nrun $N", {{"N", "16"}}), "[16]");
    EXPECT_EQ(launched("TP=$1\nrun $TP ${2:-2} $#", {{"1", "8"}}), "[8][2][1]");
    EXPECT_EQ(launched("M=${N:-${K:-7}}\nrun $M"), "[7]");
    EXPECT_EQ(launched("N=2\nrun ${N:+yes} ${K:+no} end"), "[yes][end]");
}

TEST(Shell, MarksWhatOnlyARunTells) {
    const Script read = read_script("HOST=$(hostname)\nrun --nodes $NNODES --host $HOST", {}, is_run);
    ASSERT_EQ(read.launches.size(), 1U);
    EXPECT_EQ(first_unknown(read.launches[0][2].text()), "NNODES");
    EXPECT_EQ(first_unknown(read.launches[0][4].text()), "(command)");
    EXPECT_EQ(first_unknown(read_script("run $((A * 2))", {}, is_run).launches[0][1].text()), "A");
}

TEST(Shell, RemembersWhereWordsWereWritten) {
    const Script read = read_script("A=(\n  --x 1\n  --y 2\n)\nB=\"--z \\\n 3\"\nrun ${A[@]} $B", {}, is_run);
    std::vector<std::uint32_t> lines;
    for (const Traced& word : read.launches.at(0)) lines.push_back(word.line());
    EXPECT_EQ(lines, (std::vector<std::uint32_t>{7, 2, 2, 3, 3, 5, 6}));
}

TEST(Shell, FollowsConditionsThatTheScriptDecides) {
    EXPECT_EQ(launched("S=8B\nif [ $S = 7B ]; then L=1\nelif [[ $S == 8* ]]; then L=2\nelse L=3\nfi\nrun $L"), "[2]");
    EXPECT_EQ(launched("if [[ $A -gt 1 && -n \"$B\" ]]; then X=1; else X=2; fi\nrun $X", {{"A", "2"}, {"B", "b"}}),
              "[1]");
    EXPECT_EQ(launched("[ -z \"$N\" ] && N=4\nrun $N"), "[4]");
    EXPECT_EQ(launched("N=1\n[ -z \"$N\" ] && N=4\nrun $N"), "[1]");
    EXPECT_EQ(launched("case $S in\n 7B|8B) L=32;;\n *) L=80;;\nesac\nrun $L", {{"S", "8B"}}), "[32]");
    EXPECT_EQ(launched("if (( N > 1 )); then X=many; else X=one; fi\nrun $X", {{"N", "3"}}), "[many]");
    EXPECT_EQ(launched("if ! [ a = b ]; then X=1; fi\nrun $X"), "[1]");
}

TEST(Shell, SaysWhatItCouldNotDecide) {
    const Script read = read_script("X=1\nif [ -f some/file ]; then X=2; fi\nrun $X", {}, is_run);
    ASSERT_EQ(read.remarks.size(), 1U);
    EXPECT_EQ(read.remarks[0].line, 2U);
    EXPECT_EQ(read.launches.at(0).at(1).text(), "1");
    EXPECT_TRUE(read_script("if [ -f file ]; then mkdir x; fi\nrun", {}, is_run).remarks.empty())
        << "nothing hangs on it";
    EXPECT_EQ(read_script("source env.sh\nrun", {}, is_run).remarks.size(), 1U);
}

TEST(Shell, LooksIntoTextsThatBecomeCommands) {
    EXPECT_EQ(launched("CMD=\"run --a 1 &> log\"\necho $CMD\neval $CMD"), "[--a][1]");
    EXPECT_EQ(launched("CMD=' run --a 1'\nclear; srun --jobid 7 bash -c \"$CMD --r \\$RANK\" 2>&1 | tee log"),
              "[--a][1][--r][]");
    EXPECT_EQ(launched("go() {\n  run $1 $2\n}\ngo a b"), "[a][b]");
    EXPECT_EQ(launched("for n in 1 2; do X+=$n; done\nrun $X"), "[12]");
}

TEST(Shell, ReadsOverHereDocumentsAndRedirections) {
    EXPECT_EQ(launched("cat <<EOT > $file\n{ \"run\": 1,\n  if then }\nEOT\nrun a > out 2>&1 < in &"), "[a]");
    EXPECT_EQ(launched("cat <<- 'END'\nrun wrong\n\tEND\nrun right"), "[right]");
    EXPECT_EQ(launched("P=<your path>\nrun a # run b"), "[a]");
    EXPECT_EQ(launched("run --data <your path> \\\n --fp16"), "[--data][][--fp16]");
    EXPECT_EQ(launched("run a <in >out b"), "[a][b]");
}

TEST(Shell, TakesSlurmsCountsFromItsLines) {
    EXPECT_EQ(launched("#SBATCH --nodes=24\n#SBATCH --gres=gpu:a100:8  # all\nrun $SLURM_NNODES $SLURM_GPUS_ON_NODE"),
              "[24][8]");
    EXPECT_EQ(launched("#SBATCH -N 3\nN=$SLURM_NNODES\nrun $N", {{"SLURM_NNODES", "5"}}), "[5]");
    EXPECT_TRUE(slurm_variables("#SBATCH --nodes=<many>\n#SBATCH --nodelist=a").empty());
    EXPECT_EQ(launched("#SBATCH -J a --nodes=4 --gres gpu:h100:8 # -N 9\nrun $SLURM_NNODES $SLURM_GPUS_ON_NODE"),
              "[4][8]");
}

TEST(Shell, CountsGpusAmongOtherResources) {
    EXPECT_EQ(launched("#SBATCH --gres=nvme:1,gpu:h100:8,x:2\nrun $SLURM_GPUS_ON_NODE"), "[8]");
    EXPECT_TRUE(slurm_variables("#SBATCH --gres=nvme:1").empty());
}

TEST(Shell, CutsWhatAPatternMatches) {
    EXPECT_EQ(launched("A=recompute=full=x\nrun --${A%%=*} ${A#*=} ${A##*=} ${A%=*} ${A%z} ${A#*}"),
              "[--recompute][full=x][x][recompute=full][recompute=full=x][recompute=full=x]");
    EXPECT_EQ(launched("A=runs/llama.sh\nB='*/'\nrun ${A##*/} ${A%.sh} ${A#$B}"), "[llama.sh][runs/llama][llama.sh]");
    EXPECT_EQ(launched("A=(a.x b.x)\nrun ${A[@]%.x}"), "[a][b]");
    EXPECT_EQ(launched("run ${UNKNOWN%.x}"), launched("run $UNKNOWN")) << "asked for by its own name";
}

TEST(Shell, EndsWhereAScriptWouldNot) {
    EXPECT_THROW((void)read_script(
                     "A=xxxxxxxxxxxxxxxx\n" +
                         [] {
                             std::string doubling;
                             for (int i = 0; i < 60; ++i) doubling += "A=$A$A\n";
                             return doubling;
                         }(),
                     {}, is_run),
                 Error);
    EXPECT_THROW((void)read_script("f() { f; }\nf", {}, is_run), Error);
    EXPECT_THROW((void)read_script("X='eval $X'\neval $X", {}, is_run), Error);
    std::string nested;
    for (int i = 0; i < 500; ++i) nested += "{ ";
    EXPECT_THROW((void)read_script(nested + "run", {}, is_run), Error);
    EXPECT_NO_THROW((void)read_script("while true; do X=1; done\nrun $X", {}, is_run));
}

struct Sum {
    const char* expression;
    Number value;
};

TEST(Arithmetic, ReckonsAsShellsDo) {
    const Sum sums[] = {{"2 + 3 * 4", 14},
                        {"(2 + 3) * 4", 20},
                        {"7 / 2", 3},
                        {"-7 % 4", -3},
                        {"2 ** 10", 1024},
                        {"1 < 2 ? 5 : 6", 5},
                        {"n * 2", 6},
                        {"!0 && n >= 3", 1},
                        {"missing + 1", std::nullopt},
                        {"1 / 0", std::nullopt},
                        {"9223372036854775807 + 1", std::nullopt},
                        {"2 ** 64", std::nullopt},
                        {"1 +", std::nullopt},
                        {"n = 4", std::nullopt},
                        {"", std::nullopt}};
    for (const Sum& sum : sums)
        EXPECT_EQ(evaluate(sum.expression, [](std::string_view name) { return name == "n" ? Number(3) : Number(); }),
                  sum.value)
            << sum.expression;
    EXPECT_EQ(evaluate(std::string(10000, '-') + "1", [](std::string_view) { return Number(); }), std::nullopt);
}

TEST(Conditions, AreDecidedOrLeftOpen) {
    EXPECT_EQ(decide({"a", "=", "a"}), true);
    EXPECT_EQ(decide({"-z", ""}), true);
    EXPECT_EQ(decide({"!", "-n", "x"}), false);
    EXPECT_EQ(decide({"(", "1", "-eq", "2", ")", "||", "2", "-lt", "3"}), true);
    EXPECT_EQ(decide({"-f", "file"}), std::nullopt);
    EXPECT_EQ(decide({"-f", "file", "&&", "a", "=", "b"}), false);
    EXPECT_EQ(decide({"x", "-gt", "1"}), std::nullopt);
    EXPECT_EQ(decide({}), false);
    EXPECT_TRUE(matches("8*B", "80B"));
    EXPECT_FALSE(matches("8?", "8"));
}

}  // namespace
}  // namespace orrery::doors::shell
