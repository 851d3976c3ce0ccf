// Launches with settings against plain loops in double precision: the same checks for every device.
#pragma once

#include "kernels/device.hpp"

namespace orrery::kernels::settings_checks {

void products_accumulate_and_add_a_bias(Device& device);
void sums_accumulate(Device& device);
void scale_and_adam_take_their_numbers(Device& device);
void rope_turns_heads_inside_packed_rows(Device& device);
void attention_reads_heads_inside_packed_rows(Device& device);
void losses_leave_padding_out(Device& device);
void parts_of_a_loss_make_the_whole(Device& device);
void embeddings_leave_rows_of_others_out(Device& device);
void batched_products_add_a_bias_each(Device& device);
void gates_take_given_experts(Device& device);
void tokens_have_any_number_of_copies(Device& device);

// dropout_checks.cpp
void dropouts_draw_the_mask_they_are_given(Device& device, Dtype dtype);
void attention_drops_probabilities(Device& device, Attention attention);
void attention_drops_probabilities(Device& device);  ///< in every format

// tf32_checks.cpp
void attention_rounds_its_operands_to_tf32(Device& device);

// head_checks.cpp
void products_take_heads_inside_rows(Device& device, Dtype dtype);
void softmax_leaves_out_what_queries_do_not_see(Device& device, Dtype dtype);
void heads_and_tokens_change_places(Device& device, Dtype dtype);

// half_checks.cpp
void half_products_accumulate_and_add_a_bias(Device& device, Dtype half);
void sums_of_half_operands_land_in_either_format(Device& device, Dtype half);
void casts_go_both_ways(Device& device, Dtype half);
void packed_rows_change_no_bit_of_attention(Device& device, Dtype dtype);

// narrow_checks.cpp: of GPUs
void casts_to_fp8_go_both_ways(Device& device);
void products_in_fp8_take_their_scales(Device& device);

}  // namespace orrery::kernels::settings_checks
