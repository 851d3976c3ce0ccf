// orrery profile import, orrery profile show.
#include "calibrate/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/table.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "calibrate/import.hpp"
#include "calibrate/profile_store.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "report/explain.hpp"

namespace orrery::cli {

namespace {

using Align = Table::Align;

constexpr const char* footer = R"(Examples:
  orrery profile show a100
  orrery profile import h100 --from measurements/ --out h100.json)";

/// From the least to the greatest of a quantity over the points of a table: "1.00 KiB to 2.00 GiB".
template <class Points, class Quantity, class Format>
std::string range(const Points& points, Quantity quantity, Format format) {
    if (points.empty()) return "-";
    const auto [least, most] = std::ranges::minmax(points, {}, quantity);
    return fmt::format("{} to {}", format(std::invoke(quantity, least)), format(std::invoke(quantity, most)));
}

std::string whole(std::uint64_t value) { return fmt::format("{}", value); }

/// One row a table of the profile: what it holds, how far it reaches, who measured it.
std::string coverage(const calibrate::Profile& profile) {
    Table table({{"table", Align::left}, {"points"}, {"range", Align::left}, {"measured by", Align::left}});
    for (const auto& t : profile.gemm)
        table.row({fmt::format("gemm {}", kernels::name(t.dtype)), whole(t.points.size()),
                   fmt::format("m {}, n {}, k {}", range(t.points, &calibrate::GemmPoint::m, whole),
                               range(t.points, &calibrate::GemmPoint::n, whole),
                               range(t.points, &calibrate::GemmPoint::k, whole)),
                   t.provenance.origin});
    for (const auto& t : profile.attention)
        table.row({fmt::format("attention {}{}", t.backward ? "backward" : "forward", t.causal ? " causal" : ""),
                   whole(t.points.size()),
                   fmt::format("batch {}, sequence {}", range(t.points, &calibrate::AttentionPoint::batch, whole),
                               range(t.points, &calibrate::AttentionPoint::seq, whole)),
                   t.provenance.origin});
    for (const auto& t : profile.pointwise)
        table.row({std::string(kernels::name(t.kind)), whole(t.points.size()),
                   range(t.points, &calibrate::PointwisePoint::bytes, format_bytes), t.provenance.origin});
    for (const auto& t : profile.collectives)
        table.row({fmt::format("{}, {} ranks", kernels::name(t.kind), t.ranks), whole(t.points.size()),
                   range(t.points, &calibrate::CollectivePoint::bytes, format_bytes), t.provenance.origin});
    return table.to_text();
}

std::string held_out(const calibrate::Profile& profile) {
    Table table({{"held-out error of", Align::left}, {"points"}, {"mean"}, {"median"}, {"90th percentile"}});
    for (const auto& [suite, error] : profile.held_out)
        table.row({suite, whole(error.points), fmt::format("{:.1f}%", 100 * error.mean),
                   fmt::format("{:.1f}%", 100 * error.median), fmt::format("{:.1f}%", 100 * error.p90)});
    return table.to_text();
}

void show(const std::string& name) {
    calibrate::ProfileStore store;
    const calibrate::Profile& profile = store.find(name).profile();
    print(fmt::format("profile {} of {}, made by: {}\n\n{}\n{}\n{}", profile.name, profile.device, profile.made_by,
                      coverage(profile), report::constants_table(profile), held_out(profile)));
}

struct Import {
    std::string name, from, out;
};

void import_profile(const Import& options) {
    const calibrate::Profile profile = calibrate::import_tables(options.name, options.from);
    calibrate::save_profile(profile, options.out);
    print(fmt::format("{}: {} gemm, {} attention, {} memory-bound and {} collective tables\n", options.out,
                      profile.gemm.size(), profile.attention.size(), profile.pointwise.size(),
                      profile.collectives.size()));
}

}  // namespace

void add_profile(CLI::App& program, Exit&) {
    CLI::App* const command = program.add_subcommand("profile", "show a profile, or make one from published tables");
    command->require_subcommand(1);
    command->footer(footer);

    CLI::App* const shown = command->add_subcommand("show", "coverage, constants with their origins, held-out errors");
    const auto name = std::make_shared<std::string>();
    shown->add_option("PROFILE", *name, "name of a shipped profile, or a file")->required();
    shown->footer("Example:\n  orrery profile show a100");
    shown->callback([name] { show(*name); });

    CLI::App* const imported = command->add_subcommand("import", "make a profile from published tables");
    const auto options = std::make_shared<Import>();
    imported->add_option("NAME", options->name, "the GPU: " + join(calibrate::importable()))->required();
    imported->add_option("--from", options->from, "folder of tables (gemm/, attention/, collectives/, ...)")
        ->required()
        ->type_name("FOLDER");
    imported->add_option("--out", options->out, "profile file to write")->required()->type_name("FILE");
    imported->footer("Example:\n  orrery profile import h100 --from measurements/ --out h100.json");
    imported->callback([options] { import_profile(*options); });
}

}  // namespace orrery::cli
