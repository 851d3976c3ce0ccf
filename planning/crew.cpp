#include "planning/crew.hpp"

#include <nlohmann/json.hpp>

#include "documents/document.hpp"
#include "documents/reader.hpp"
#include "documents/write_fields.hpp"
#include "strategies/plan_fields.hpp"

namespace orrery::planning {

namespace {

using documents::Key;
using documents::Kind;
using documents::Section;

constexpr double most_points = 9007199254740991;  // 2^53 - 1

/// What a line may hold, and what its strategy may.
const Section& line_section() {
    static const Section section{
        .name = "",
        .pointer = "",
        .keys = {Key{.name = "point", .kind = Kind::integer, .min = 0, .max = most_points, .required = true},
                 Key{.name = "micro_batch", .kind = Kind::integer, .min = 1, .max = 4294967295},
                 Key{.name = "strategy", .kind = Kind::object}}};
    return section;
}
const Section& strategy_section() {
    static const Section section{
        .name = "strategy", .pointer = "/strategy", .keys = documents::keys_of(strategies::strategy_fields())};
    return section;
}

}  // namespace

Crew crew_of(unsigned threads) {
    return [threads](const Simulate& here) { return std::vector<Simulate>(threads, here); };
}

std::string to_line(const Work& work) {
    nlohmann::ordered_json line{{"point", work.point}};
    if (work.plan) {
        line["micro_batch"] = work.plan->micro_batch;
        line["strategy"] = documents::write_fields(strategies::strategy_fields(), work.plan->strategy);
    }
    return line.dump();
}

Work work_from_line(std::string_view line) {
    const nlohmann::json document = documents::parse_document(line, "");
    const documents::Reader reader(document, line_section(), "");
    Work work{.point = reader.integer("point"), .plan = {}};
    if (!reader.has("strategy")) return work;
    work.plan.emplace(Work::Plan{.strategy = {}, .micro_batch = reader.integer32("micro_batch", 1)});
    documents::read_fields(reader.object("strategy", strategy_section()), strategies::strategy_fields(),
                           work.plan->strategy);
    return work;
}

}  // namespace orrery::planning
