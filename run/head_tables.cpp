#include "run/head_tables.hpp"

namespace orrery::run {

namespace {

using strategies::Table;
using List = std::vector<std::int32_t>;

/// Tokens of a micro-batch and heads of a tensor rank.
class HeadRows {
public:
    /// ranks: that exchange heads, or gather keys; neighbours among the context ranks. Positions are those in what they
    /// hold of each sequence: the whole, or of a ring's ranks two parts of it.
    HeadRows(const Place& place, std::uint32_t ranks)
        : ranks_(ranks), sequences_(place.plan.training.micro_batch), local_(place.plan.rank_seq()) {}

    [[nodiscard]] std::uint64_t tokens() const { return sequences_ * local_; }

    /// By rank, token and head of its share <- by token, of `row` heads each.
    [[nodiscard]] List spread(std::uint64_t heads, std::uint64_t row) const {
        List list;
        for (std::uint64_t rank = 0; rank < ranks_; ++rank)
            for (std::uint64_t token = 0; token < tokens(); ++token)
                for (std::uint64_t head = 0; head < heads / ranks_; ++head)
                    add(list, token * row + rank * (heads / ranks_) + head);
        return list;
    }
    /// By the rank that holds the token, its token and head of its share <- by position, of `row` heads each.
    [[nodiscard]] List back(std::uint64_t heads, std::uint64_t row) const {
        List list;
        for (std::uint64_t rank = 0; rank < ranks_; ++rank)
            for (std::uint64_t token = 0; token < tokens(); ++token)
                for (std::uint64_t head = 0; head < heads / ranks_; ++head)
                    add(list, position(rank, token) * row + head);
        return list;
    }
    /// By position and head <- the same.
    [[nodiscard]] List order(std::uint64_t heads) const { return inverse(back(heads, heads / ranks_)); }
    /// By rank and token <- by position, rows of all heads.
    [[nodiscard]] List by_rank() const { return back(ranks_, 1); }
    [[nodiscard]] List by_position() const { return inverse(by_rank()); }
    /// By token and head <- by rank, token and head of its share, behind `before` heads of every token.
    void join(List& list, std::uint64_t token, std::uint64_t heads, std::uint64_t before) const {
        const std::uint64_t share = heads / ranks_;
        for (std::uint64_t head = 0; head < heads; ++head)
            add(list, tokens() * before + (head / share * tokens() + token) * share + head % share);
    }

private:
    static void add(List& list, std::uint64_t row) { list.push_back(static_cast<std::int32_t>(row)); }
    static List inverse(const List& of) {
        List list(of.size());
        for (std::size_t i = 0; i < of.size(); ++i)
            list[static_cast<std::size_t>(of[i])] = static_cast<std::int32_t>(i);
        return list;
    }

    /// Rank r of R holds parts r and 2 R - 1 - r of 2 R, as Place::position_of() has it of all context ranks.
    [[nodiscard]] std::uint64_t position(std::uint64_t rank, std::uint64_t token) const {
        const std::uint64_t half = local_ / 2, of_sequence = token % local_;
        const std::uint64_t first = token / local_ * local_ * ranks_;
        return first +
               (of_sequence < half ? rank * half + of_sequence : (2 * ranks_ - 1 - rank) * half + of_sequence - half);
    }

    std::uint64_t ranks_, sequences_, local_;
};

/// By position, a share of the heads of queries, keys and values <- exchanged queries, then keys, then values.
List packed_by_position(const HeadRows& rows, std::uint64_t ranks, std::uint64_t heads, std::uint64_t keys) {
    const List queries = rows.order(heads), others = rows.order(keys);
    const auto keys_at = static_cast<std::int32_t>(rows.tokens() * heads),
               values_at = static_cast<std::int32_t>(rows.tokens() * (heads + keys));
    List list;
    for (std::size_t position = 0; position < rows.tokens() * ranks; ++position) {
        for (std::size_t head = 0; head < heads / ranks; ++head)
            list.push_back(queries[position * (heads / ranks) + head]);
        for (const std::int32_t first : {keys_at, values_at})
            for (std::size_t head = 0; head < keys / ranks; ++head)
                list.push_back(first + others[position * (keys / ranks) + head]);
    }
    return list;
}

/// ranks: that exchange them.
std::map<Table, List> exchanged_heads(const Place& place, std::uint32_t ranks) {
    const strategies::Plan& plan = place.plan;
    const std::uint64_t heads = plan.model.heads / plan.strategy.tensor,
                        keys = plan.model.kv_heads / plan.strategy.tensor;
    const std::uint64_t packed = heads + 2 * keys;
    const HeadRows rows(place, ranks);
    std::map<Table, List> tables{{Table::spread_queries, rows.spread(heads, packed)},
                                 {Table::spread_keys, rows.spread(keys, packed)},
                                 {Table::spread_results, rows.spread(heads, heads)},
                                 {Table::order_packed, packed_by_position(rows, ranks, heads, keys)},
                                 {Table::order_results, rows.order(heads)},
                                 {Table::return_queries, rows.back(heads, packed / ranks)},
                                 {Table::return_keys, rows.back(keys, packed / ranks)},
                                 {Table::return_results, rows.back(heads, heads / ranks)}};
    for (std::uint64_t token = 0; token < rows.tokens(); ++token) {
        rows.join(tables[Table::join_results], token, heads, 0);
        rows.join(tables[Table::join_packed], token, heads, 0);
        rows.join(tables[Table::join_packed], token, keys, heads);
        rows.join(tables[Table::join_packed], token, keys, heads + keys);
    }
    return tables;
}

}  // namespace

std::map<Table, List> head_tables(const Place& place) {
    const std::uint32_t context = place.plan.strategy.context;
    switch (place.plan.strategy.context_exchange) {
        case strategies::ContextExchange::p2p: return {};
        case strategies::ContextExchange::all_gather: {
            const HeadRows rows(place, context);
            return {{Table::by_position, rows.by_position()}, {Table::by_rank, rows.by_rank()}};
        }
        case strategies::ContextExchange::a2a: return exchanged_heads(place, context);
        case strategies::ContextExchange::a2a_p2p: return exchanged_heads(place, place.plan.context_heads());
    }
    return {};
}

}  // namespace orrery::run
