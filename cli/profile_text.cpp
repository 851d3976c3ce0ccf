// The tables that `orrery profile show` and `orrery calibrate show` print.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "base/units.hpp"
#include "calibrate/roofline.hpp"
#include "cli/calibrate.hpp"
#include "report/coverage.hpp"
#include "report/explain.hpp"

namespace orrery::cli {

namespace {

using Align = Table::Align;

std::string whole(std::uint64_t value) { return fmt::format("{}", value); }
std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

double constant(const calibrate::Profile& profile, const char* key) {
    const auto found = profile.constants.find(key);
    return found == profile.constants.end() ? 0 : found->second.value;
}

std::string rate(double flops_per_second) { return fmt::format("{:.3g} TFLOP/s", flops_per_second / 1e12); }

}  // namespace

std::string coverage_table(const calibrate::Profile& profile) {
    Table table({{"table", Align::left}, {"points"}, {"range", Align::left}, {"measured by", Align::left}});
    for (const report::Coverage& each : report::coverage(profile))
        table.row({each.table, whole(each.points), each.range, each.from->origin});
    return table.to_text();
}

std::string held_out_table(const calibrate::Profile& profile) {
    if (profile.held_out.empty()) return "no held-out errors: too few points\n";
    Table table({{"held-out error of", Align::left}, {"points"}, {"mean"}, {"median"}, {"90th percentile"}});
    for (const auto& [suite, error] : profile.held_out)
        table.row({suite, whole(error.points), percent(error.mean), percent(error.median), percent(error.p90)});
    return table.to_text();
}

std::string roofline_table(const calibrate::Profile& profile) {
    const calibrate::Machine machine(profile.constants);
    Table table({{"roofline", Align::left}, {"peak"}, {"best measured"}, {"sustained"}});
    for (const auto& t : profile.gemm) {
        if (t.pass != kernels::GemmPass::forward) continue;
        double best = 0;
        for (const auto& p : t.points) best = std::max(best, 2.0 * p.m * p.n * static_cast<double>(p.k) / p.seconds);
        table.row({fmt::format("gemm {}", kernels::name(t.dtype)), rate(machine.peak(t.dtype)), rate(best),
                   rate(best * constant(profile, "sustained_gemm"))});
    }
    double best = 0;
    for (const auto& t : profile.pointwise)
        for (const auto& p : t.points)
            if (p.bytes >= 1e8) best = std::max(best, p.bytes_per_second);
    const auto bandwidth = [](double bytes) { return bytes > 0 ? fmt::format("{:.4g} GB/s", bytes / 1e9) : "-"; };
    table.row({"memory", bandwidth(machine.bytes_per_second), bandwidth(best), ""});
    return table.to_text();
}

std::string profile_json(const calibrate::Profile& profile) {
    const nlohmann::ordered_json document{{"name", profile.name},
                                          {"device", profile.device},
                                          {"made_by", profile.made_by},
                                          {"tables", report::coverage_records(profile).objects()},
                                          {"constants", report::constants_records(profile).objects()},
                                          {"held_out", report::held_out_records(profile).objects()}};
    return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

std::string conditions_text(const calibrate::Profile& profile) {
    if (profile.noise.empty()) return "";
    Table table({{"noise of", Align::left},
                 {"points"},
                 {"median"},
                 {"90th percentile"},
                 {"dropped: throttled"},
                 {"interrupted"},
                 {"unsettled points"}});
    for (const auto& [suite, n] : profile.noise)
        table.row({suite, whole(n.points), percent(n.median), percent(n.p90), whole(n.throttled), whole(n.disturbed),
                   whole(n.unsettled)});
    std::string text = table.to_text();
    const auto* from = !profile.gemm.empty()          ? &profile.gemm.front().provenance
                       : !profile.pointwise.empty()   ? &profile.pointwise.front().provenance
                       : !profile.collectives.empty() ? &profile.collectives.front().provenance
                       : !profile.copies.empty()      ? &profile.copies.front().provenance
                                                      : nullptr;
    if (from != nullptr)
        text += fmt::format("\nmeasured {} with {}; clock {}\n", from->date, from->software, from->clocks);
    if (profile.load)
        text += fmt::format("other work kept {:.0f}% of the processors busy before, {:.0f}% after\n",
                            100 * profile.load->before, 100 * profile.load->after);
    return text;
}

}  // namespace orrery::cli
