#include "calibrate/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "calibrate/chips.hpp"
#include "calibrate/clean_gemm.hpp"
#include "calibrate/gpu_constants.hpp"
#include "calibrate/gpu_facts.hpp"
#include "calibrate/import_formats.hpp"
#include "calibrate/instinct.hpp"
#include "calibrate/modelled_collectives.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/scaled_tables.hpp"
#include "hardware/datasheets.hpp"

namespace orrery::calibrate {

namespace {

const GpuFacts& facts_of(std::string_view name) {
    for (const auto& facts : gpu_facts())
        if (facts.name == name) return facts;
    throw Error(fmt::format("no published tables of \"{}\"", name), "one of " + join(importable()));
}

/// Products of a document's text.
void add_products(Profile& profile, kernels::Dtype dtype, std::span<const Product> products, Provenance provenance) {
    if (products.empty()) return;
    GemmTable table{dtype, {}, {}};
    table.provenance = std::move(provenance);
    for (const Product& p : products) {
        const double flops = kernels::flops(kernels::Gemm{dtype, 1, p.m, p.n, p.k});
        table.points.push_back({p.m, p.n, p.k, static_cast<float>(flops / (p.teraflops * 1e12))});
    }
    std::ranges::sort(table.points, {}, &GemmPoint::shape);
    profile.gemm.push_back(std::move(table));
}

void add_narrow(Profile& profile, const GpuFacts& facts) {
    add_products(profile, kernels::Dtype::fp8, facts.fp8,
                 {.device = std::string(facts.device),
                  .clocks = "after 10,000 warm-ups",
                  .date = "",
                  .software = "cuBLASLt, random data",
                  .origin = std::string(facts.fp8_origin),
                  .licence = std::string(facts.fp8_licence)});
    add_products(profile, kernels::Dtype::fp4, facts.fp4,
                 {.device = std::string(facts.device),
                  .clocks = "as they are",
                  .date = "",
                  .software = "cuBLASLt, random data",
                  .origin = std::string(facts.fp4_origin),
                  .licence = "BSD-3-Clause, Apache-2.0"});
}

/// Whose products and attention a profile holds.
std::string measured_on(const GpuFacts& facts) {
    return std::string(facts.measured_on.empty() ? facts.device : facts.measured_on);
}

void add_tables(Profile& profile, const GpuFacts& facts, const path& from) {
    for (const auto& [file, dtype] :
         {std::pair(facts.gemm, kernels::Dtype::bf16), std::pair(facts.gemm_fp8, kernels::Dtype::fp8),
          std::pair(facts.gemm_fp4, kernels::Dtype::fp4)}) {
        if (file.empty()) continue;
        profile.gemm.push_back(aiconfigurator_gemm(from / "gemm" / file, dtype, measured_on(facts)));
        replace_disturbed(profile.gemm.back());
    }
}

/// Products of 16 bits are not there: tensor cores that are the narrowest part of a GPU leave nothing else to read.
void add_infersim(Profile& profile, const GpuFacts& facts, const path& from) {
    const std::string gpu(facts.infersim);
    profile.gemm.push_back(infersim_gemm(from, gpu, measured_on(facts)));
    profile.gemm.push_back(twice_as_wide(profile.gemm.back()));
    profile.attention.push_back(infersim_attention(from, gpu, measured_on(facts)));
}

void add_gemm(Profile& profile, const GpuFacts& facts, const path& from) {
    if (!facts.infersim.empty()) return add_infersim(profile, facts, from / "infersim");
    const DeepBench& bench = facts.deepbench;
    if (bench.folder.empty()) return add_tables(profile, facts, from);
    const auto made = [&](std::string_view library) {
        return Provenance{measured_on(facts), "", std::string(bench.date), std::string(library), "", ""};
    };
    for (const auto& [name, dtype] :
         {std::pair(bench.half, kernels::Dtype::fp16), std::pair(bench.single, kernels::Dtype::fp32)}) {
        const path file = from / bench.folder / name;
        profile.gemm.push_back(deepbench_gemm(file, dtype, made(bench.blas)));
        for (ConvolutionTable& table : deepbench_convolutions(file, dtype, made(bench.dnn)))
            profile.convolution.push_back(std::move(table));
    }
}

/// Own measurements first, then the H100's (the nearer generation), then the A100's.
void add_pointwise(Profile& profile, const GpuFacts& facts, const path& from) {
    const path folder = from / "memory_bound";
    for (const char* name : {"h100", "a100"}) {
        const GpuFacts& source = facts_of(name);
        const bool older = board_of(facts).half_flops < board_of(source).half_flops;
        if (older && facts.name != source.name && source.name == "h100") continue;  // V100 and A100: the A100's tables
        const std::string prefix = fmt::format("{}_Llama-2-", source.vidur);
        add_scaled(profile,
                   vidur_pointwise({folder / (prefix + "7b-hf.csv"), folder / (prefix + "70b-hf.csv")},
                                   std::string(source.device)),
                   source.device, board_of(facts).memory_bytes_per_second / board_of(source).memory_bytes_per_second,
                   facts.cache_bytes);
    }
    const GpuFacts& ampere = facts_of("a100");
    add_scaled(profile, llmcompass_pointwise(folder), ampere.device,
               board_of(facts).memory_bytes_per_second / board_of(ampere).memory_bytes_per_second, facts.cache_bytes);
}

/// Sizes below a table's first, shaped like `shape` (another sweep of the same kind and ranks) and meeting the table
/// at its first size.
void extend_below(CollectiveTable& table, const CollectiveTable& shape) {
    const CollectivePoint first = table.points.front();
    const auto meets = std::lower_bound(shape.points.begin(), shape.points.end(), first.bytes,
                                        [](const auto& p, double bytes) { return p.bytes < bytes; });
    if (meets == shape.points.end()) return;
    const double scale = first.seconds / meets->seconds;
    std::vector<CollectivePoint> points;
    for (const auto& p : shape.points)
        if (p.bytes < first.bytes) points.push_back({p.bytes, p.seconds * scale});
    table.points.insert(table.points.begin(), points.begin(), points.end());
    table.provenance.origin +=
        fmt::format("; below {:.0f} B shaped like {} (estimate)", first.bytes, shape.provenance.origin);
}

/// NVLinks between so many GPUs of a DGX-1V's cube mesh, of which vTrain's tables are: the fewest that any of them has
/// to the others (`nvidia-smi topo -m`; topology/dgx.cpp).
constexpr std::array<std::uint32_t, 9> cube_mesh_nvlinks{0, 0, 1, 2, 4, 2, 3, 4, 6};

const CollectiveTable& nearest(const std::vector<CollectiveTable>& tables, kernels::CollectiveKind kind,
                               std::uint32_t ranks) {
    const CollectiveTable* best = nullptr;
    for (const auto& t : tables)
        if (t.kind == kind && (best == nullptr || t.ranks <= ranks)) best = &t;
    if (best == nullptr) throw Error(fmt::format("no sweep of {}", kernels::name(kind)), "");
    return *best;
}

void add_collectives(Profile& profile, const GpuFacts& facts, const path& from) {
    const path folder = from / "collectives";
    if (board_of(facts).socket == hardware::Socket::pcie && facts.nccl_system.empty()) {
        profile.collectives = pcie_collectives(std::string(facts.device));
        return;
    }
    const GpuFacts& shape = facts.nccl_system.empty() ? facts_of("a100") : facts;
    auto sweeps = aiconfigurator_collectives(folder / "nccl_one_node.csv", std::string(shape.nccl_system),
                                             std::string(shape.nccl_of.empty() ? shape.device : shape.nccl_of));
    if (facts.over_v100_links > 0) {
        const std::string device(facts.over_v100_links == 1 ? facts.device : facts_of("v100").device);
        for (auto& table : vtrain_all_reduce(folder / "allreduce_v100", device)) {
            extend_below(table, nearest(sweeps, table.kind, table.ranks));
            scale_links(table, facts.over_v100_links, "the ratio of NVLinks' rates");
            table.nvlink_bytes_per_second =
                cube_mesh_nvlinks.at(table.ranks) * hardware::nvlink2_bytes_per_second * facts.over_v100_links;
            profile.collectives.push_back(std::move(table));
        }
        return;
    }
    profile.collectives = std::move(sweeps);
    if (!facts.send_recv.empty())
        profile.collectives.push_back(vidur_send_recv(folder / facts.send_recv, std::string(facts.device)));
    for (CollectiveTable& table : profile.collectives) table.nvlink_bytes_per_second = facts.nvswitch_bytes_per_second;
}

}  // namespace

std::vector<std::string_view> importable() {
    std::vector<std::string_view> names;
    for (const auto& facts : gpu_facts()) names.push_back(facts.name);
    names.insert(names.end(), instincts().begin(), instincts().end());
    names.insert(names.end(), chips().begin(), chips().end());
    return names;
}

Profile import_tables(std::string_view name, const path& measurements) {
    if (std::ranges::find(chips(), name) != chips().end()) {
        Profile chip = as_read(chip_profile(name));
        chip.held_out = held_out_errors(chip);
        return chip;
    }
    if (std::ranges::find(instincts(), name) != instincts().end()) return instinct_profile(name, measurements);
    const GpuFacts& facts = facts_of(name);
    Profile profile;
    profile.name = facts.name;
    profile.device = facts.device;
    profile.made_by = fmt::format("orrery profile import {}", facts.name);
    profile.constants = constants_of(facts);
    add_gemm(profile, facts, measurements);
    add_narrow(profile, facts);
    if (!facts.attention.empty())
        profile.attention.push_back(
            aiconfigurator_attention(measurements / "attention" / facts.attention, measured_on(facts)));
    add_pointwise(profile, facts, measurements);
    add_collectives(profile, facts, measurements);
    round_times(profile);
    profile.held_out = held_out_errors(profile);
    return profile;
}

}  // namespace orrery::calibrate
