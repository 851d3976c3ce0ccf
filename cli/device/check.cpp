// orrery-device check: a profile against unseen shapes on its device.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/table.hpp"
#include "base/units.hpp"
#include "calibrate/measure/campaign.hpp"
#include "calibrate/measure/host.hpp"
#include "calibrate/measure/unseen.hpp"
#include "cli/device/commands.hpp"

namespace orrery::cli {

namespace {

struct CheckOptions {
    std::string profile, device = "cpu";
    std::vector<std::string> suites{"gemm"}, dtypes;
    std::size_t shapes = 200;
    std::uint64_t seed = 7;
    double tolerance_percent = 0;
    std::size_t worst = 5;
};

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

void print(const std::vector<std::pair<std::string, calibrate::UnseenErrors>>& suites, std::size_t worst) {
    using Align = Table::Align;
    Table table({{"unseen shapes of", Align::left},
                 {"shapes"},
                 {"mean"},
                 {"median"},
                 {"90th percentile"},
                 {"largest"},
                 {"bias"},
                 {"within 2 uncertainties"}});
    Table rows({{"worst", Align::left}, {"measured"}, {"predicted"}, {"error"}, {"uncertainty"}});
    for (const auto& [name, errors] : suites) {
        if (errors.shapes.empty()) continue;
        table.row({name, fmt::format("{}", errors.shapes.size()), percent(errors.mean), percent(errors.median),
                   percent(errors.p90), percent(std::abs(errors.shapes.front().error())), percent(errors.bias),
                   percent(errors.within)});
        for (std::size_t i = 0; i < std::min(worst, errors.shapes.size()); ++i) {
            const auto& s = errors.shapes[i];
            rows.row({s.subject + (s.settled ? "" : " (unsettled)"), format_seconds(s.measured),
                      format_seconds(s.predicted), format_relative(s.error()), percent(s.uncertainty)});
        }
    }
    fmt::print("{}\n{}", table.to_text(), rows.to_text());
}

Exit check(const CheckOptions& options) {
    (void)stop_requested();
    const calibrate::Profile profile = calibrate::load_profile(options.profile);
    const calibrate::Predictor predictor(profile);
    const auto device = kernels::open_device(options.device);
    const auto communicator = kernels::world(*device);
    calibrate::Bench bench;
    bench.device = device.get();
    bench.ranks = communicator == nullptr ? 1 : communicator->ranks();
    const std::uint32_t nodes = communicator == nullptr ? 1 : communicator->nodes();
    for (const std::string& name : options.dtypes) bench.dtypes.push_back(kernels::dtype_from(name));
    if (bench.dtypes.empty()) bench.dtypes.push_back(bench.is_cpu() ? kernels::Dtype::fp32 : kernels::Dtype::bf16);
    calibrate::StopRule rule;
    if (bench.is_cpu()) rule = {.target = 0.01, .max_seconds = 0.06};
    bench.seconds_per_point = rule.max_seconds;
    const double load_before = calibrate::others_share(0.3);
    std::vector<std::pair<std::string, calibrate::UnseenErrors>> results;
    for (const std::string& name : options.suites) {
        calibrate::Plan plan;
        plan.points = calibrate::random_subjects(calibrate::suite_named(name), bench, options.shapes, options.seed);
        plan.dtypes = bench.dtypes;
        plan.rule = rule;
        plan.check_points_whole = false;
        calibrate::Hooks hooks;
        hooks.stop = stop_requested;
        calibrate::LogContent content;
        const auto outcome = calibrate::Campaign(*device, communicator.get(), plan, hooks).run(content, nullptr);
        for (const std::string& failure : outcome.failures) fmt::print("failed {}\n", failure);
        if (outcome.stopped) return Exit::run_failure;
        results.emplace_back(name, calibrate::compare(predictor, content.records, nodes));
    }
    if (communicator != nullptr && communicator->rank() != 0) return Exit::done;
    print(results, options.worst);
    fmt::print("other work kept {:.0f}% of the processors busy before, {:.0f}% after\n", 100 * load_before,
               100 * calibrate::others_share(0.3));
    const bool met = std::ranges::all_of(results, [&](const auto& r) {
        return options.tolerance_percent <= 0 || 100 * r.second.median <= options.tolerance_percent;
    });
    return met ? Exit::done : Exit::outside_tolerance;
}

}  // namespace

void add_device_check(CLI::App& program, Exit& exit) {
    CLI::App* const command =
        program.add_subcommand("check", "measure shapes that a profile has not seen and compare its predictions");
    const auto options = std::make_shared<CheckOptions>();
    command->add_option("PROFILE", options->profile, "profile file")->required();
    command->add_option("--device", options->device, "cpu, cpu:4 (threads), cuda, cuda:1")->capture_default_str();
    command->add_option("--suite", options->suites, "gemm, pointwise, collective")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->capture_default_str();
    command->add_option("--dtype", options->dtypes, "number format (default: bf16 on a GPU, fp32 on a CPU)")
        ->delimiter(',')
        ->allow_extra_args(false);
    command->add_option("--shapes", options->shapes, "random shapes a suite")->capture_default_str();
    command->add_option("--seed", options->seed, "of the random shapes")->capture_default_str();
    command->add_option("--tolerance", options->tolerance_percent,
                        "exit with 1 when a suite's median error is larger, in percent");
    command->add_option("--worst", options->worst, "shapes to list, a suite")->capture_default_str();
    command->footer("Example:\n  orrery-device check cpu.json --device cpu --suite gemm --shapes 200 --tolerance 5");
    command->callback([options, &exit] { exit = check(*options); });
}

}  // namespace orrery::cli
