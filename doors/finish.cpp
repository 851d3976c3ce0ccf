#include "doors/finish.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "documents/reader.hpp"
#include "doors/cluster.hpp"
#include "scenarios/keys.hpp"
#include "scenarios/model_section.hpp"
#include "scenarios/override.hpp"

namespace orrery::doors {

namespace {

using Json = nlohmann::ordered_json;

/// --set: a wrong one is a finding like others, so that all are said at once.
void change(Draft& draft, const std::vector<scenarios::Override>& changes) {
    nlohmann::json document = draft.scenario;
    for (const scenarios::Override& each : changes) {
        try {
            scenarios::require_known(each);
            scenarios::apply_override(document, each);
        } catch (const Error& error) {
            draft.findings.refuse(error, {error.file(), error.pointer()});
        }
    }
    draft.scenario = document;
}

/// Keys in the order of the tables of keys.
Json sorted(const Json& object, const documents::Section& section) {
    Json result = Json::object();
    for (const documents::Key& key : section.keys)
        if (object.contains(key.name)) result[std::string(key.name)] = object[std::string(key.name)];
    for (const auto& [name, value] : object.items())
        if (!result.contains(name)) result[name] = value;
    return result;
}

Json sorted(const Json& scenario) {
    Json result = sorted(scenario, scenarios::section(scenarios::Place::document));
    for (const documents::Section& section : scenarios::sections())
        if (!section.in_list && result.contains(section.name) && result[std::string(section.name)].is_object())
            result[std::string(section.name)] = sorted(result[std::string(section.name)], section);
    return result;
}

void put_batch(Draft& draft) {
    if (!draft.accumulation) return;
    constexpr std::uint64_t most = 1U << 24U;  // of each factor: the product then fits
    const std::uint64_t micro = draft.whole("/training/micro_batch_size", 0), data = draft.whole("/strategy/data", 0);
    if (micro == 0 || data == 0 || micro > most || data > most || *draft.accumulation > 65536) return;
    const std::uint64_t batch = micro * data * *draft.accumulation,
                        said = draft.whole("/training/global_batch_size", 0);
    if (said == 0) return draft.set("/training/global_batch_size", batch, draft.whole_file());
    if (said != batch)
        draft.findings.refuse(
            draft.whole_file().place, draft.whole_file().name,
            fmt::format("the batch of a step is {}, but {} micro-batches of {} on {} data ranks are {}", said,
                        *draft.accumulation, micro, data, batch),
            "mend one of them, or the number of GPUs (--gpus)");
}

/// Whether all that has to be said has been.
bool complete(Draft& draft) {
    bool all = true;
    draft.want("/training/global_batch_size", draft.whole_file(), "the batch of a step is not given",
               "--set training.global_batch_size=N");
    std::vector<std::string> said;
    for (const Wanted& wanted : draft.wanted()) {
        if (draft.find(wanted.pointer) != nullptr || std::ranges::find(said, wanted.pointer) != said.end()) continue;
        draft.findings.refuse(wanted.origin.place, wanted.origin.name, wanted.what, wanted.remedy);
        said.push_back(wanted.pointer);
        all = false;
    }
    return all;
}

/// check(), whose Error becomes a finding at the place that said the key.
template <class Check>
void checked(Draft& draft, const Check& check) {
    try {
        check();
    } catch (const Error& error) {
        const Origin* const origin = draft.origin(error.pointer());
        const Origin at = origin == nullptr ? draft.whole_file() : *origin;
        const std::string hint = error.hint().empty() ? "change this value" : error.hint();
        draft.findings.refuse(at.place, at.name, fmt::format("{}: {}", error.pointer(), error.message()), hint);
    }
}

/// What the scenario's own readers refuse; of a draft that is refused already the model alone is looked at.
void check(Draft& draft, bool whole) {
    const nlohmann::json document = draft.scenario;
    const auto model = document.find("model");
    const std::size_t before = draft.findings.all().size();
    if (model != document.end()) {
        checked(draft, [&] {
            (void)scenarios::read_model(
                documents::Reader(*model, scenarios::section(scenarios::Place::model), draft.file()));
        });
    }
    if (whole && draft.findings.all().size() == before)
        checked(draft, [&] { (void)scenarios::from_json(document, draft.file()); });
}

}  // namespace

Imported finished(Draft draft, const Request& request) {
    if (draft.hopeless) return {"", draft.findings.all()};
    change(draft, request.changes);
    put_cluster(draft, request);
    put_batch(draft);
    if (complete(draft)) check(draft, !draft.findings.any(Verdict::refused));
    const std::string text = sorted(draft.scenario).dump(4, ' ', false, Json::error_handler_t::replace) + "\n";
    return {text, draft.findings.all()};
}

}  // namespace orrery::doors
