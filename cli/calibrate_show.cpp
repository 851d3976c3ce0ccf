// orrery calibrate show, orrery calibrate compare.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "calibrate/compare_profiles.hpp"
#include "calibrate/profile_store.hpp"
#include "cli/calibrate.hpp"
#include "cli/format.hpp"
#include "cli/options.hpp"
#include "report/coverage.hpp"
#include "report/explain.hpp"
#include "report/html/calibration_page.hpp"
#include "report/html/page.hpp"

namespace orrery::cli {

namespace {

using Align = Table::Align;

std::string overlap_table(const calibrate::Profile& profile) {
    if (profile.overlap.empty()) return "";
    Table table({{"kernel", Align::left}, {"beside", Align::left}, {"kernel slower"}, {"other slower"}});
    for (const auto& o : profile.overlap)
        table.row(
            {o.kernel, o.beside, fmt::format("{:.3f}x", o.kernel_slowdown), fmt::format("{:.3f}x", o.beside_slowdown)});
    return '\n' + table.to_text();
}

std::string text_of(const calibrate::Profile& profile) {
    const std::string conditions = conditions_text(profile);
    return fmt::format("profile {} of {}, made by: {}\n\n{}\n{}\n{}\n{}{}{}", profile.name, profile.device,
                       profile.made_by, coverage_table(profile), roofline_table(profile),
                       report::constants_table(profile), held_out_table(profile), overlap_table(profile),
                       conditions.empty() ? "" : '\n' + conditions);
}

struct Show {
    std::string name, html;
    FormatOption format;
};

void show(const Show& options) {
    require_distinct({options.html, options.format.path()}, {options.name});
    if (!options.html.empty()) report::require_page();
    calibrate::ProfileStore store;
    const calibrate::Predictor& predictor = store.find(options.name);
    const calibrate::Profile& profile = predictor.profile();
    Output html(options.html);
    if (html.wanted())
        html.write(report::calibration_page(
            predictor,
            fmt::format("orrery calibrate show {} --html {}", shell_word(options.name), shell_word(options.html))));
    html.finish();
    options.format.print({.text = [&] { return text_of(profile); },
                          .csv = [&] { return report::coverage_records(profile).csv(); },
                          .json = [&] { return profile_json(profile); }},
                         html.to_stdout());
}

struct Compare {
    std::string first, second;
    std::size_t worst = 3;
    FormatOption format;
};

/// A row of every table of the first profile.
report::Records rows_of(const std::vector<calibrate::ComparedSuite>& suites) {
    report::Records rows({{"suite"}, {"row"}, {"first_s"}, {"second_s"}, {"ratio"}});
    for (const auto& suite : suites)
        for (const auto& row : suite.rows) rows.row({suite.name, row.subject, row.first, row.second, row.ratio()});
    return rows;
}

std::string json_of(const std::vector<calibrate::ComparedSuite>& suites) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& suite : suites)
        list.push_back({{"suite", suite.name},
                        {"rows", suite.rows.size()},
                        {"p10", suite.p10},
                        {"median", suite.median},
                        {"p90", suite.p90}});
    const nlohmann::ordered_json document{{"suites", std::move(list)}, {"rows", rows_of(suites).objects()}};
    return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

std::string text_of(const Compare& options, const std::vector<calibrate::ComparedSuite>& suites) {
    Table table(
        {{"rows of " + options.first, Align::left}, {"points"}, {"10th percentile"}, {"median"}, {"90th percentile"}});
    Table rows({{"furthest apart", Align::left}, {options.first}, {options.second}, {"ratio"}});
    const auto ratio = [](double value) { return fmt::format("{:.3f}x", value); };
    for (const auto& suite : suites) {
        table.row({suite.name, fmt::format("{}", suite.rows.size()), ratio(suite.p10), ratio(suite.median),
                   ratio(suite.p90)});
        for (std::size_t i = 0; i < std::min(options.worst, suite.rows.size()); ++i) {
            const auto& r = suite.rows[i];
            const bool named = r.subject.find(' ') != std::string::npos && r.subject.find(" B") == std::string::npos;
            rows.row({named ? r.subject : suite.name + ", " + r.subject, format_seconds(r.first),
                      format_seconds(r.second), ratio(r.ratio())});
        }
    }
    return fmt::format("time predicted by {} over time measured in {}\n\n{}\n{}", options.second, options.first,
                       table.to_text(), rows.to_text());
}

void compare(const Compare& options) {
    calibrate::ProfileStore store;
    const auto& first = store.find(options.first);
    const auto& second = store.find(options.second);
    const auto suites = calibrate::compare_profiles(first, second);
    options.format.print({.text = [&] { return text_of(options, suites); },
                          .csv = [&] { return rows_of(suites).csv(); },
                          .json = [&] { return json_of(suites); }},
                         false);
}

}  // namespace

void add_calibrate_show(CLI::App& calibrate) {
    CLI::App* const command = calibrate.add_subcommand(
        "show", "coverage, roofline, constants with their origins, held-out errors, noise and load of a profile");
    const auto options = std::make_shared<Show>();
    command->add_option("PROFILE", options->name, "name of a shipped profile, or a file")->required();
    command->add_option("--html", options->html, "write a page to look at: roofline, coverage, what is derived")
        ->type_name("FILE");
    options->format.add_to(*command, "a line a table of the profile");
    command->footer("Examples:\n  orrery calibrate show cpu.json\n  orrery calibrate show h100 --html h100.html");
    command->callback([options] { show(*options); });
}

void add_calibrate_compare(CLI::App& calibrate) {
    CLI::App* const command = calibrate.add_subcommand("compare", "where two profiles differ, suite by suite");
    const auto options = std::make_shared<Compare>();
    command->add_option("A", options->first, "profile whose measured rows are taken: a shipped name, or a file")
        ->required();
    command->add_option("B", options->second, "profile that predicts them")->required();
    command->add_option("--worst", options->worst, "rows to list, a suite")->capture_default_str();
    options->format.add_to(*command, "a line a row of the first profile");
    command->footer("Example:\n  orrery calibrate compare h100 h100-node.json");
    command->callback([options] { compare(*options); });
}

}  // namespace orrery::cli
