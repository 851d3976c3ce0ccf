#include "validate/measured.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "calibrate/peak.hpp"
#include "models/operators.hpp"

namespace orrery::validate {

namespace {

enum class Quantity : std::uint8_t {
    seconds,
    milliseconds,
    steps_per_s,
    sequences_per_s,  ///< of all GPUs together
    sequences_per_s_per_gpu,
    tokens_per_s,  ///< of all GPUs together
    tokens_per_s_per_gpu,
    model_teraflops,       ///< per GPU, recomputation not counted
    printed_teraflops,     ///< per GPU, by the convention that the row or its framework states
    parameter_teraflops,   ///< per GPU, 6 or 8 (with full recomputation) times parameters and tokens
    model_utilisation,     ///< MFU, percent of the datasheet's dense peak
    hardware_utilisation,  ///< HFU, percent
    printed_value,         ///< "value" beside a "unit"
};

struct Key {
    const char* path;
    Quantity quantity;
};

/// In the order of trust: the first that a row holds is used.
constexpr Key keys[] = {
    {"measured.step_time_s", Quantity::seconds},
    {"measured.step_time_s_median", Quantity::seconds},
    {"measured.step_time_s_mean", Quantity::seconds},
    {"measured.iteration_time_s", Quantity::seconds},
    {"measured.step_time_ms", Quantity::milliseconds},
    {"measured.iteration_time_ms", Quantity::milliseconds},
    {"measured.value", Quantity::printed_value},
    {"measured.latency_ms_printed", Quantity::milliseconds},
    {"measured.step_time_s_derived", Quantity::seconds},
    {"measured.sequences_per_s", Quantity::sequences_per_s},
    {"measured.samples_per_s", Quantity::sequences_per_s},
    {"measured.examples_per_s", Quantity::sequences_per_s},
    {"measured.images_per_s", Quantity::sequences_per_s},
    {"measured.samples_per_s_all_gpus_printed_per_gpu", Quantity::sequences_per_s},
    {"measured.sequences_per_s_per_gpu", Quantity::sequences_per_s_per_gpu},
    {"measured.samples_per_s_per_gpu", Quantity::sequences_per_s_per_gpu},
    {"measured.tokens_per_s", Quantity::tokens_per_s},
    {"measured.tokens_per_s_per_gpu", Quantity::tokens_per_s_per_gpu},
    {"measured.model_TFLOPs_per_s_per_gpu", Quantity::model_teraflops},
    {"measured.TFLOPs_per_s_per_gpu", Quantity::printed_teraflops},
    {"measured.TFLOPs_per_gpu", Quantity::printed_teraflops},
    {"measured.TFLOPs_per_gpu_printed", Quantity::parameter_teraflops},
    {"measured.TFLOPs_per_chip", Quantity::model_teraflops},
    {"measured.MFU_percent", Quantity::model_utilisation},
    {"measured.MFU", Quantity::model_utilisation},
    {"measured.HFU_percent", Quantity::hardware_utilisation},
};

struct Unit {
    std::string_view text;
    Quantity quantity;
};
constexpr Unit units[] = {
    {"ms/iteration", Quantity::milliseconds},
    {"ms/step", Quantity::milliseconds},
    {"ms", Quantity::milliseconds},
    {"s/iteration", Quantity::seconds},
    {"s/step", Quantity::seconds},
    {"s", Quantity::seconds},
    {"steps/s", Quantity::steps_per_s},
    {"iterations/s", Quantity::steps_per_s},
    {"samples/s", Quantity::sequences_per_s},
    {"sequences/s", Quantity::sequences_per_s},
    {"examples/s", Quantity::sequences_per_s},
    {"images/s", Quantity::sequences_per_s},
    {"tokens/s", Quantity::tokens_per_s},
    {"tokens/s/gpu", Quantity::tokens_per_s_per_gpu},
};

/// "speedup over 1 GPU", "x (up to)", "%", "fraction": how one run compares with another.
bool is_ratio(const std::string& unit) {
    return unit == "x" || unit.starts_with("x ") || unit.starts_with("%") || contains(unit, "speedup") ||
           contains(unit, "fraction") || contains(unit, "ratio");
}

Quantity of_unit(const Row& row) {
    const std::string unit = row.words("measured.unit");
    for (const Unit& known : units)
        if (unit == known.text) return known.quantity;
    if (is_ratio(unit)) throw Skip("ratio only");
    if (unit.starts_with("steps/s")) throw Skip("batch is not counted in sequences");
    throw Skip("not a step time");
}

bool has_ratio(const Row& row) {
    for (const char* path : {"measured.scaling_factor", "measured.scaling_factor_range", "measured.speedup"})
        if (row.has(path)) return true;
    return false;
}

/// "56.7%" or 56.7; of a key that does not say percent, up to 1 a fraction.
double percentage(const Row& row, const char* path) {
    const nlohmann::json* value = row.find(path);
    const auto of_number = [&](double number) {
        return number <= 1 && !std::string_view(path).ends_with("percent") ? 100 * number : number;
    };
    if (value == nullptr || !value->is_string()) return of_number(row.number(path).value_or(0));
    static const std::regex number(R"(^\s*(\d{1,3}(?:\.\d{1,6})?)\s*%?\s*$)");
    std::smatch found;
    const std::string words = row.words(path);
    if (!std::regex_match(words, found, number)) throw Skip(fmt::format("field of a wrong type: {}", path));
    return std::stod(found[1].str());
}

double known_peak(const topology::Gpu& gpu, kernels::Dtype dtype) {
    const double peak = calibrate::peak_flops(gpu, dtype);
    if (!(peak > 0)) throw Skip("the GPU has no datasheet peak at this precision");
    return peak;
}

/// Work and machine of one step, for turning rates into times.
struct Step {
    const strategies::Plan& plan;
    double gpus, sequences, tokens;

    [[nodiscard]] double model_flops() const {
        return models::model_flops(models::build(plan.model), plan.training.global_batch, plan.training.seq,
                                   plan.training.decoder_seq, plan.training.document_length);
    }
    [[nodiscard]] bool recomputed() const { return plan.strategy.recompute == strategies::Recompute::full; }
    [[nodiscard]] double hardware_flops() const {
        if (!recomputed()) return model_flops();
        return models::hardware_flops_full_recompute(models::build(plan.model), plan.training.global_batch,
                                                     plan.training.seq, plan.training.decoder_seq,
                                                     plan.training.document_length);
    }
};

/// Rows that say what their TFLOP/s count are believed; MaxText counts the model's (utils/maxtext_utils.py,
/// calculate_tflops_training_per_device); the others follow Megatron-LM's reports, which count what the device executes
/// (SC'21, equation 3; "TFLOPs=8*B*seq*gbs").
double printed_flops(const Row& row, const Step& step) {
    const std::string convention = row.words("measured.TFLOPs_convention");
    const bool of_model = contains(convention, "model flops") || contains(row.words("switches.framework"), "maxtext");
    return of_model ? step.model_flops() : step.hardware_flops();
}

double seconds_of(const Row& row, const Key& key, Quantity quantity, const Step& step, const topology::Gpu& gpu) {
    const bool percent = quantity == Quantity::model_utilisation || quantity == Quantity::hardware_utilisation;
    const double value = percent ? percentage(row, key.path) : row.number(key.path).value_or(0);
    if (!(value > 0)) throw Skip("measured value is not positive");
    const auto dtype = step.plan.training.precision.compute;
    switch (quantity) {
        case Quantity::seconds: return value;
        case Quantity::milliseconds: return value * 1e-3;
        case Quantity::steps_per_s: return 1 / value;
        case Quantity::sequences_per_s: return step.sequences / value;
        case Quantity::sequences_per_s_per_gpu: return step.sequences / (value * step.gpus);
        case Quantity::tokens_per_s: return step.tokens / value;
        case Quantity::tokens_per_s_per_gpu: return step.tokens / (value * step.gpus);
        case Quantity::model_teraflops: return step.model_flops() / (value * 1e12 * step.gpus);
        case Quantity::printed_teraflops: return printed_flops(row, step) / (value * 1e12 * step.gpus);
        case Quantity::parameter_teraflops: {
            const auto parameters = static_cast<double>(models::parameters(models::build(step.plan.model)));
            return (step.recomputed() ? 8 : 6) * parameters * step.tokens / (value * 1e12 * step.gpus);
        }
        case Quantity::model_utilisation:
            return step.model_flops() / (value * 1e-2 * known_peak(gpu, dtype) * step.gpus);
        case Quantity::hardware_utilisation:
            return step.hardware_flops() / (value * 1e-2 * known_peak(gpu, dtype) * step.gpus);
        case Quantity::printed_value: break;
    }
    return 0;
}

const Key* first_key(const Row& row) {
    for (const Key& key : keys)
        if (row.has(key.path)) return &key;
    return nullptr;
}

}  // namespace

void check_measured(const Row& row) {
    const nlohmann::json* measured = row.find("measured");
    if (measured == nullptr) throw Skip("nothing measured");
    if (!measured->is_object()) throw Skip("field of a wrong type: measured");
    const Key* key = first_key(row);
    if (key != nullptr && key->quantity == Quantity::printed_value) static_cast<void>(of_unit(row));
    if (key != nullptr) return;
    if (has_ratio(row)) throw Skip("ratio only");
    if (row.flag("measured.oom").value_or(false)) throw Skip("ran out of memory: no time");
    throw Skip("not a step time");
}

double measured_seconds(const Row& row, const scenarios::Scenario& scenario, const topology::Gpu& gpu) {
    check_measured(row);
    const Key& key = *first_key(row);
    const Quantity quantity = key.quantity == Quantity::printed_value ? of_unit(row) : key.quantity;
    const strategies::Training& training = scenario.plan.training;
    const Step step{.plan = scenario.plan,
                    .gpus = static_cast<double>(scenario.gpus),
                    .sequences = static_cast<double>(training.global_batch),
                    .tokens = training.tokens()};
    const double seconds = seconds_of(row, key, quantity, step, gpu);
    if (!std::isfinite(seconds) || !(seconds > 0)) throw Skip("measured value is out of range");
    return seconds;
}

}  // namespace orrery::validate
