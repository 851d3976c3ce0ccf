// The laws of step programs over 10,000 random combinations of strategies; `make soak` goes on from there.
#include "tests/property/program_laws.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "scenarios/scenario.hpp"
#include "strategies/plan_fields.hpp"
#include "tests/property/laws.hpp"

namespace orrery::laws {
namespace {

using strategies::Op;
using strategies::Program;

constexpr std::uint64_t combinations = 10'000, parts = 8;  // tests that run beside each other

class Combinations : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Combinations, HoldEveryLawOfPrograms) {
    constexpr std::uint64_t each = combinations / parts;
    for (std::uint64_t seed = GetParam() * each; seed < (GetParam() + 1) * each; ++seed)
        ASSERT_NO_THROW(hold_all(BuiltCombination(seed))) << "seed " << seed;
}

TEST_P(Combinations, HoldTheLawsOfTheirTimes) {
    constexpr std::uint64_t each = 150;  // simulated several times
    for (std::uint64_t seed = GetParam() * each; seed < (GetParam() + 1) * each; ++seed)
        ASSERT_NO_THROW(combinations_are_timed(Case(seed))) << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Property, Combinations, testing::Range(std::uint64_t{0}, parts));

/// What combinations say of the keys of one section: a value of each, as it is written.
template <class Section>
class Said {
public:
    explicit Said(std::span<const documents::Field<Section>> fields) : fields_(fields) {}

    void add(const Section& section) {
        for (const auto& [key, get, set] : fields_)
            if (const documents::Setting setting = get(section); can_say(key, setting))
                said_.insert(text(key, documents::to_json(key, setting)));
    }
    /// Each name that a key may say, both of a switch, and of all others something beside what is usual, where that can
    /// be said.
    [[nodiscard]] std::set<std::string> missing(const std::set<std::string>& never) const {
        std::set<std::string> list;
        for (const auto& field : fields_) {
            if (never.contains(std::string(field.key.name))) continue;
            for (const documents::Word& word : field.key.words) require(text(field.key, word.name), word, list);
            if (field.key.kind == documents::Kind::boolean)
                for (const bool value : {false, true}) require(text(field.key, value), {}, list);
            const std::string start = std::string(field.key.name) + "=";
            const auto values = std::ranges::count_if(said_, [&](const auto& each) { return each.starts_with(start); });
            if (values < (can_say(field.key, field.get(Section{})) ? 2 : 1)) list.insert(start);
        }
        return list;
    }

private:
    static std::string text(const documents::Key& key, const nlohmann::json& value) {
        return std::string(key.name) + "=" + value.dump();
    }
    /// Of several names of one value the first is written.
    inline static const std::set<std::string_view> aliases{"nvfp4", "pytorch",           "deepspeed", "jax",
                                                           "aiter", "composable-kernel", "aotriton"};
    void require(const std::string& what, const documents::Word& word, std::set<std::string>& list) const {
        if (!said_.contains(what) && !aliases.contains(word.name)) list.insert(what);
    }

    std::span<const documents::Field<Section>> fields_;
    std::set<std::string> said_;
};

TEST(CombinationsThemselves, SayEveryValueOfEveryKey) {
    Said strategy(strategies::strategy_fields());
    Said training(strategies::training_fields());
    for (std::uint64_t seed = 0; seed < combinations * 7 / 10; ++seed) {
        std::mt19937_64 random(seed);
        const strategies::Plan plan = scenarios::from_json(scenarios::random_combination(random), "x.json").plan;
        strategy.add(plan.strategy);
        training.add(plan.training);
    }
    // placement_file: a file that lies beside the scenario.
    EXPECT_EQ(strategy.missing({"placement_file"}), std::set<std::string>{});
    EXPECT_EQ(training.missing({}), std::set<std::string>{});
}

TEST(CombinationsThemselves, AreMadeOfTheirSeed) {
    std::mt19937_64 one(7), other(7);
    EXPECT_EQ(scenarios::random_combination(one).dump(), scenarios::random_combination(other).dump());
}

/// A law that cannot be broken is none. Breaks one combination of those that it can break, and asks the law.
void expect_broken(std::string_view name, const std::function<bool(BuiltCombination&)>& breaks) {
    const auto law = std::ranges::find(program_laws(), name, &ProgramLaw::name);
    ASSERT_NE(law, program_laws().end()) << name;
    std::size_t broken = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        BuiltCombination of(seed);
        EXPECT_NO_THROW(law->check(of)) << name << ", seed " << seed;
        if (!breaks(of)) continue;
        ++broken;
        EXPECT_THROW(law->check(of), Violation) << name << ", seed " << seed;
    }
    EXPECT_GT(broken, 5U) << name;
}

Op* named(BuiltCombination& of, std::string_view name) {
    for (Program& program : of.step.programs)
        for (Op& op : program.ops)
            if (of.step.names[op.label.name] == name) return &op;
    return nullptr;
}

bool is_reduction(BuiltCombination& of, const Op* op) {
    return op != nullptr && of.step.mesh.group_size(std::get<strategies::Collective>(op->what).group) > 1;
}

TEST(ProgramLawsThemselves, AreBrokenByFlops) {
    const auto other_products = [](BuiltCombination& of) {
        bool any = false;
        for (kernels::Kernel& kernel : of.step.kernels)
            if (auto* gemm = std::get_if<kernels::Gemm>(&kernel)) {
                gemm->m *= 2;
                any = true;
            }
        return any;
    };
    expect_broken("flops", other_products);
}

TEST(ProgramLawsThemselves, AreBrokenByGradientsThatAreSummedTwiceOrNever) {
    for (const std::uint64_t times : {2, 0})
        expect_broken("gradients", [&](BuiltCombination& of) {
            Op* const op = named(of, "gradient reduction");
            if (!is_reduction(of, op)) return false;
            std::get<strategies::Collective>(op->what).bytes *= times;
            return true;
        });
}

TEST(ProgramLawsThemselves, AreBrokenByOtherGroups) {
    expect_broken("gradients", [](BuiltCombination& of) {
        Op* const op = named(of, "gradient reduction");
        if (!is_reduction(of, op) || of.plan.strategy.tensor == 1 || of.plan.tensor_grid().divides()) return false;
        auto& group = std::get<strategies::Collective>(op->what).group;
        group = group | strategies::AxisSet{strategies::Axis::tensor};
        return true;
    });
}

TEST(ProgramLawsThemselves, AreBrokenByUpdates) {
    expect_broken("updates", [](BuiltCombination& of) {
        const Op* const op = named(of, "adam");
        if (op == nullptr) return false;
        std::get<kernels::Pointwise>(of.step.kernels[std::get<strategies::Compute>(op->what).kernel]).cols -= 1;
        return true;
    });
}

TEST(ProgramLawsThemselves, AreBrokenByParameters) {
    expect_broken("parameters", [](BuiltCombination& of) {
        of.step.programs.back().state.buckets.front().parameters += 8;
        return of.step.programs_of_stage() == 1;
    });
}

TEST(ProgramLawsThemselves, AreBrokenByWhatIsKeptForNobody) {
    expect_broken("memory", [](BuiltCombination& of) {
        for (Program& program : of.step.programs)
            for (Op& op : program.ops)
                if (op.label.phase == strategies::Phase::backward) op.reads = op.writes = 0;
        return true;
    });
}

TEST(ProgramLawsThemselves, AreBrokenByRefusalsThatSayLittle) {
    for (const Error& error :
         {Error("", "", "no place (not modelled here)", "hint"), Error("", "/strategy", "", "hint"),
          Error("", "/strategy/tensor", "no remedy (not modelled here)"),
          Error("", "/strategy/tensor", "no source", "hint"),
          Error("", "/training/precision", "no source (that is known)", "hint")})
        expect_broken("refusals", [&](BuiltCombination& of) {
            of.refused.push_back({{}, error});
            return true;
        });
}

}  // namespace
}  // namespace orrery::laws
