// Every input that is kept: crashes that were found and mended, and small sound ones that the hunt begins with.
#include "tests/fuzz/corpus.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/fuzz/mutate.hpp"

namespace orrery::fuzz {
namespace {

class Fuzz : public testing::TestWithParam<Target> {};

TEST_P(Fuzz, CorpusIsReadOrRefused) {
    std::size_t accepted = 0;
    const std::vector<Input> inputs = corpus(GetParam());
    for (const Input& input : inputs) {
        SCOPED_TRACE(input.file);
        try {
            accepted += GetParam().run(input.bytes) ? 1 : 0;
        } catch (const std::exception& fault) {
            ADD_FAILURE() << fault.what();
        }
    }
    EXPECT_GT(accepted, 0U) << "of " << inputs.size() << ": a hunt that begins with nothing sound gets nowhere";
}

/// A number that the environment may set: longer hunts without clang.
std::uint64_t asked(const char* variable, std::uint64_t otherwise) {
    const char* const value = std::getenv(variable);
    return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

/// The hunt itself, short; `make fuzz` goes on with it.
TEST_P(Fuzz, InputsChangedAtRandomAreReadOrRefused) {
    const std::uint64_t first_seed = asked("FUZZ_FROM", 1), inputs = asked("FUZZ_INPUTS", 150);
    const std::vector<Input> begin = corpus(GetParam());
    std::uint64_t accepted = 0;
    for (std::uint64_t seed = first_seed; seed < first_seed + inputs; ++seed) {
        Random random(seed);
        const Input& from = begin[random() % begin.size()];
        std::string input = mutated(GetParam().form, from.bytes, random);
        if (random() % 4 == 0) input = spliced(GetParam().form, input, begin[random() % begin.size()].bytes, random);
        try {
            accepted += GetParam().run(input) ? 1 : 0;
        } catch (const std::exception& fault) {
            ADD_FAILURE() << "seed " << seed << " from " << from.file << ": " << fault.what() << '\n'
                          << input.substr(0, 4000);
            return;
        }
    }
    RecordProperty("inputs", static_cast<int>(inputs));
    if (inputs > 150) fmt::print("{}: {} inputs, {} accepted\n", GetParam().name, inputs, accepted);
}

INSTANTIATE_TEST_SUITE_P(Readers, Fuzz, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace orrery::fuzz
