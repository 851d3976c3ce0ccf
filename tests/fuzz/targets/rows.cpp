// A file of published measurements. Its rows are mapped to scenarios that hold, or skipped with a reason; carrying them
// twice is carrying them once.
#include "validate/rows.hpp"

#include "tests/fuzz/resolved_again.hpp"
#include "tests/fuzz/target.hpp"
#include "validate/carry.hpp"
#include "validate/map_row.hpp"

namespace orrery::fuzz {

namespace {

void require_mapped_or_skipped(const validate::Row& row) {
    try {
        const scenarios::Scenario mapped = validate::map_row(row, [](const std::string&) { return true; });
        strategies::validate(mapped.plan);
        require(mapped.gpus > 0, "a mapped row has GPUs");
    } catch (const validate::Skip& skip) {
        require(*skip.what() != 0, "a skipped row says why");
    } catch (const Error& error) {
        require(!error.message().empty(), "a row whose plan cannot be says why");
    }
}

}  // namespace

bool rows(const std::string& input) {
    validate::RowFile file;
    if (!accepts("rows.json", [&] { file = validate::parse_rows(input, "rows.json"); })) return false;
    for (const validate::Row& row : file.rows) require_mapped_or_skipped(row);
    const std::string once = validate::carried(file);
    require_same(validate::carried(validate::parse_rows(once, "rows.json")), once,
                 "what was carried is itself when it is carried again");
    return true;
}

}  // namespace orrery::fuzz
