#include "validate/memory.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace orrery::validate {

namespace {

constexpr double mebibyte = 1024.0 * 1024, gibibyte = 1024 * mebibyte;

struct Key {
    const char* path;
    double unit;  ///< bytes
    bool last_stage;
};

/// nvidia-smi and torch.cuda count in binary units, also where a table prints "GB".
constexpr Key keys[] = {
    {"measured.peak_memory_bytes_rank_logged", 1, true},
    {"measured.peak_memory_bytes", 1, false},
    {"measured.peak_memory_MiB", mebibyte, false},
    {"measured.memory_MiB_printed", mebibyte, false},
    {"measured.memory_MiB", mebibyte, false},
    {"measured.peak_memory_GiB", gibibyte, false},
    {"measured.memory_GiB", gibibyte, false},
    {"measured.peak_memory_GB", gibibyte, false},
    {"measured.memory_GB", gibibyte, false},
    {"measured.memory_GB_printed", gibibyte, false},
};

}  // namespace

std::optional<MeasuredMemory> measured_memory(const Row& row) {
    if (const nlohmann::json* measured = row.find("measured"); measured == nullptr || !measured->is_object())
        return std::nullopt;
    for (const Key& key : keys) {
        if (!row.has(key.path)) continue;
        const double bytes = row.number(key.path).value_or(0) * key.unit;
        if (!(bytes > 0)) throw Skip("measured value is not positive");
        return MeasuredMemory{bytes, key.last_stage};
    }
    return std::nullopt;
}

double predicted_memory(const MeasuredMemory& measured, const sim::MemoryUse& predicted) {
    if (predicted.memory.empty()) throw Skip("no memory was predicted");
    if (measured.last_stage) return static_cast<double>(predicted.memory.back().peak);
    const auto fullest = std::ranges::max_element(predicted.memory, {}, &sim::StageMemory::peak);
    return static_cast<double>(fullest->peak);
}

}  // namespace orrery::validate
