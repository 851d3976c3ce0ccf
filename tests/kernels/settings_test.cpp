// The CPU device under every setting of a launch.
#include <gtest/gtest.h>

#include "tests/kernels/settings_checks.hpp"

namespace orrery::kernels {
namespace {

class CpuSettings : public testing::Test {
protected:
    std::unique_ptr<Device> device_ = open_device("cpu");
};

TEST_F(CpuSettings, ProductsAccumulateAndAddABias) { settings_checks::products_accumulate_and_add_a_bias(*device_); }
TEST_F(CpuSettings, SumsAccumulate) { settings_checks::sums_accumulate(*device_); }
TEST_F(CpuSettings, ScaleAndAdamTakeTheirNumbers) { settings_checks::scale_and_adam_take_their_numbers(*device_); }
TEST_F(CpuSettings, RopeTurnsHeadsInsidePackedRows) { settings_checks::rope_turns_heads_inside_packed_rows(*device_); }
TEST_F(CpuSettings, AttentionReadsHeadsInsidePackedRows) {
    settings_checks::attention_reads_heads_inside_packed_rows(*device_);
}
TEST_F(CpuSettings, LossesLeavePaddingOut) { settings_checks::losses_leave_padding_out(*device_); }
TEST_F(CpuSettings, PartsOfALossMakeTheWhole) { settings_checks::parts_of_a_loss_make_the_whole(*device_); }
TEST_F(CpuSettings, EmbeddingsLeaveRowsOfOthersOut) { settings_checks::embeddings_leave_rows_of_others_out(*device_); }
TEST_F(CpuSettings, BatchedProductsAddABiasEach) { settings_checks::batched_products_add_a_bias_each(*device_); }
TEST_F(CpuSettings, GatesTakeGivenExperts) { settings_checks::gates_take_given_experts(*device_); }
TEST_F(CpuSettings, TokensHaveAnyNumberOfCopies) { settings_checks::tokens_have_any_number_of_copies(*device_); }
TEST_F(CpuSettings, DropoutsDrawTheMaskTheyAreGiven) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16})
        settings_checks::dropouts_draw_the_mask_they_are_given(*device_, dtype);
}
TEST_F(CpuSettings, AttentionDropsProbabilities) { settings_checks::attention_drops_probabilities(*device_); }
TEST_F(CpuSettings, AttentionTakesItsHeadsApart) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
        settings_checks::products_take_heads_inside_rows(*device_, dtype);
        settings_checks::softmax_leaves_out_what_queries_do_not_see(*device_, dtype);
        settings_checks::heads_and_tokens_change_places(*device_, dtype);
    }
}
TEST_F(CpuSettings, HalfProductsAccumulateAndAddABias) {
    for (const Dtype half : {Dtype::bf16, Dtype::fp16})
        settings_checks::half_products_accumulate_and_add_a_bias(*device_, half);
}
TEST_F(CpuSettings, SumsOfHalfOperandsLandInEitherFormat) {
    for (const Dtype half : {Dtype::bf16, Dtype::fp16})
        settings_checks::sums_of_half_operands_land_in_either_format(*device_, half);
}
TEST_F(CpuSettings, CastsGoBothWays) {
    for (const Dtype half : {Dtype::bf16, Dtype::fp16}) settings_checks::casts_go_both_ways(*device_, half);
}
TEST_F(CpuSettings, HalfAttentionReadsHeadsInsidePackedRows) {
    for (const Dtype half : {Dtype::bf16, Dtype::fp16})
        settings_checks::packed_rows_change_no_bit_of_attention(*device_, half);
}

}  // namespace
}  // namespace orrery::kernels
