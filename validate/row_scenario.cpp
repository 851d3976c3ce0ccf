#include "validate/row_scenario.hpp"

#include <fmt/format.h>

#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "validate/rows.hpp"

namespace orrery::validate {

namespace {

bool has_scenario(const Row& row) { return row.kind() == "training_step" || row.kind() == "memory"; }

scenarios::Scenario scenario_of(const Row& row, const HasProfile& has_profile) {
    if (!has_scenario(row))
        throw Error(fmt::format("row {} has no scenario: it is a {}", row.id(), row.kind()),
                    "name a row of kind training_step or memory");
    try {
        return map_row(row, has_profile);
    } catch (const Skip& skip) {
        throw Error(fmt::format("row {} is skipped: {}", row.id(), skip.what()), "name a row that is predicted");
    }
}

}  // namespace

scenarios::Scenario scenario_of_row(const std::vector<std::filesystem::path>& files, std::string_view id,
                                    const HasProfile& has_profile) {
    std::vector<std::string> ids;
    for (const std::filesystem::path& file : files)
        for (const Row& row : load_rows(file).rows) {
            if (row.id() == id) return scenario_of(row, has_profile);
            ids.push_back(row.id());
        }
    const std::vector<std::string_view> names(ids.begin(), ids.end());
    throw Error(fmt::format("no row is called \"{}\"", id), fmt::format("nearest: {}", join(nearest(id, names))));
}

}  // namespace orrery::validate
