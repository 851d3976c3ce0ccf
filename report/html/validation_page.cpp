#include "report/html/validation_page.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "report/html/page.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;

/// Four digits are more than a point of a plot shows.
double shown(double value) { return std::stod(fmt::format("{:.4g}", value)); }

/// Rows that were predicted, as [source, id, measured, predicted, low, high]: sources by their places.
Json rows_of(const Json& scores, const std::map<std::string, std::size_t>& places) {
    Json rows = Json::array();
    for (const Json& row : scores.at("rows")) {
        if (row.at("status") != "predicted" || !row.at("measured_s").is_number()) continue;
        Json entry{places.at(row.at("source")), row.at("id"), shown(row.at("measured_s")),
                   shown(row.at("predicted_s"))};
        if (row.contains("interval_s")) {
            entry.push_back(shown(row.at("interval_s").at("low")));
            entry.push_back(shown(row.at("interval_s").at("high")));
        }
        rows.push_back(std::move(entry));
    }
    return rows;
}

Json sources_of(const Json& scores, std::map<std::string, std::size_t>& places) {
    Json sources = Json::array();
    for (const Json& source : scores.at("sources")) {
        places.emplace(source.at("source"), sources.size());
        Json entry = Json::object();
        for (const char* key : {"source", "rows", "predicted", "median", "mean", "bias", "spearman", "reasons"})
            entry[key] = source.at(key);
        sources.push_back(std::move(entry));
    }
    return sources;
}

}  // namespace

std::string validation_page(const Json& scores, const std::string& command) {
    std::map<std::string, std::size_t> places;
    Json sources = sources_of(scores, places);
    Json rows = rows_of(scores, places);
    const std::size_t predicted = rows.size();
    return page(Json{{"view", "validate"},
                     {"title", "Predicted against measured"},
                     {"subtitle", fmt::format("{} published training steps of {} sources", format_grouped(predicted),
                                              sources.size())},
                     {"command", command},
                     {"mean_of_medians", scores.at("mean_of_medians")},
                     {"within_tenth", scores.at("within_tenth")},
                     {"inside_interval", scores.at("inside_interval")},
                     {"sources", std::move(sources)},
                     {"rows", std::move(rows)}});
}

}  // namespace orrery::report
