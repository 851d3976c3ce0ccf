// What a stage's writer remembers of the micro-batches in its chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/schedule/slot.hpp"

namespace orrery::strategies {

/// An item for each micro-batch in each chunk of a stage; its default until it is given another.
template <class Item>
class SlotTable {
public:
    explicit SlotTable(const PipelineShape& shape)
        : micro_batches_(shape.all_micro_batches()), items_(std::size_t{shape.chunks} * micro_batches_) {}

    Item& at(std::uint32_t chunk, std::uint32_t micro_batch) {
        return items_[std::size_t{chunk} * micro_batches_ + micro_batch];
    }

private:
    std::uint32_t micro_batches_;
    std::vector<Item> items_;  // [chunk][micro-batch]
};

}  // namespace orrery::strategies
