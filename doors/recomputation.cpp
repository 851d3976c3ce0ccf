#include "doors/recomputation.hpp"

#include <algorithm>
#include <cstdint>

#include "doors/convert.hpp"

namespace orrery::doors {

namespace {

std::uint64_t layers_of_chunk(const Draft& draft) {
    const std::uint64_t chunks = std::max<std::uint64_t>(1, draft.whole("/strategy/pipeline", 1)) *
                                 std::max<std::uint64_t>(1, draft.whole("/strategy/virtual_pipeline", 1));
    return draft.whole("/model/num_hidden_layers", 0) / chunks;
}

}  // namespace

void read_recomputed_layers(const Given* number, const Given* method, Draft& draft) {
    if (number == nullptr) return;
    const auto layers = whole_of(*number, draft, 0);
    if (!layers) return;
    if (method == nullptr || text_of(method->value) != "block") {
        if (*layers > 1)
            draft.findings.not_modelled(number->origin.place, number->origin.name,
                                        "the input of every layer is kept, not of every so many-th alone",
                                        "1, or compare the memory with a measurement");
        return;
    }
    if (*layers == 0)
        draft.set("/strategy/recompute", "none", number->origin);
    else if (*layers < layers_of_chunk(draft))
        set_key("/strategy/recompute_num_layers", {number->name, *layers, number->origin}, draft);
}

}  // namespace orrery::doors
