#include "scenarios/scope_keys.hpp"

#include <array>

#include "models/limits.hpp"
#include "strategies/schedule/schedule.hpp"
#include "strategies/step_limits.hpp"

namespace orrery::scenarios {

namespace {

using documents::Key;
using documents::word;
using strategies::ScheduleKind;
using enum documents::Kind;

constexpr double most_ranks = strategies::most_ranks, most_stages = models::most_layers, most_micro_batches = 1 << 24;

constexpr std::array<std::string_view, 5> words{"replica", "split", "pipeline", "stage", "auto_parallel"};
constexpr std::array<std::string_view, 4> parts{"layers", "experts", "backbone", "classifier"};
constexpr std::array modes{documents::Word{"replica", 0}, documents::Word{"pipeline", 1}};
constexpr std::array orders{word("PreferBackward", ScheduleKind::one_f_one_b),
                            word("PreferForward", ScheduleKind::gpipe)};

// clang-format off
constexpr std::array of_scope{
    Key{.name = "replica", .kind = integer, .min = 1, .max = most_ranks,
        .help = "So many copies of what is inside, among which a batch is divided."},
    Key{.name = "split", .kind = integer, .min = 1, .max = most_ranks,
        .help = "So many GPUs among which what is inside is divided: tensor ranks of layers, expert ranks of experts, "
                "classes of a classifier."},
    Key{.name = "pipeline", .kind = nested,
        .help = "Stages, one behind the other.", .form = "a list of stages: [{\"stage\": \"0-7\"}, ...]"},
    Key{.name = "stage", .kind = text,
        .help = "Layers of a stage of a pipeline: \"0-7\", or \"8 layers\" behind those of the stage before."},
    Key{.name = "auto_parallel", .kind = choice, .words = modes,
        .help = "replica: as many copies as the GPUs hold; pipeline: num_stages stages of equally many layers, one "
                "more in the middle where they do not divide (`orrery partition` divides them by their times)."},
    Key{.name = "num_stages", .kind = integer, .min = 1, .max = most_stages,
        .help = "Of auto_parallel pipeline."},
    Key{.name = "num_micro_batch", .kind = integer, .min = 1, .max = most_micro_batches,
        .help = "Of a pipeline: micro-batches of each replica in a step, in place of training.micro_batch_size."},
    Key{.name = "strategy", .kind = choice, .words = orders,
        .help = "Of a pipeline, EPL's names: PreferBackward is schedule 1f1b, PreferForward gpipe."},
    Key{.name = "of", .kind = nested,
        .help = "What is inside; scopes beside each other stand on the same GPUs.",
        .when_absent = "all that no scope beside it names",
        .form = "a scope, a list of scopes, or one of \"layers\", \"experts\", \"backbone\", \"classifier\""},
};
// clang-format on

}  // namespace

Key scopes_key() {
    return {.name = "scopes",
            .kind = nested,
            .help =
                "Whale's scopes, which say how the model is divided in place of data, tensor, pipeline and their "
                "like: {\"replica\": 4, \"of\": {\"split\": 8}}.",
            .when_absent = "those keys say it",
            .origin = "Jia et al., USENIX ATC'22 (Whale); EPL",
            .form = "a scope, or a list of scopes"};
}

std::span<const Key> scope_keys() { return of_scope; }

std::span<const std::string_view> scope_words() { return words; }

std::span<const std::string_view> scope_parts() { return parts; }

}  // namespace orrery::scenarios
