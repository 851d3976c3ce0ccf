// A measurement that a trace gave: what is promised of it.
#include "tests/fuzz/measured_step.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "calibrate/traced_products.hpp"
#include "report/compare.hpp"
#include "tests/calibrate/small_profile.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

namespace {

using doors::trace::Measurement;

nlohmann::json prediction(std::uint32_t ranks) {
    nlohmann::json breakdown;
    for (const char* key : {"gemm", "attention", "memory_bound", "tensor_comm", "expert_comm", "pipeline_comm",
                            "data_comm", "offload", "optimizer", "launch", "bubble"})
        breakdown[key] = 0.1;
    return {{"step_time_s", 1.1}, {"provenance", {{"gpus", ranks}}}, {"stages", {{{"breakdown_s", breakdown}}}}};
}

void require_sums(const Measurement& m) {
    double parts = 0, mean = 0;
    for (const double seconds : m.breakdown) {
        require(std::isfinite(seconds) && seconds >= 0, "times are finite and not negative");
        parts += seconds;
    }
    for (const double seconds : m.step_seconds) mean += seconds / static_cast<double>(m.step_seconds.size());
    require(std::abs(parts - mean) <= 1e-6 * mean + 1e-9, "what the device does adds up to the step");
    require(m.in_layers >= 0 && m.in_layers <= 1 + 1e-9, "a share is one");
}

}  // namespace

void require_usable(const Measurement& m) {
    require_sums(m);
    std::vector<calibrate::TracedProduct> products;
    for (const auto& p : m.products) {
        require(p.seconds > 0 && p.spread >= 0, "a product takes time");
        products.push_back({p.gemm, p.seconds, std::min(p.spread / p.seconds, 0.99)});
    }
    calibrate::Profile profile = calibrate::small_profile();
    (void)calibrate::put_products(profile, products, {"", "", "", "", "torch.profiler", ""});
    const nlohmann::json written = nlohmann::json::parse(m.json().dump());
    try {
        const report::Comparison compared =
            report::compare(prediction(m.ranks.value_or(8)), "predicted.json", written, "measured.json");
        require(!report::to_text(compared, {}).empty(), "a comparison can be printed");
    } catch (const Error& error) {
        require(error.file() == "measured.json" || error.file() == "predicted.json", "an error names the file");
        require(!error.hint().empty(), "an error says how to mend it");
    }
}

}  // namespace orrery::fuzz
