#include "strategies/stage_state.hpp"

#include <algorithm>

#include "base/enum_table.hpp"

namespace orrery::strategies {

std::string_view name(State state) {
    constexpr EnumNames<State> names{"weights",         "gradients",       "main gradients",   "masters",
                                     "first moments",   "second moments",  "overflow",         "norm",
                                     "received words",  "gathered",        "formed gradients", "arrived gradients",
                                     "leaving weights", "largest element", "cast weights",     "turned weights",
                                     "weight scales"};
    return names[state];
}

std::string_view name(Portion portion) {
    constexpr EnumNames<Portion> names{"kept", "updated", "counted", "replicated", "words"};
    return names[portion];
}

bool StateView::holds(std::uint32_t number, bool experts) const {
    if (bucket == of_experts) return experts;
    if (bucket == not_of_experts) return !experts;
    return bucket == all || bucket == number;
}

bool StateView::holds_layer(std::int32_t number) const {
    return layer == all_layers || (number >= layer && number - layer < static_cast<std::int32_t>(layers));
}

kernels::Format StageState::format_of(State state) const {
    switch (state) {
        case State::weights:
        case State::gathered:
        case State::leaving_weights: return weight;
        case State::gradients:
        case State::received_words:
        case State::formed:
        case State::arrived_gradients: return gradient;
        case State::cast_weights:
        case State::turned_weights: return kernels::Format::fp8;
        case State::largest:
        case State::weight_scales:
        case State::main_gradients:
        case State::masters:
        case State::first_moments:
        case State::second_moments:
        case State::overflow:
        case State::norm: break;
    }
    return kernels::Format::fp32;
}

std::uint64_t StageState::elements_of_layer(const StateView& view) const {
    std::uint64_t parameters = 0, of_experts = 0;
    for (const LayerState& layer : layers) {
        if (!view.holds_layer(layer.layer)) continue;
        if (view.bucket != StateView::of_experts) parameters += layer.parameters;
        if (view.bucket != StateView::not_of_experts) of_experts += layer.experts;
    }
    return view.state == State::gathered ? parameters + of_experts
                                         : parameters / sharing + of_experts / sharing_experts;
}

std::uint64_t StageState::elements_of_parameter(const StateView& view) const {
    if (view.state == State::largest || view.state == State::weight_scales) return 1;
    const auto found = std::ranges::find_if(narrow, [&](const NarrowState& weight) {
        return weight.layer == view.layer && weight.parameter == view.parameter;
    });
    return found == narrow.end() ? 0 : found->elements;
}

std::uint64_t StageState::elements(const StateView& view) const {
    if (view.parameter != StateView::all_parameters) return elements_of_parameter(view);
    if (view.state == State::norm || view.state == State::overflow) return 1;
    if (view.state == State::received_words || view.portion == Portion::words) return words;
    if (view.portion == Portion::replicated) return replicated;
    if (view.layer != StateView::all_layers) return elements_of_layer(view);
    const bool whole = view.portion == Portion::kept &&
                       (view.state == State::weights || view.state == State::gradients || view.state == State::formed);
    std::uint64_t kept = 0, parameters = 0, of_experts = 0, on_host = 0;
    for (std::uint32_t b = 0; b < buckets.size(); ++b) {
        const BucketState& bucket = buckets[b];
        if (!view.holds(b, bucket.experts)) continue;
        kept += view.state == State::gradients ? bucket.gradients
                : view.state == State::weights ? bucket.weights
                                               : bucket.parameters;
        on_host += bucket.on_host;
        (bucket.experts ? of_experts : parameters) += bucket.parameters;
    }
    if (whole) return kept;
    if (view.holder == Holder::host) return on_host;
    const std::uint64_t updated = parameters / sharing + of_experts / sharing_experts;
    return view.holder == Holder::device ? updated - on_host : updated;
}

}  // namespace orrery::strategies
