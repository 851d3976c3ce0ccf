#include "calibrate/chip_attention.hpp"

#include <algorithm>
#include <span>
#include <string>

namespace orrery::calibrate {

namespace {

/// Batch, tokens, heads, heads of keys and values, columns of a head, seconds. Of TPU7x one of a chip's two
/// devices, and of heads of 128 and more columns and 4,096 tokens and more the splash attention that MaxText calls.
constexpr AttentionPoint v5p[] = {
    {1, 16384, 8, 8, 256, 3.199e-3F},  {1, 16384, 16, 16, 128, 3.485e-3F}, {1, 16384, 32, 32, 64, 6.73e-3F},
    {2, 8192, 8, 8, 256, 1.868e-3F},   {2, 8192, 16, 16, 128, 2.158e-3F},  {2, 8192, 32, 32, 64, 4.013e-3F},
    {4, 4096, 8, 8, 256, 1.231e-3F},   {4, 4096, 16, 16, 128, 1.476e-3F},  {4, 4096, 32, 32, 64, 2.642e-3F},
    {8, 2048, 8, 8, 256, 0.894e-3F},   {8, 2048, 16, 16, 128, 1.008e-3F},  {8, 2048, 32, 32, 64, 1.796e-3F},
    {16, 1024, 8, 8, 256, 0.697e-3F},  {16, 1024, 16, 16, 128, 0.914e-3F}, {16, 1024, 32, 32, 64, 1.449e-3F},
    {32, 512, 8, 8, 256, 0.583e-3F},   {32, 512, 16, 16, 128, 0.702e-3F},  {32, 512, 32, 32, 64, 1.074e-3F},
    {32, 4096, 32, 8, 128, 21.904e-3F}};
constexpr AttentionPoint v6e[] = {
    {1, 16384, 8, 8, 256, 2.503e-3F}, {1, 16384, 16, 16, 128, 4.304e-3F}, {1, 16384, 32, 32, 64, 8.051e-3F},
    {2, 8192, 8, 8, 256, 1.651e-3F},  {2, 8192, 16, 16, 128, 2.83e-3F},   {2, 8192, 32, 32, 64, 4.933e-3F},
    {4, 4096, 8, 8, 256, 1.163e-3F},  {4, 4096, 16, 16, 128, 2.006e-3F},  {4, 4096, 32, 32, 64, 3.259e-3F},
    {8, 2048, 8, 8, 256, 0.905e-3F},  {8, 2048, 16, 16, 128, 1.543e-3F},  {8, 2048, 32, 32, 64, 2.326e-3F},
    {16, 1024, 8, 8, 256, 0.77e-3F},  {16, 1024, 16, 16, 128, 1.279e-3F}, {16, 1024, 32, 32, 64, 1.812e-3F},
    {32, 512, 8, 8, 256, 0.79e-3F},   {32, 512, 16, 16, 128, 1.104e-3F}};
constexpr AttentionPoint tpu7x[] = {
    {1, 4096, 32, 8, 128, 0.58e-3F},    {1, 4096, 32, 8, 256, 0.67e-3F},    {1, 8192, 32, 8, 128, 1.93e-3F},
    {1, 8192, 32, 8, 256, 2.14e-3F},    {1, 16384, 32, 32, 64, 7.414e-3F},  {1, 32768, 32, 8, 128, 24.75e-3F},
    {1, 32768, 32, 8, 256, 26.93e-3F},  {1, 131072, 32, 8, 128, 357.2e-3F}, {1, 131072, 32, 8, 256, 386.39e-3F},
    {2, 8192, 32, 32, 64, 4.416e-3F},   {4, 4096, 32, 32, 64, 2.887e-3F},   {8, 2048, 8, 8, 256, 0.727e-3F},
    {8, 2048, 16, 16, 128, 1.114e-3F},  {8, 2048, 32, 32, 64, 1.968e-3F},   {16, 1024, 8, 8, 256, 0.592e-3F},
    {16, 1024, 16, 16, 128, 0.884e-3F}, {16, 1024, 32, 32, 64, 1.497e-3F},  {32, 512, 8, 8, 256, 0.552e-3F},
    {32, 512, 16, 16, 128, 0.849e-3F},  {32, 512, 32, 32, 64, 1.351e-3F}};
constexpr AttentionPoint tpu7x_backward[] = {
    {1, 4096, 32, 8, 128, 1.19e-3F},    {1, 4096, 32, 8, 256, 1.25e-3F},     {1, 8192, 32, 8, 128, 3.98e-3F},
    {1, 8192, 32, 8, 256, 4.2e-3F},     {1, 16384, 32, 32, 64, 16.183e-3F},  {1, 32768, 32, 8, 128, 55.05e-3F},
    {1, 32768, 32, 8, 256, 58.11e-3F},  {1, 131072, 32, 8, 128, 823.43e-3F}, {1, 131072, 32, 8, 256, 853.37e-3F},
    {2, 8192, 32, 32, 64, 9.117e-3F},   {4, 4096, 32, 32, 64, 5.812e-3F},    {8, 2048, 8, 8, 256, 1.441e-3F},
    {8, 2048, 16, 16, 128, 2.068e-3F},  {8, 2048, 32, 32, 64, 3.868e-3F},    {16, 1024, 8, 8, 256, 1.068e-3F},
    {16, 1024, 16, 16, 128, 1.411e-3F}, {16, 1024, 32, 32, 64, 2.526e-3F},   {32, 512, 8, 8, 256, 0.956e-3F},
    {32, 512, 16, 16, 128, 1.179e-3F},  {32, 512, 32, 32, 64, 2.043e-3F}};

constexpr std::string_view
    flash = "openxla/tokamax, tokamax/data/autotuning, commit 783ea95, pallas_mosaic_tpu_flash_attention",
    splash = ", and of longer sequences its experimental/tpu/splash_attention/microbenchmarks.pdf";

/// devices: of a chip, each of which takes its part of the batch. slower: of a chip that was not read, by the peaks.
AttentionTable table_of(bool backward, std::span<const AttentionPoint> points, const hardware::Gpu& chip,
                        std::uint32_t devices, double slower) {
    AttentionTable table{.backward = backward, .causal = true, .provenance = {}, .points = {}};
    table.provenance = {.device = chip.name,
                        .clocks = "",
                        .date = "2026-07",
                        .software = "tokamax, Pallas",
                        .origin = std::string(flash),
                        .licence = "Apache-2.0"};
    if (devices > 1) table.provenance.origin += splash;
    if (slower != 1) table.provenance.origin += "; read on TPU v5p and carried over by the datasheets' peaks";
    for (AttentionPoint point : points) {
        point.batch *= devices;
        point.seconds *= static_cast<float>(slower);
        table.points.push_back(point);
    }
    std::ranges::sort(table.points, {}, &AttentionPoint::shape);
    return table;
}

}  // namespace

std::vector<AttentionTable> chip_attention(const hardware::Gpu& chip) {
    if (chip.name == "TPU7x") return {table_of(false, tpu7x, chip, 2, 1), table_of(true, tpu7x_backward, chip, 2, 1)};
    if (chip.name == "TPU-v6e") return {table_of(false, v6e, chip, 1, 1)};
    const double peak = hardware::find("TPU-v5p")->half_flops;
    return {table_of(false, v5p, chip, 1, peak / chip.half_flops)};
}

}  // namespace orrery::calibrate
