// A GPU under every setting of a launch: the checks that the CPU device passes.
#include "tests/gpu/gpu.hpp"
#include "tests/kernels/settings_checks.hpp"

namespace orrery::kernels {
namespace {

class GpuSettings : public GpuTest {};

TEST_F(GpuSettings, ProductsAccumulateAndAddABias) { settings_checks::products_accumulate_and_add_a_bias(gpu()); }
TEST_F(GpuSettings, SumsAccumulate) { settings_checks::sums_accumulate(gpu()); }
TEST_F(GpuSettings, ScaleAndAdamTakeTheirNumbers) { settings_checks::scale_and_adam_take_their_numbers(gpu()); }
TEST_F(GpuSettings, RopeTurnsHeadsInsidePackedRows) { settings_checks::rope_turns_heads_inside_packed_rows(gpu()); }
TEST_F(GpuSettings, AttentionReadsHeadsInsidePackedRows) {
    settings_checks::attention_reads_heads_inside_packed_rows(gpu());
}
TEST_F(GpuSettings, LossesLeavePaddingOut) { settings_checks::losses_leave_padding_out(gpu()); }
TEST_F(GpuSettings, PartsOfALossMakeTheWhole) { settings_checks::parts_of_a_loss_make_the_whole(gpu()); }
TEST_F(GpuSettings, EmbeddingsLeaveRowsOfOthersOut) { settings_checks::embeddings_leave_rows_of_others_out(gpu()); }
TEST_F(GpuSettings, BatchedProductsAddABiasEach) { settings_checks::batched_products_add_a_bias_each(gpu()); }
TEST_F(GpuSettings, GatesTakeGivenExperts) { settings_checks::gates_take_given_experts(gpu()); }
TEST_F(GpuSettings, TokensHaveAnyNumberOfCopies) { settings_checks::tokens_have_any_number_of_copies(gpu()); }
TEST_F(GpuSettings, DropoutsDrawTheMaskTheyAreGiven) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16})
        settings_checks::dropouts_draw_the_mask_they_are_given(gpu(), dtype);
}
TEST_F(GpuSettings, AttentionDropsProbabilities) { settings_checks::attention_drops_probabilities(gpu()); }
TEST_F(GpuSettings, AttentionDropsProbabilitiesInTf32) {
    for (const bool causal : {true, false}) {
        settings_checks::attention_drops_probabilities(gpu(), {Dtype::tf32, false, causal, 2, 70, 4, 2, 64});
        settings_checks::attention_drops_probabilities(gpu(), {Dtype::tf32, false, causal, 1, 131, 1, 1, 96});
        settings_checks::attention_drops_probabilities(gpu(), {Dtype::tf32, false, causal, 1, 68, 2, 1, 128});
    }
}
TEST_F(GpuSettings, AttentionRoundsItsOperandsToTf32) { settings_checks::attention_rounds_its_operands_to_tf32(gpu()); }
TEST_F(GpuSettings, AttentionTakesItsHeadsApart) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
        settings_checks::products_take_heads_inside_rows(gpu(), dtype);
        settings_checks::softmax_leaves_out_what_queries_do_not_see(gpu(), dtype);
        settings_checks::heads_and_tokens_change_places(gpu(), dtype);
    }
}
TEST_F(GpuSettings, HalfProductsAccumulateAndAddABias) {
    for (const Dtype half : {Dtype::bf16, Dtype::fp16})
        settings_checks::half_products_accumulate_and_add_a_bias(gpu(), half);
}
TEST_F(GpuSettings, SumsOfHalfOperandsLandInEitherFormat) {
    for (const Dtype half : {Dtype::bf16, Dtype::fp16})
        settings_checks::sums_of_half_operands_land_in_either_format(gpu(), half);
}
TEST_F(GpuSettings, CastsGoBothWays) {
    for (const Dtype half : {Dtype::bf16, Dtype::fp16}) settings_checks::casts_go_both_ways(gpu(), half);
}
TEST_F(GpuSettings, CastsToFp8GoBothWays) { settings_checks::casts_to_fp8_go_both_ways(gpu()); }

TEST_F(GpuSettings, ProductsInFp8TakeTheirScales) {
    constexpr int first = 89;  // Ada's compute capability
    if (gpu().capability() < first) GTEST_SKIP() << "this GPU has no products in fp8";
    settings_checks::products_in_fp8_take_their_scales(gpu());
}

TEST_F(GpuSettings, PackedRowsChangeNoBitOfAttention) {
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp16, Dtype::tf32})
        settings_checks::packed_rows_change_no_bit_of_attention(gpu(), dtype);
}

}  // namespace
}  // namespace orrery::kernels
