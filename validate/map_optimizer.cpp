#include "validate/map_row.hpp"

namespace orrery::validate {

using strategies::Optimizer;

void map_optimizer(const Row& row, strategies::Training& training) {
    const bool eight_bits = contains(row.words("switches.optimizer"), "8-bit");
    const bool examples = contains(source_words(row), "deeplearningexamples");
    const bool bert = examples && begins_word(row.words("model.name"), "bert");
    if (is_image_model(row)) training.optimizer = Optimizer::momentum;
    if (is_recurrent_model(row) || bert) training.optimizer = Optimizer::lamb;
    if (contains(row.words("switches.optimizer"), "muon")) training.optimizer = Optimizer::muon;
    if (eight_bits) training.optimizer = Optimizer::adam8bit;
    training.fused_optimizer = !is_recurrent_model(row) && !eight_bits;
}

}  // namespace orrery::validate
