// orrery calibrate import nccl-tests.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/file_lock.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "calibrate/import_nccl_tests.hpp"
#include "calibrate/profile_store.hpp"
#include "cli/calibrate.hpp"
#include "cli/options.hpp"

namespace orrery::cli {

namespace {

struct CalibrateImportOptions {
    std::string file, out, into, kind;
};

std::string text_of(const calibrate::Merged& merged) {
    if (merged.older.empty()) return "";
    std::vector<std::string> sizes;
    for (const double bytes : merged.replaced) sizes.push_back(format_bytes(bytes));
    return fmt::format("of {}: {} sizes kept, {} replaced{}{}\n", merged.older, merged.kept, sizes.size(),
                       sizes.empty() ? "" : ": ", join(sizes));
}

void import_tests(const CalibrateImportOptions& options) {
    if (options.out.empty() && options.into.empty())
        throw Error("nowhere to put the collectives", "--into an existing profile, or --out a new one");
    require_distinct({options.out}, {options.file, options.into});
    const auto kind = options.kind.empty() ? std::nullopt : std::optional(kernels::collective_from(options.kind));
    const calibrate::NcclTests tests = calibrate::import_nccl_tests(options.file, kind);
    const std::string target = options.out.empty() ? options.into : options.out;
    std::optional<FileLock> alone;  // others that add to this profile wait, and find what was added
    if (options.out.empty()) alone.emplace(target);
    calibrate::Profile profile;
    calibrate::Merged merged;
    if (options.into.empty()) {
        profile = calibrate::profile_of(tests, std::filesystem::path(options.out).stem().string());
    } else {
        calibrate::ProfileStore store;
        profile = options.out.empty() ? calibrate::load_profile(options.into) : store.find(options.into).profile();
        merged = calibrate::put_table(profile, tests.table);
    }
    calibrate::save_profile(profile, target);
    print(fmt::format("{}: {} among {} ranks of {}, {} sizes\n", target, kernels::name(tests.table.kind),
                      tests.table.ranks, tests.device.empty() ? "an unnamed device" : tests.device,
                      tests.table.points.size()) +
          text_of(merged));
}

}  // namespace

void add_calibrate_import(CLI::App& calibrate) {
    CLI::App* const command = calibrate.add_subcommand("import", "measurements of other programs");
    command->require_subcommand(1);
    command->footer("Example:\n  orrery calibrate import nccl-tests all_reduce.txt --into h100-node.json");
    CLI::App* const nccl = command->add_subcommand("nccl-tests", "the text that all_reduce_perf and its kin print");
    const auto options = std::make_shared<CalibrateImportOptions>();
    nccl->add_option("FILE", options->file, "output of one run")->required();
    nccl->add_option("--into", options->into, "profile to add the collectives to; with --out, a copy of it")
        ->type_name("PROFILE");
    nccl->add_option("--out", options->out, "profile to write")->type_name("FILE");
    nccl->add_option("--kind", options->kind, "all_reduce, all_gather, ... where the text does not tell");
    nccl->footer("Example:\n  orrery calibrate import nccl-tests all_reduce.txt --into h100-node.json");
    nccl->callback([options] { import_tests(*options); });
}

}  // namespace orrery::cli
