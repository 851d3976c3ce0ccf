#include "planning/capacity/question.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>

#include "base/error.hpp"
#include "base/units.hpp"
#include "documents/message.hpp"
#include "documents/reader.hpp"
#include "scenarios/keys.hpp"

namespace orrery::capacity {

namespace {

using documents::Key;
using documents::Reader;
using documents::Section;
using nlohmann::json;
using enum documents::Kind;
using scenarios::Place;

enum Part : std::size_t { of_question, of_candidate, of_costs, of_strategies };

// clang-format off
constexpr std::array question_keys{
    Key{.name = "$schema", .kind = text, .help = "For editors."},
    Key{.name = "name", .kind = text, .help = "Title of the answer; the file's stem when absent."},
    Key{.name = "description", .kind = text, .help = "Free text."},
    Key{.name = "model", .kind = object, .required = true, .help = "As in a scenario."},
    Key{.name = "training", .kind = object, .required = true, .help = "As in a scenario."},
    Key{.name = "tokens", .kind = tokens, .min = 1, .max = 1e18, .required = true,
        .help = "Of the whole training."},
    Key{.name = "deadline", .kind = text, .help = "A time, such as \"90 days\", or a date, such as \"2030-06-01\"."},
    Key{.name = "start", .kind = text, .help = "The date from which a deadline that is a date counts; today when "
                                               "absent."},
    Key{.name = "budget", .kind = number, .min = 1, .max = 1e15,
        .help = "Money, in the candidates' currency. Each needs a price."},
    Key{.name = "step_error", .kind = number, .min = 0, .max = 0.9,
        .help = "How far a predicted step may be off; 0.18 when absent."},
    Key{.name = "seed", .kind = integer, .min = 0, .max = 9007199254740991, .help = "Of failures."},
    Key{.name = "strategies", .kind = objects,
        .help = "Plans that are tried on every candidate which has none of its own."},
    Key{.name = "candidates", .kind = objects, .required = true, .help = "Clusters that could do it."},
};
constexpr std::array candidate_keys{
    Key{.name = "name", .kind = text,
        .help = "Of the candidate, no other's; its cluster's preset when absent, with its nodes where another has it."},
    Key{.name = "cluster", .kind = object, .required = true, .help = "As in a scenario."},
    Key{.name = "profile", .kind = named_texts, .help = "As in a scenario."},
    Key{.name = "strategy", .kind = object, 
        .help = "Its own plan, as in a scenario; the best is searched for where none is named."},
    Key{.name = "reliability", .kind = object, .help = "As in a scenario."},
    Key{.name = "checkpoint", .kind = object, .help = "As in a scenario."},
    Key{.name = "storage", .kind = object, .help = "As in a scenario."},
    Key{.name = "costs", .kind = object, .help = "Prices, power and what comes with them."},
};
// clang-format on

template <std::size_t count>
std::vector<Key> listed(const std::array<Key, count>& keys) {
    return {keys.begin(), keys.end()};
}

/// Days since the epoch of "2030-06-01"; nothing for what is no date.
std::optional<double> days_of(const std::string& text) {
    int year = 0;
    unsigned month = 0, day = 0;
    const char* const end = text.data() + text.size();
    const auto number = [&](const char* from, auto& value) { return std::from_chars(from, end, value); };
    auto parsed = number(text.data(), year);
    if (parsed.ec != std::errc{} || parsed.ptr == end || *parsed.ptr != '-') return std::nullopt;
    parsed = number(parsed.ptr + 1, month);
    if (parsed.ec != std::errc{} || parsed.ptr == end || *parsed.ptr != '-') return std::nullopt;
    parsed = number(parsed.ptr + 1, day);
    if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{month}, std::chrono::day{day}};
    if (!date.ok()) return std::nullopt;
    return std::chrono::sys_days{date}.time_since_epoch().count();
}

double read_deadline(const Reader& top, const std::string& today) {
    const auto refuse = [&](const char* key, const std::string& message, const std::string& hint) {
        return Error(top.file(), top.pointer(key), message, hint);
    };
    const std::string text = top.text("deadline", "");
    const auto date = days_of(text);
    if (top.has("start") && !date)
        throw refuse("start", "means nothing without a deadline that is a date",
                     "name such a date, or leave start out");
    if (!top.has("deadline")) return 0;
    double seconds = 0;
    if (date) {
        const std::string from = top.text("start", today);
        const auto begin = days_of(from);
        if (!begin) throw refuse("start", fmt::format("\"{}\" is no date", from), "write it as in \"2030-01-31\"");
        seconds = (*date - *begin) * 86400;
        const char* const so = top.has("start") ? ", the start" : ": it has passed";
        if (seconds <= 0)
            throw refuse("deadline", fmt::format("{} is not after {}{}", text, from, so),
                         "name a later date, an earlier start, or a time such as \"90 days\"");
        return seconds;
    }
    try {
        seconds = parse_seconds(text);
    } catch (const Error& error) {
        throw refuse("deadline", fmt::format("\"{}\" is neither a time nor a date", documents::printable(text)),
                     "write a time, such as \"90 days\", or a date, such as \"2030-06-01\"");
    }
    if (seconds <= 0) throw refuse("deadline", "leaves no time", "name a time above zero, such as \"90 days\"");
    return seconds;
}

/// The scenario of one plan on one candidate; what is wrong with it shows when it is read.
json scenario_of(const json& document, const json& candidate, const json& strategy) {
    json scenario = {{"name", document.value("name", "question")},
                     {"model", document["model"]},
                     {"training", document["training"]},
                     {"cluster", candidate["cluster"]},
                     {"strategy", strategy},
                     {"outputs", {{"token_budget", document["tokens"]}}}};
    for (const char* key : {"profile", "reliability", "checkpoint", "storage"})
        if (candidate.contains(key)) scenario[key] = candidate[key];
    if (!candidate.contains("reliability")) scenario["reliability"] = json::object();
    if (document.contains("seed")) scenario["seed"] = document["seed"];
    return scenario;
}

/// An object inside a candidate.
Reader inside(const Reader& reader, const json& object, const char* key, const Section& section) {
    return {object.contains(key) ? object[key] : json::object(), section, reader.file(),
            documents::child_pointer(reader.pointer(), key)};
}

void read_options(const Reader& reader, const json& object, Candidate& candidate) {
    const auto read = [&](const char* key, const Section& section, auto fields, auto& to) {
        documents::read_fields(inside(reader, object, key, section), fields, to);
    };
    reliability::Options& options = candidate.options;
    read("reliability", scenarios::section(Place::reliability), reliability::failures_fields(), options.failures);
    read("checkpoint", scenarios::section(Place::checkpoint), reliability::checkpoint_fields(), options.checkpoint);
    read("storage", scenarios::section(Place::storage), reliability::storage_fields(), options.storage);
    read("costs", question_sections()[of_costs], reliability::costs_fields(), candidate.costs);
    try {
        reliability::check(candidate.costs);
        reliability::check(options);
    } catch (const Error& error) {
        throw Error(reader.file(), candidate.pointer + error.pointer(), error.message(), error.hint());
    }
}

Candidate read_candidate(const Reader& reader, const json& document, const json& object) {
    Candidate candidate;
    candidate.pointer = reader.pointer();
    candidate.name =
        reader.text("name", inside(reader, object, "cluster", scenarios::section(Place::cluster)).text("preset"));
    read_options(reader, object, candidate);
    if (reader.has("strategy")) {
        (void)inside(reader, object, "strategy", scenarios::section(Place::strategy));
        candidate.plans.push_back({scenario_of(document, object, object["strategy"]), candidate.pointer + "/strategy"});
    } else if (document.contains("strategies")) {
        for (std::size_t i = 0; i < document["strategies"].size(); ++i)
            candidate.plans.push_back(
                {scenario_of(document, object, document["strategies"][i]), documents::child_pointer("/strategies", i)});
    }
    candidate.scenario = scenario_of(document, object, json::object());
    return candidate;
}

/// Two candidates are told apart by their names, and answers by these.
void name_candidates(const json& document, Question& question) {
    auto& all = question.candidates;
    const auto shared = [&](std::size_t i) { return std::ranges::count(all, all[i].name, &Candidate::name) > 1; };
    std::vector<std::size_t> unnamed;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (!document["candidates"][i].contains("name") && shared(i)) unnamed.push_back(i);
    for (const std::size_t i : unnamed) {
        const json& cluster = document["candidates"][i]["cluster"];
        if (cluster.contains("nodes")) all[i].name = fmt::format("{} x {}", cluster["nodes"].dump(), all[i].name);
    }
    for (std::size_t i = 0; i < all.size(); ++i)
        if (shared(i))
            throw Error(question.file, all[i].pointer + "/name",
                        fmt::format("{} names another candidate too", documents::printable(all[i].name)),
                        "give each a name of its own");
}

/// Money is compared where there is one currency.
void check_prices(const Question& question) {
    const Candidate* first = nullptr;
    for (const Candidate& each : question.candidates) {
        if (question.budget > 0 && !each.costs.stated())
            throw Error(question.file, "/budget",
                        fmt::format("given, but {} has no price", documents::printable(each.name)),
                        fmt::format("state {}/costs/price_per_gpu_hour, or leave the budget out", each.pointer));
        if (!each.costs.stated()) continue;
        if (first == nullptr) first = &each;
        if (each.costs.currency != first->costs.currency)
            throw Error(question.file, each.pointer + "/costs/currency",
                        fmt::format("{}, but {} is priced in {}", documents::printable(each.costs.currency),
                                    documents::printable(first->name), documents::printable(first->costs.currency)),
                        "state all prices in one currency");
    }
}

}  // namespace

std::span<const Section> question_sections() {
    static const std::vector<Section> all = [] {
        std::vector<Section> made{
            {.name = "", .pointer = "", .keys = listed(question_keys)},
            {.name = "candidates", .pointer = "/candidates", .keys = listed(candidate_keys), .in_list = true},
            {.name = "costs", .pointer = "/costs", .keys = documents::keys_of(reliability::costs_fields())},
            {.name = "strategies",
             .pointer = "/strategies",
             .keys = scenarios::section(Place::strategy).keys,
             .in_list = true},
        };
        for (Section& each : made) each.all = made;
        return made;
    }();
    return all;
}

Error in_question(const Error& error, const Question& question, const Candidate& candidate, const Plan& plan) {
    if (!error.file().empty() && error.file() != question.file) return error;
    std::string pointer = error.pointer();
    const std::string key = pointer.substr(0, pointer.find('/', 1));
    if (key == "/strategy")
        pointer.replace(0, key.size(), plan.pointer);
    else if (key != "/model" && key != "/training" && key != "/outputs" && !key.empty())
        pointer.insert(0, candidate.pointer);
    return {question.file, pointer, error.message(), error.hint()};
}

Question read_question(const json& document, const std::filesystem::path& file, const std::string& today) {
    const Reader top(document, question_sections()[of_question], file.string());
    Question question;
    question.file = file.string();
    question.name = top.text("name", file.stem().string());
    (void)top.text("$schema");
    (void)top.text("description");
    (void)top.object("model", scenarios::section(Place::model));
    (void)top.object("training", scenarios::section(Place::training));
    if (top.objects("strategies", question_sections()[of_strategies]).empty() && document.contains("strategies"))
        throw Error(question.file, "/strategies", "there are none",
                    "name at least one, or leave the key out: the best plan is then searched for");
    question.tokens = top.tokens("tokens");
    question.deadline_s = read_deadline(top, today);
    question.budget = top.number("budget");
    question.step_error = top.number("step_error", usual_step_error);
    question.seed = top.integer("seed", 1);
    const std::vector<Reader> candidates = top.objects("candidates", question_sections()[of_candidate]);
    if (candidates.empty())
        throw Error(question.file, "/candidates", "there are none",
                    "name at least one: {\"cluster\": {\"preset\": ...}, \"strategy\": {...}}");
    for (std::size_t i = 0; i < candidates.size(); ++i)
        question.candidates.push_back(read_candidate(candidates[i], document, document["candidates"][i]));
    name_candidates(document, question);
    check_prices(question);
    return question;
}

}  // namespace orrery::capacity
