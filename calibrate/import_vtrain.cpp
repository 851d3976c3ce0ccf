#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "calibrate/csv.hpp"
#include "calibrate/import_formats.hpp"

namespace orrery::calibrate {

std::vector<CollectiveTable> vtrain_all_reduce(const path& folder, const std::string& device) {
    std::vector<CollectiveTable> tables;
    for (std::uint32_t ranks = 2; ranks <= 8; ++ranks) {
        const path file = folder / fmt::format("gpus_{}.csv", ranks);
        const Csv csv(file, true);
        const auto bytes = csv.column("size(B)"), ns = csv.column("time(ns)");  // the first time(ns): out of place
        CollectiveTable table{kernels::CollectiveKind::all_reduce,
                              ranks,
                              {device, "ordinary", "2023", "nccl-tests, out of place",
                               "vTrain, " + folder.filename().string() + "/" + file.filename().string(), "MIT"},
                              {}};
        constexpr double step = 1.4;  // the sweep is linear in size; keep about two sizes an octave
        for (std::size_t i = 0; i < csv.rows(); ++i) {
            if (csv.cells(i) < 4) continue;
            const CollectivePoint p{csv.number(i, bytes), csv.number(i, ns) * 1e-9};
            if (table.points.empty() || p.bytes >= step * table.points.back().bytes || i + 1 == csv.rows())
                table.points.push_back(p);
        }
        tables.push_back(std::move(table));
    }
    return tables;
}

}  // namespace orrery::calibrate
