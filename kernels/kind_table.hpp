// Tables with a row per value of an enumeration, found by index.
#pragma once

#include <cstddef>

namespace orrery::kernels {

/// Whether row i is that of the enumeration's value i, so that table[value] finds it.
template <class Table>
constexpr bool by_kind(const Table& table) {
    for (std::size_t i = 0; i < table.size(); ++i)
        if (static_cast<std::size_t>(table[i].kind) != i) return false;
    return true;
}

}  // namespace orrery::kernels
