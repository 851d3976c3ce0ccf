// The plans of a model on a cluster. An axis is a row of one table: a new strategy adds a row.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/plan.hpp"

namespace orrery::planning {

/// What decides the values of a row besides the rows before it.
struct Room {
    std::uint32_t gpus = 1;  ///< of the cluster
    double idle = 0.125;  ///< share of them that a plan may leave idle, where its sizes divide neither GPUs nor batch
    bool hosts = true;    ///< GPUs have one to copy to
};

using Values = std::vector<std::uint64_t>;

struct Row {
    std::string_view key;  ///< of a scenario, "strategy.tensor"
    /// Those that make a legal plan together with the rows before, as far as the rules go that decide most, each a plan
    /// that differs from the others; none: the rows before lead nowhere.
    Values (*values)(const strategies::Plan& plan, const Room& room);
    void (*set)(strategies::Plan& plan, std::uint64_t value);
    /// The value that a text means; nothing: it means none.
    std::optional<std::uint64_t> (*parse)(std::string_view text);
    /// Those that the word "any" stands for, more than the row offers by itself; null: it offers all.
    Values (*every)(const strategies::Plan& plan, const Room& room) = nullptr;
    /// Offers one value by itself, the scenario's or what an absent key means; others are to be asked for.
    bool one_value = false;
};

/// In the order in which they are chosen: what decides kernels and the shape of the pipeline first, what only adds to
/// it last.
std::span<const Row> rows();

/// The rows of a question, some of them held to given values.
class Space {
public:
    explicit Space(Room room) : room_(room), given_(rows().size()), offers_(rows().size()) {
        for (std::size_t row = 0; row < offers_.size(); ++row) offers_[row] = rows()[row].values;
    }

    /// Holds a row to these values: those of them that are legal, whether the row offers them by itself or not. "any",
    /// alone, stands for Row::every. Throws Error for a key without a row, and a text that is no value of it.
    void give(std::string_view key, const std::vector<std::string>& texts);
    [[nodiscard]] static bool has_row(std::string_view key);

    /// Every way to set the first `depth` rows of a plan, in order.
    void each_prefix(strategies::Plan& plan, std::size_t depth, const std::function<void()>& found) const {
        walk(plan, 0, depth, found);
    }
    /// Whether a whole plan keeps every rule and finds room. Rows offer what is legal by the rules that decide most;
    /// who takes a plan further asks for all of them.
    [[nodiscard]] bool legal(const strategies::Plan& plan) const;
    /// Every way to set the rest of them.
    template <class Found>
    void each(strategies::Plan& plan, std::size_t from, const Found& found) const {
        walk(plan, from, rows().size(), found);
    }

private:
    /// legal() but for what single keys say, which is asked of plans that are taken further.
    [[nodiscard]] bool goes_together(const strategies::Plan& plan) const;
    [[nodiscard]] bool keeps(const strategies::Plan& plan, void (*rules)(const strategies::Plan&)) const;

    template <class Found>
    void walk(strategies::Plan& plan, std::size_t row, std::size_t end, const Found& found) const {
        if (row == end) {
            if (end < rows().size() || !unusual_ || goes_together(plan)) found();
            return;
        }
        const Values values = given_[row].empty() ? offers_[row](plan, room_) : given_[row];
        for (const std::uint64_t value : values) {
            rows()[row].set(plan, value);
            walk(plan, row + 1, end, found);
        }
    }
    Room room_;
    std::vector<Values> given_;                                                       // by row; empty: what it offers
    std::vector<Values (*)(const strategies::Plan& plan, const Room& room)> offers_;  // by row
    bool unusual_ = false;  // some row is held to values that may not be legal
};

}  // namespace orrery::planning
