#include "validate/score.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/statistics.hpp"
#include "validate/gave_constants.hpp"

namespace orrery::validate {

namespace {

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void score_worst(SourceScore& score, std::vector<const Result*> predicted) {
    std::ranges::stable_sort(predicted, std::ranges::greater{}, [](const Result* r) { return std::abs(r->error); });
    for (std::size_t i = 0; i < std::min(predicted.size(), most_worst); ++i)
        score.worst.push_back({predicted[i]->id, std::copysign(predicted[i]->error, predicted[i]->signed_error)});
}

SourceScore score_source(const std::string& source, const std::vector<const Result*>& rows) {
    SourceScore score;
    score.source = source;
    score.rows = rows.size();
    std::vector<const Result*> predicted;
    std::vector<double> absolute, signed_errors;
    for (const Result* row : rows) {
        if (!row->predicted) {
            ++score.reasons[row->reason];
            continue;
        }
        predicted.push_back(row);
        absolute.push_back(std::abs(row->error));
        signed_errors.push_back(row->signed_error);
    }
    score.predicted = predicted.size();
    score.skipped = score.rows - score.predicted;
    if (predicted.empty()) return score;
    score.median = median(absolute);
    score.mean = mean(absolute);
    score.bias = mean(signed_errors);
    score.order = order_of(predicted);
    score_worst(score, predicted);
    return score;
}

double share(std::size_t part, std::size_t of) { return static_cast<double>(part) / static_cast<double>(of); }

/// Over the sources that have enough to say of it.
template <class Counts>
void summarise_order(const Table& table, const Counts& counts, Summary& summary) {
    std::vector<double> shares, correlations;
    for (const SourceScore& source : table.sources) {
        if (!counts(source.source)) continue;
        const Order& order = source.order;
        if (order.pairs >= least_rows) shares.push_back(share(order.ordered, order.pairs));
        if (order.spearman) correlations.push_back(*order.spearman);
    }
    summary.ordering = shares.size();
    if (!shares.empty()) summary.ordered = mean(shares);
    if (!correlations.empty()) summary.spearman = mean(correlations);
}

template <class Counts>
Summary summarise(const Table& table, const Counts& counts) {
    Summary summary;
    std::vector<double> medians;
    const bool large = std::ranges::any_of(table.sources, [&](const SourceScore& source) {
        return source.predicted >= least_rows && counts(source.source);
    });
    summary.least = large ? least_rows : 1;
    for (const SourceScore& source : table.sources)
        if (source.predicted >= summary.least && counts(source.source)) medians.push_back(*source.median);
    summary.sources = medians.size();
    if (!medians.empty()) summary.mean_of_medians = mean(medians);
    std::size_t near = 0, intervals = 0, inside = 0;
    for (const Result& row : table.rows) {
        if (!row.predicted || !counts(row.source)) continue;
        ++summary.rows;
        constexpr double tenth = 0.1;
        if (std::abs(row.error) <= tenth) ++near;
        if (row.high == 0) continue;
        ++intervals;
        if (row.measured >= row.low && row.measured <= row.high) ++inside;
    }
    if (summary.rows > 0) summary.within_tenth = share(near, summary.rows);
    if (intervals > 0) summary.inside = share(inside, intervals);
    summarise_order(table, counts, summary);
    return summary;
}

}  // namespace

Table score(std::vector<Result> rows, bool (*seen)(std::string_view source)) {
    Table table;
    table.rows = std::move(rows);
    std::vector<std::string> order;
    std::map<std::string, std::vector<const Result*>> by_source;
    for (const Result& row : table.rows) {
        auto& list = by_source[row.source];
        if (list.empty()) order.push_back(row.source);
        list.push_back(&row);
    }
    for (const std::string& source : order) table.sources.push_back(score_source(source, by_source[source]));
    table.all = summarise(table, [](const std::string&) { return true; });
    table.independent = summarise(table, [&](const std::string& source) { return !seen(source); });
    return table;
}

}  // namespace orrery::validate
