#include "hardware/gpu.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "hardware/gpu_rows.hpp"

namespace orrery::hardware {

namespace {

constexpr std::uint64_t GiB = std::uint64_t{1} << 30;
constexpr double G = 1e9, T = 1e12;

const std::vector<GpuRow>& rows() {
    static const std::vector<GpuRow> all = [] {
        std::vector<GpuRow> result;
        for (const auto& maker : {nvidia_gpus(), amd_gpus(), other_chips()})
            result.insert(result.end(), maker.begin(), maker.end());
        return result;
    }();
    return all;
}

/// NVIDIA's tensor cores take bf16 since those that take tf32.
bool takes_bf16(const GpuRow& row) { return row.tf32 > 0 || vendor(row.socket) != Vendor::nvidia; }

std::vector<Gpu> make_gpus() {
    std::vector<Gpu> result;
    for (const GpuRow& r : rows()) {
        result.push_back({.name = r.name,
                          .profile = r.profile,
                          .memory_bytes = r.gibibytes * GiB,
                          .memory_bytes_per_second = r.gigabytes_per_second * G,
                          .fp32_flops = r.fp32 * T,
                          .tf32_flops = r.tf32 * T,
                          .half_flops = r.half * T,
                          .fp8_flops = r.fp8 * T,
                          .fp4_flops = r.fp4 * T,
                          .bf16 = takes_bf16(r),
                          .fp16 = r.half > 0 && r.socket != Socket::core,
                          .socket = r.socket,
                          .multiprocessors = r.multiprocessors,
                          .compute_capability = r.compute_capability,
                          .host = r.host,
                          .nvlinks = r.nvlinks,
                          .datasheet = r.datasheet});
    }
    return result;
}

bool answers_to(const GpuRow& row, const std::string& wanted) {
    return lower(row.name) == wanted ||
           std::ranges::any_of(row.aliases, [&](std::string_view a) { return !a.empty() && lower(a) == wanted; });
}

}  // namespace

std::span<const Gpu> gpus() {
    static const std::vector<Gpu> table = make_gpus();
    return table;
}

const Gpu* find(std::string_view name) {
    const auto row =
        std::ranges::find_if(rows(), [wanted = lower(name)](const GpuRow& r) { return answers_to(r, wanted); });
    return row == rows().end() ? nullptr : &gpus()[static_cast<std::size_t>(row - rows().begin())];
}

std::span<const std::string_view> names() {
    static const std::vector<std::string_view> all = [] {
        std::vector<std::string_view> result;
        for (const GpuRow& row : rows()) {
            result.emplace_back(row.name);
            std::ranges::copy_if(row.aliases, std::back_inserter(result), [](auto alias) { return !alias.empty(); });
        }
        return result;
    }();
    return all;
}

std::string gpus_with(Socket socket) {
    std::string text;
    for (const GpuRow& row : rows()) {
        if (row.socket == socket) text += (text.empty() ? "" : ", ") + std::string(row.name);
    }
    return text;
}

}  // namespace orrery::hardware
