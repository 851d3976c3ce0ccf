// Every refusal names its source, each of which is written once.
#include "strategies/refusal.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

#include "base/enum_table.hpp"
#include "base/error.hpp"

namespace orrery::strategies {
namespace {

TEST(Refusal, NamesItsSourceBehindWhatIsWrong) {
    try {
        refuse("/strategy/tensor", "3 does not divide the 16 heads", "nearest legal values: 2, 4",
               Source::tensor_parallelism);
    } catch (const Error& error) {
        EXPECT_EQ(error.pointer(), "/strategy/tensor");
        EXPECT_EQ(error.message(), "3 does not divide the 16 heads (Shoeybi et al. 2019, arXiv:1909.08053, section 3)");
        EXPECT_EQ(error.hint(), "nearest legal values: 2, 4");
        EXPECT_TRUE(names_source(error.message()));
    }
    EXPECT_FALSE(names_source("3 does not divide the 16 heads"));
    EXPECT_FALSE(names_source("3 does not divide the 16 heads (n_groups)"));
    EXPECT_FALSE(names_source("3 does not divide the 16 heads ()"));
    EXPECT_FALSE(names_source("(not modelled here) 3 does not divide the 16 heads"));
}

TEST(Refusal, SourcesAreThereAndDifferent) {
    std::set<std::string> texts;
    for (std::size_t i = 0; i < enumerators<Source>; ++i) {
        const auto source = static_cast<Source>(i);
        if (source == Source::origin_of_key) continue;
        const std::string text = text_of(source, "");
        EXPECT_FALSE(text.empty()) << i;
        EXPECT_TRUE(texts.insert(text).second) << text;
    }
    for (const ScheduleKind kind : {ScheduleKind::gpipe, ScheduleKind::zb_v, ScheduleKind::dual_pipe_v})
        EXPECT_TRUE(texts.contains(text_of(source_of(kind), "")));
}

TEST(Refusal, KeysHaveTheOriginOfTheirField) {
    EXPECT_EQ(text_of(Source::origin_of_key, "/strategy/powersgd_rank"),
              "arXiv:1905.13727; PyTorch (matrix_approximation_rank)");
    EXPECT_EQ(text_of(Source::origin_of_key, "/training/decoder_seq"), "Megatron-LM, decoder_seq_length");
    EXPECT_TRUE(names_source("128, but gpt has no second sequence (Megatron-LM, decoder_seq_length)"));
    for (const char* nobodys : {"/training/seq_length", "/training/no_key", "/model/name"})
        EXPECT_THROW((void)text_of(Source::origin_of_key, nobodys), std::logic_error) << nobodys;
}

}  // namespace
}  // namespace orrery::strategies
