#include "doors/megatron/flags.hpp"

#include <vector>

namespace orrery::doors::megatron {

std::span<const Row> flags() {
    static const std::vector<Row> all = [] {
        std::vector<Row> joined;
        for (const auto part : {flags_of_step(), flags_without_effect()})
            joined.insert(joined.end(), part.begin(), part.end());
        return joined;
    }();
    return all;
}

}  // namespace orrery::doors::megatron
