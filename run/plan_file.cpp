#include "run/plan_file.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "documents/document.hpp"
#include "documents/write_fields.hpp"
#include "models/model_fields.hpp"
#include "strategies/plan_fields.hpp"

namespace orrery::run {

namespace {

using documents::field;
using documents::Field;
using documents::Key;
using documents::Kind;
using documents::Section;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t version = 3;
constexpr double max_exact = 9007199254740991;  // 2^53 - 1: every JSON reader keeps it exactly
constexpr double below_one = 0.9999999999999999;

// clang-format off
constexpr std::array settings_fields{
    field<&RunSettings::steps>({.name = "steps", .min = 1, .max = 1e6, .help = "Steps to train."}),
    field<&RunSettings::warmup>({.name = "warmup", .min = 0, .max = 1e6, .help = "Of the steps: not measured."}),
    field<&RunSettings::seed>({.name = "seed", .min = 0, .max = max_exact, .help = "Of parameters and tokens."}),
    field<&RunSettings::data>({.name = "data", .help = "A text file read byte by byte; synthetic tokens when absent."}),
    field<&RunSettings::adam, &kernels::Adam::rate>({.name = "rate", .min = 0, .max = 1e30, .help = "Of learning."}),
    field<&RunSettings::adam, &kernels::Adam::b1>({.name = "b1", .min = 0, .max = below_one, .help = "Of Adam."}),
    field<&RunSettings::adam, &kernels::Adam::b2>({.name = "b2", .min = 0, .max = below_one, .help = "Of Adam."}),
    field<&RunSettings::adam, &kernels::Adam::epsilon>({.name = "epsilon", .min = 0, .max = 1, .help = "Of Adam."}),
    field<&RunSettings::adam, &kernels::Adam::decay>({.name = "decay", .min = 0, .max = 1, .help = "Of weights."}),
};
// Beside them stand the kernels' times and the lone rank; a run begins at Adam's first step.
static_assert(settings_fields.size() + 2 + 1 ==
                  documents::members_of<RunSettings> - 1 + documents::members_of<kernels::Adam>,
              "a field without a description");

constexpr std::array of_document{
    Key{.name = "plan_version", .kind = Kind::integer, .min = 0, .max = max_exact, .required = true},
    Key{.name = "name", .kind = Kind::text, .required = true, .help = "Of the scenario."},
    Key{.name = "model", .kind = Kind::object, .required = true},
    Key{.name = "strategy", .kind = Kind::object, .required = true},
    Key{.name = "training", .kind = Kind::object, .required = true},
    Key{.name = "run", .kind = Kind::object, .required = true},
    Key{.name = "kernel_seconds", .kind = Kind::numbers, .min = 0, .max = 1e9,
        .help = "Of each of the program's kernels, which sleep for it instead of computing."},
    Key{.name = "only_rank", .kind = Kind::integer, .min = 0, .max = 4294967295,
        .help = "The one rank that runs, alone."},
};
// clang-format on

std::span<const Field<RunSettings>> settings() { return settings_fields; }

/// A plan states every field; only what its key cannot say may be absent.
template <class Struct>
Section section_of(std::string_view name, std::string_view pointer, std::span<const Field<Struct>> fields) {
    std::vector<Key> keys = documents::keys_of(fields);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i].required |= can_say(keys[i], fields[i].get(Struct{}));
    return {.name = name, .pointer = pointer, .keys = std::move(keys)};
}

/// The sections of a plan file, the document itself first.
std::span<const Section> sections() {
    static const std::vector<Section> all = [] {
        std::vector<Section> made{
            {.name = "", .pointer = "", .keys = {of_document.begin(), of_document.end()}},
            section_of("model", "/model", models::model_fields()),
            section_of("strategy", "/strategy", strategies::strategy_fields()),
            section_of("training", "/training", strategies::training_fields()),
            section_of("run", "/run", settings()),
        };
        for (Section& each : made) each.all = made;
        return made;  // moved: the sections stay where they are
    }();
    return all;
}

/// The file's version comes first: of another version nothing else is as it is described here.
void require_version(const nlohmann::json& document, const std::string& file) {
    const auto found = document.is_object() ? document.find("plan_version") : document.end();
    if (!document.is_object() || found == document.end())
        throw Error(file, "", "is no plan", "orrery run --plan writes such files");
    if (*found != version)
        throw Error(file, "/plan_version", "is " + found->dump(), "orrery and orrery-device must be of the same build");
}

template <class Struct>
void read_section(const documents::Reader& top, std::size_t section, std::span<const Field<Struct>> fields,
                  Struct& to) {
    const Section& of = sections()[section];
    documents::read_fields(top.object(of.name, of), fields, to);
}

Json sections_of(const strategies::Plan& plan) {
    return {{"model", documents::write_fields(models::model_fields(), plan.model)},
            {"strategy", documents::write_fields(strategies::strategy_fields(), plan.strategy)},
            {"training", documents::write_fields(strategies::training_fields(), plan.training)}};
}

}  // namespace

std::string plan_text(const strategies::Plan& plan) { return sections_of(plan).dump(); }

std::string to_json(const RunPlan& plan) {
    documents::check_fields(settings(), plan.settings, "/run");
    Json document{{"plan_version", version}, {"name", plan.name}};
    document.update(sections_of(plan.plan));
    document["run"] = documents::write_fields(settings(), plan.settings);
    if (!plan.settings.kernel_seconds.empty()) document["kernel_seconds"] = plan.settings.kernel_seconds;
    if (plan.settings.only_rank) document["only_rank"] = *plan.settings.only_rank;
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

RunPlan plan_from_json(const std::string& text, const std::string& file) {
    const nlohmann::json document =
        documents::parse_document(text, file, {.example = "orrery run --plan writes such files"});
    require_version(document, file);
    const documents::Reader top(document, sections()[0], file);
    RunPlan plan;
    plan.name = top.text("name");
    read_section(top, 1, models::model_fields(), plan.plan.model);
    read_section(top, 2, strategies::strategy_fields(), plan.plan.strategy);
    read_section(top, 3, strategies::training_fields(), plan.plan.training);
    read_section(top, 4, settings(), plan.settings);
    plan.settings.kernel_seconds = top.numbers("kernel_seconds");
    if (top.has("only_rank")) plan.settings.only_rank = top.integer32("only_rank");
    try {
        strategies::validate(plan.plan);
    } catch (const Error& error) {
        throw error.in_file(file);
    }
    return plan;
}

}  // namespace orrery::run
