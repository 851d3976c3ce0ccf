// A heap of what happens next: four children a node, so that a pop touches few cache lines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace orrery::sim {

/// The least item on top, by Item's operator<. placed(item, index) is told wherever an item comes to lie, so that its
/// owner can move or remove it later.
template <class Item, class Placed>
class EventHeap {
public:
    explicit EventHeap(Placed placed = {}) : placed_(placed) {}

    [[nodiscard]] bool empty() const { return items_.empty(); }
    [[nodiscard]] const Item& top() const { return items_.front(); }

    void push(const Item& item) {
        items_.push_back(item);
        rise(items_.size() - 1, item);
    }

    void pop() {
        const Item last = items_.back();
        items_.pop_back();
        if (!items_.empty()) sink(0, last);
    }

    /// Replaces the item at `index`.
    void replace(std::size_t index, const Item& item) {
        if (item < items_[index])
            rise(index, item);
        else
            sink(index, item);
    }

    void remove(std::size_t index) {
        const Item last = items_.back();
        items_.pop_back();
        if (index < items_.size()) replace(index, last);
    }

private:
    static constexpr std::size_t arity = 4;

    void put(std::size_t index, const Item& item) {
        items_[index] = item;
        placed_(item, index);
    }

    void rise(std::size_t index, const Item item) {
        while (index > 0) {
            const std::size_t parent = (index - 1) / arity;
            if (!(item < items_[parent])) break;
            put(index, items_[parent]);
            index = parent;
        }
        put(index, item);
    }

    void sink(std::size_t index, const Item item) {
        for (std::size_t child = index * arity + 1; child < items_.size(); child = index * arity + 1) {
            const std::size_t end = std::min(child + arity, items_.size());
            std::size_t least = child;
            for (std::size_t i = child + 1; i < end; ++i)
                if (items_[i] < items_[least]) least = i;
            if (!(items_[least] < item)) break;
            put(index, items_[least]);
            index = least;
        }
        put(index, item);
    }

    std::vector<Item> items_;
    Placed placed_;
};

}  // namespace orrery::sim
