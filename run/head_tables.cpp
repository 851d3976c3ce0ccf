#include "run/head_tables.hpp"

namespace orrery::run {

namespace {

using strategies::Table;
using List = std::vector<std::int32_t>;

/// Tokens of a micro-batch and heads of a tensor rank.
class HeadRows {
public:
    explicit HeadRows(const Place& place)
        : place_(place),
          ranks_(place.plan.strategy.context),
          sequences_(place.plan.training.micro_batch),
          local_(place.plan.rank_seq()),
          whole_(place.plan.training.seq) {}

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
    /// By position in the whole sequence and head <- by the rank that holds the token, its token and head.
    [[nodiscard]] List order(std::uint64_t heads) const { return inverse(back(heads)); }
    [[nodiscard]] List back(std::uint64_t heads) const {
        List list;
        for (std::uint64_t rank = 0; rank < ranks_; ++rank)
            for (std::uint64_t token = 0; token < tokens(); ++token)
                for (std::uint64_t head = 0; head < heads / ranks_; ++head) {
                    const std::uint64_t position = place_.position_of(static_cast<std::uint32_t>(rank), token % local_);
                    add(list, (token / local_ * whole_ + position) * (heads / ranks_) + head);
                }
        return list;
    }
    /// By rank and token <- by position, rows of all heads.
    [[nodiscard]] List by_rank() const { return back(ranks_); }
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

    const Place& place_;
    std::uint64_t ranks_, sequences_, local_, whole_;
};

std::map<Table, List> exchanged_heads(const Place& place) {
    const strategies::Plan& plan = place.plan;
    const std::uint64_t heads = plan.model.heads / plan.strategy.tensor,
                        keys = plan.model.kv_heads / plan.strategy.tensor;
    const std::uint64_t packed = heads + 2 * keys;
    const HeadRows rows(place);
    std::map<Table, List> tables{{Table::spread_queries, rows.spread(heads, packed)},
                                 {Table::spread_keys, rows.spread(keys, packed)},
                                 {Table::spread_results, rows.spread(heads, heads)},
                                 {Table::order_queries, rows.order(heads)},
                                 {Table::order_keys, rows.order(keys)},
                                 {Table::return_queries, rows.back(heads)},
                                 {Table::return_keys, rows.back(keys)}};
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
    switch (place.plan.strategy.context_exchange) {
        case strategies::ContextExchange::p2p: return {};
        case strategies::ContextExchange::all_gather: {
            const HeadRows rows(place);
            return {{Table::by_position, rows.by_position()}, {Table::by_rank, rows.by_rank()}};
        }
        case strategies::ContextExchange::a2a: return exchanged_heads(place);
    }
    return {};
}

}  // namespace orrery::run
