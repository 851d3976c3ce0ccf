// A table of comma-separated values, as `orrery profile import` reads them.
#include "calibrate/csv.hpp"

#include <cmath>

#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool csv(const std::string& input) {
    const InputFile file(input);
    return accepts(InputFile::path(), [&] {
        const calibrate::Csv table(InputFile::path(), true);
        for (std::size_t row = 0; row < table.rows(); ++row)
            for (std::size_t cell = 0; cell < table.cells(row); ++cell)
                if (table.is_number(row, cell))
                    require(std::isfinite(table.number(row, cell)), "a cell that is a number can be counted with");
    });
}

}  // namespace orrery::fuzz
