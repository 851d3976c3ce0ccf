#include "calibrate/instinct.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "calibrate/gpu_constants.hpp"
#include "calibrate/import_instinct.hpp"
#include "calibrate/modelled_collectives.hpp"
#include "calibrate/predict_attention.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/profile_store.hpp"
#include "calibrate/scaled_tables.hpp"
#include "hardware/gpu.hpp"

namespace orrery::calibrate {

namespace {

using kernels::CollectiveKind;
using kernels::Dtype;
using std::filesystem::path;

/// A rate and where it was read.
struct Rate {
    double value = 0;
    std::string_view origin = {};
};

/// What is known of a board besides its tables and its datasheet.
struct Facts {
    std::string_view name, board;
    Rate lasting;                     ///< TFLOP/s of a product in bf16 that is repeated for a second and more
    Rate lasting_fp8;                 ///< likewise; 0: none
    Rate stream;                      ///< share of the datasheet's bandwidth that a long stream reaches
    std::string_view attention_of;    ///< the board whose tables are taken
    std::string_view collectives_of;  ///< likewise; "": modelled
    std::span<const Dtype> products;  ///< formats that have a table
    bool has_memory = false;          ///< memory-bound kernels were read on it
};

constexpr Dtype both_halves[] = {Dtype::bf16, Dtype::fp16}, half_and_fp8[] = {Dtype::bf16, Dtype::fp8};

constexpr std::string_view maf = "Measuring Max-Achievable FLOPs, part 2 (ROCm blogs, 2025): a second of one product";
constexpr std::string_view mi300_stream =
    "3.88 of 5.3 TB/s: copies in PyTorch (kernel-curiosity, kernels/softmax), BabelStream's triad (AMD Instinct system "
    "acceptance)";

constexpr Facts table[] = {
    {"mi250x",
     "MI250X",
     {147.9, "the best of products of half a millisecond and more; no longer run is published"},
     {},
     {1.1 / 1.638, "1.1 of 1.638 TB/s a die: BabelStream's add and triad (AMD Instinct system acceptance, MI250)"},
     "mi300x",
     "",
     both_halves},
    {"mi300x", "MI300X", {708, maf}, {1273, maf}, {3.88 / 5.3, mi300_stream}, "mi300x", "mi300x", half_and_fp8, true},
    {"mi325x", "MI325X", {843, maf}, {1519, maf}, {3.88 / 5.3, mi300_stream}, "mi300x", "mi300x", half_and_fp8},
    {"mi355x",
     "MI355X",
     {1565, "found by a long search (mamf-finder, Bekman, ML Engineering)"},
     {3293.2, "16,384 cubed by hipblaslt-bench (HipKittens, analysis/fp8_gemm)"},
     {5.801 / 8, "5.801 of 8 TB/s: an addition of 17 GB (tile-lang, pull request 2248)"},
     "mi355x",
     "mi355x",
     half_and_fp8,
     true},
};

const Facts& facts_of(std::string_view name) {
    const auto* const found = std::ranges::find(table, name, &Facts::name);
    if (found == std::end(table))
        throw Error(fmt::format("no board \"{}\" of AMD's", name), "one of " + join(instincts()));
    return *found;
}

const hardware::Gpu& board_of(const Facts& facts) { return *hardware::find(facts.board); }
std::string device_of(const Facts& facts) { return "AMD Instinct " + std::string(facts.board); }

double best_rate(const Profile& profile, Dtype dtype) {
    double best = 0;
    for (const GemmTable& t : profile.gemm)
        for (const GemmPoint& p : t.points)
            if (t.dtype == dtype)
                best = std::max(best, kernels::flops(kernels::Gemm{dtype, 1, p.m, p.n, p.k}) / p.seconds);
    return best;
}

Constant lasting(const Rate& rate, double best) {
    return {std::min(1.0, rate.value * 1e12 / best), "1",
            fmt::format("{:g} TFLOP/s over the best of the table, {:.1f} TFLOP/s: {}", rate.value, best / 1e12,
                        rate.origin)};
}

constexpr double beside_collectives = 2 / 1.21;

/// Of what no one read on these boards, NVIDIA's.
void add_borrowed(std::map<std::string, Constant>& out, const Profile& hopper) {
    for (const char* const key : {"state_space_products", "state_space_convolution", "board_spread",
                                  "kernel_gap_seconds", "graph_gap_seconds", "collective_launch_seconds"}) {
        Constant constant = hopper.constants.at(key);
        constant.origin += "; not read on AMD's (estimate)";
        out[key] = std::move(constant);
    }
}

/// Backward over forward: medians of the same shapes, causal, from 4,096 tokens on.
Constant backward_rate(const Profile& profile) {
    const auto rate = [&](bool backward) {
        std::vector<double> rates;
        for (const AttentionTable& t : profile.attention)
            for (const AttentionPoint& p : t.points)
                if (t.causal && t.backward == backward && p.seq >= 4096)
                    rates.push_back(kernels::flops(shape_of(p, t)) / p.seconds);
        if (rates.empty()) throw Error("no causal attention of 4,096 tokens and more was read", "add rows of it");
        return median(std::move(rates));
    };
    return {rate(true) / rate(false), "1", "medians of the tables of causal attention from 4,096 tokens on"};
}

void add_constants(Profile& profile, const Facts& facts, const Profile& hopper) {
    const hardware::Gpu& board = board_of(facts);
    auto& out = profile.constants;
    out = board_constants(board);
    add_borrowed(out, hopper);
    out["multiprocessors"] = {static_cast<double>(board.multiprocessors), "1", board.datasheet};
    out["sustained_gemm"] = lasting(facts.lasting, best_rate(profile, Dtype::bf16));
    if (facts.lasting_fp8.value > 0) out["sustained_fp8"] = lasting(facts.lasting_fp8, best_rate(profile, Dtype::fp8));
    out["sustained_memory"] = {facts.stream.value, "1", std::string(facts.stream.origin)};
    out["launch_seconds"] = {3.2e-6, "s",
                             "hipLaunchKernel on an MI300X, median of a trace (TraceLens, tests/traces/mi300, resnet)"};
    out["overlap_slowdown"] = {beside_collectives, "1",
                               "products and collectives at once reach 21% of the ideal speedup on MI300X (ConCCL, "
                               "arXiv 2412.14335): two that take as long take 2 / 1.21 of that"};
    out["attention_backward_rate"] = backward_rate(profile);
}

/// The tables of another board of the architecture's, by the datasheets' peaks.
void scale_attention(AttentionTable& table, const hardware::Gpu& from, const hardware::Gpu& to) {
    if (from.name == to.name) return;
    const double ratio = to.half_flops / from.half_flops;
    for (AttentionPoint& p : table.points) p.seconds = static_cast<float>(p.seconds / ratio);
    table.provenance.origin += fmt::format("; {} by the datasheets' peaks, {:.3f} (estimate)", from.name, ratio);
}

void add_attention(Profile& profile, const Facts& facts, const path& folder) {
    const Facts& source = facts_of(facts.attention_of);
    for (AttentionTable& table : instinct_attention(folder, source.name, device_of(source))) {
        scale_attention(table, board_of(source), board_of(facts));
        profile.attention.push_back(std::move(table));
    }
}

/// Own readings, then those on other boards of AMD's by their bandwidths, then an H100's.
void add_pointwise(Profile& profile, const Facts& facts, const path& folder, const Profile& hopper) {
    const double own = board_of(facts).memory_bytes_per_second;
    const auto add = [&](const Facts& source) {
        const double there = board_of(source).memory_bytes_per_second;
        add_scaled(profile, instinct_pointwise(folder, source.name, device_of(source)), device_of(source), own / there);
    };
    for (const Facts& source : table)
        if (source.has_memory && source.name == facts.name) add(source);
    for (const Facts& source : table)
        if (source.has_memory && source.name != facts.name) add(source);
    add_scaled(profile, hopper.pointwise, hopper.device, own / hopper.constants.at("memory_bytes_per_second").value);
}

/// Of all eight, and where fewer were not read as many of their seven links as they have to each other: the mesh has
/// one for each pair.
void add_mesh(Profile& profile, const Facts& facts, const path& folder) {
    profile.collectives = instinct_collectives(folder, facts.collectives_of, device_of(facts_of(facts.collectives_of)));
    const auto of_eight = std::ranges::find_if(profile.collectives, [](const CollectiveTable& t) {
        return t.kind == CollectiveKind::all_reduce && t.ranks == 8;
    });
    if (of_eight == profile.collectives.end())
        throw Error((folder / fmt::format("collectives_{}.csv", facts.collectives_of)).string(), "",
                    "no all_reduce among 8 ranks", "add rows of one");
    const CollectiveTable all = *of_eight;
    for (const std::uint32_t ranks : {2U, 4U}) {
        if (std::ranges::find(profile.collectives, ranks, &CollectiveTable::ranks) != profile.collectives.end())
            continue;
        CollectiveTable& few = profile.collectives.emplace_back(all);
        few.ranks = ranks;
        const double traffic = kernels::bus_factor(few.kind, ranks) / kernels::bus_factor(few.kind, all.ranks);
        scale_links(few, (ranks - 1.0) / (all.ranks - 1.0) / traffic,
                    fmt::format("{} of 7 links for {} of 8 ranks", ranks - 1, ranks));
    }
}

}  // namespace

std::span<const std::string_view> instincts() {
    static constexpr std::array names{table[0].name, table[1].name, table[2].name, table[3].name};
    static_assert(names.size() == std::size(table));
    return names;
}

Profile instinct_profile(std::string_view name, const path& measurements) {
    const Facts& facts = facts_of(name);
    const path folder = measurements / "instinct";
    ProfileStore store;
    const Profile& hopper = store.find("h100").profile();
    Profile profile;
    profile.name = facts.name;
    profile.device = device_of(facts);
    profile.made_by = fmt::format("orrery profile import {}", facts.name);
    for (const Dtype dtype : facts.products)
        profile.gemm.push_back(instinct_gemm(folder, facts.name, dtype, profile.device));
    add_attention(profile, facts, folder);
    add_pointwise(profile, facts, folder, hopper);
    if (facts.collectives_of.empty())
        profile.collectives = mi250x_collectives(profile.device);
    else
        add_mesh(profile, facts, folder);
    add_constants(profile, facts, hopper);
    round_times(profile);
    profile.held_out = held_out_errors(profile);
    return profile;
}

}  // namespace orrery::calibrate
