#include "strategies/refusal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

void refuse(std::string_view pointer, std::string_view message, std::string hint, Source source) {
    throw Error("", std::string(pointer), fmt::format("{} ({})", message, text_of(source, pointer)), std::move(hint));
}

void refuse_beside_zero3(const Plan& plan, std::string_view pointer) {
    if (plan.strategy.pipeline > 1)
        refuse(pointer, "given beside a pipeline, with which DeepSpeed refuses ZeRO-3",
               "set pipeline to 1, or leave it out", Source::deepspeed_pipeline);
    if (plan.model.experts > 0)
        refuse(pointer, "given, but DeepSpeed has no experts under ZeRO-3", "take a dense model, or leave it out",
               Source::deepspeed_engine);
}

std::string nearest_legal(std::uint64_t value, std::uint64_t last, const std::function<bool(std::uint64_t)>& legal) {
    std::vector<std::string> found;
    for (std::uint64_t below = std::min(value, last); below >= 1; --below) {
        if (!legal(below)) continue;
        found.push_back(std::to_string(below));
        break;
    }
    for (std::uint64_t above = value + 1; above <= last; ++above) {
        if (!legal(above)) continue;
        found.push_back(std::to_string(above));
        break;
    }
    if (found.empty()) return "no value is legal here";
    return fmt::format("nearest legal value{}: {}", found.size() > 1 ? "s" : "", join(found));
}

std::string nearest_divisors(std::uint64_t value, std::uint64_t of) {
    return nearest_legal(value, of, [of](std::uint64_t v) { return of % v == 0; });
}

std::string nearest_multiples(std::uint64_t value, std::uint64_t of) {
    const std::uint64_t below = value / of * of;
    return below == 0 ? fmt::format("nearest legal value: {}", of)
                      : fmt::format("nearest legal values: {}, {}", below, below + of);
}

}  // namespace orrery::strategies
