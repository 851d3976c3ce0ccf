// What a stage's writer remembers of the micro-batches in its chunks.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::strategies {

/// An item for each micro-batch in each chunk of a stage; its default until it is given another.
template <class Item>
class SlotTable {
public:
    Item& at(std::uint32_t chunk, std::uint32_t micro_batch) {
        if (rows_.size() <= chunk) rows_.resize(chunk + 1);
        std::vector<Item>& row = rows_[chunk];
        if (row.size() <= micro_batch) row.resize(micro_batch + 1);
        return row[micro_batch];
    }

private:
    std::vector<std::vector<Item>> rows_;  // [chunk][micro-batch]
};

}  // namespace orrery::strategies
