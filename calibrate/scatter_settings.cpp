#include "calibrate/scatter_settings.hpp"

#include "calibrate/attention_trend.hpp"
#include "calibrate/gemm_trend.hpp"

namespace orrery::calibrate {

namespace {

template <class Interpolation, class Table>
void choose(std::vector<Table>& tables, const std::vector<Table>& written, const Machine& machine) {
    for (std::size_t i = 0; i < tables.size(); ++i) {
        Table& table = tables[i];
        const bool known = table.scatter && table.scatter->points == table.points.size();
        if (is_scattered(table) && !known) table.scatter = Interpolation(written[i], machine).settings();
    }
}

}  // namespace

void choose_settings(Profile& profile) {
    const Profile written = as_read(profile);
    const Machine machine(written.constants);
    choose<GemmScatter>(profile.gemm, written.gemm, machine);
    choose<AttentionScatter>(profile.attention, written.attention, machine);
}

}  // namespace orrery::calibrate
