#include "validate/doubts.hpp"

#include <algorithm>

namespace orrery::validate {

std::span<const Doubt> doubts() {
    static constexpr Doubt table[] = {
        {.reason = "doubtful: its sequences are shorter than printed",
         .source = "nvidia_dle",
         .ids = "dle/PyTorch/bert-large/",
         .part = "/seq512",
         .words =
             "\"Binned pretraining for phase2 with LDDL using a bin size of 64\": sequences of phase 2 are padded to "
             "the next multiple of 64 and not to 512 (PyTorch/LanguageModeling/BERT/README.md, January 2022; all of "
             "its tables are from the container of November 2021)"},
        {.reason = "doubtful: contradicts the same test on twice the GPUs",
         .source = "megatron_ci_tiny",
         .ids = "mcore/",
         .part = "_1node/dev_dgx_gb200",
         .words =
             "with twice the micro-batches a GPU, the tests named _1node take 3 to 32 times as long as those of the "
             "same name without it (Megatron-LM, tests/functional_tests/test_cases, golden_values_dev_dgx_gb200)"},
        {.reason = "doubtful: its source calls it a known regression",
         .source = "nvidia_megatron_bridge",
         .ids = "mbridge/26.06.01/GPT_OSS_120B/",
         .part = "",
         .words =
             "\"Performance regression in GPT-OSS 120B pre-training is a known issue. It will be resolved with the "
             "next container release.\" (docs/performance-summary-archive.md of Megatron-Bridge, footnote of both "
             "rows of container 26.06.01; 26.06 and 26.08 print 57 to 64% more tokens a second of the same plans)"},
    };
    return table;
}

const Doubt* doubt_about(const Row& row) {
    const auto about = [&](const Doubt& doubt) {
        return row.source() == doubt.source && row.id().starts_with(doubt.ids) && contains(row.id(), doubt.part);
    };
    const auto found = std::ranges::find_if(doubts(), about);
    return found == doubts().end() ? nullptr : &*found;
}

}  // namespace orrery::validate
