#include "sim/equitable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.hpp"

namespace orrery::sim {

namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// An edge seen from the end that reads `label`.
struct Sight {
    std::uint32_t label;
    std::uint32_t vertex;
};

/// Rows of sights, one row a vertex.
struct Rows {
    std::vector<std::uint32_t> first;
    std::vector<Sight> sights;

    [[nodiscard]] std::span<const Sight> row(std::uint32_t vertex) const {
        return {sights.data() + first[vertex], sights.data() + first[vertex + 1]};
    }
};

/// Row v holds the vertices that see v, each with the label it reads.
Rows seen_by(const ColouredGraph& graph) {
    const auto vertices = static_cast<std::uint32_t>(graph.colour.size());
    Rows rows;
    rows.first.assign(vertices + 1, 0);
    for (const auto& edge : graph.edges) {
        if (edge.a >= vertices || edge.b >= vertices)
            throw Error(fmt::format("an edge joins vertices {} and {} of {}", edge.a, edge.b, vertices));
        ++rows.first[edge.a + 1];
        ++rows.first[edge.b + 1];
    }
    std::partial_sum(rows.first.begin(), rows.first.end(), rows.first.begin());
    rows.sights.resize(2 * graph.edges.size());
    std::vector<std::uint32_t> next(rows.first.begin(), rows.first.end() - 1);
    for (const auto& edge : graph.edges) {
        rows.sights[next[edge.b]++] = {edge.label_from_a, edge.a};
        rows.sights[next[edge.a]++] = {edge.label_from_b, edge.b};
    }
    return rows;
}

/// `values`, all below `count`, renamed 0.. in the order in which they first occur.
std::vector<std::uint32_t> numbered_by_first_member(std::span<const std::uint32_t> values, std::size_t count) {
    std::vector<std::uint32_t> name(count, none), number;
    number.reserve(values.size());
    std::uint32_t next = 0;
    for (const std::uint32_t value : values) {
        if (name[value] == none) name[value] = next++;
        number.push_back(name[value]);
    }
    return number;
}

/// Cells are runs of `members_`; a cell is split by the number of edges its members send into a splitter cell.
class Refinement {
public:
    explicit Refinement(const ColouredGraph& graph);

    std::vector<std::uint32_t> classes() && {
        for (std::size_t next = 0; next < work_.size(); ++next) split_by(work_[next]);
        return numbered_by_first_member(cell_of_, cells_.size());
    }

private:
    struct Cell {
        std::uint32_t begin, end;
        std::uint32_t counted = 0;  // members at its end that the current splitter touches
        bool queued = true;
    };

    void sort_by_colour(const std::vector<std::uint32_t>& colour);
    void number_labels();
    void add_cell(std::uint32_t begin, std::uint32_t end, bool queued);
    void enqueue(std::uint32_t cell);
    void split_by(std::uint32_t splitter);
    void sort_by_label();
    void count(std::uint32_t vertex);
    void split_counted();
    void split_cell(std::uint32_t cell);

    Rows rows_;
    std::vector<std::uint32_t> members_, place_, cell_of_;
    std::vector<Cell> cells_;
    std::vector<std::uint32_t> work_;
    std::vector<Sight> into_, sorted_;  // edges into the current splitter
    std::vector<std::uint32_t> next_of_label_;
    std::vector<std::uint32_t> count_;  // per vertex, of the current splitter and label; else 0
    std::vector<std::uint32_t> counted_cells_;
};

Refinement::Refinement(const ColouredGraph& graph)
    : rows_(seen_by(graph)),
      members_(graph.colour.size()),
      place_(graph.colour.size()),
      cell_of_(graph.colour.size()),
      count_(graph.colour.size(), 0) {
    number_labels();
    sort_by_colour(graph.colour);
    const auto vertices = static_cast<std::uint32_t>(members_.size());
    for (std::uint32_t begin = 0, i = 0; i < vertices; ++i) {
        place_[members_[i]] = i;
        if (i + 1 < vertices && graph.colour[members_[i + 1]] == graph.colour[members_[i]]) continue;
        add_cell(begin, i + 1, true);
        begin = i + 1;
    }
}

/// Into members_, those of a colour in their order: a counting sort, as colours are few.
void Refinement::sort_by_colour(const std::vector<std::uint32_t>& colour) {
    if (colour.empty()) return;
    std::vector<std::uint32_t> next(std::size_t{std::ranges::max(colour)} + 2);
    for (const std::uint32_t each : colour) ++next[each + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (std::uint32_t vertex = 0; vertex < colour.size(); ++vertex) members_[next[colour[vertex]]++] = vertex;
}

/// Labels renamed 0.. in their order.
void Refinement::number_labels() {
    std::uint32_t most = 0;
    for (const Sight& sight : rows_.sights) most = std::max(most, sight.label);
    std::vector<std::uint32_t> number(std::size_t{most} + 1, none);
    for (const Sight& sight : rows_.sights) number[sight.label] = 0;
    std::uint32_t labels = 0;
    for (std::uint32_t& each : number)
        if (each != none) each = labels++;
    for (Sight& sight : rows_.sights) sight.label = number[sight.label];
    next_of_label_.resize(std::size_t{labels} + 1);
}

void Refinement::add_cell(std::uint32_t begin, std::uint32_t end, bool queued) {
    const auto cell = static_cast<std::uint32_t>(cells_.size());
    cells_.push_back({begin, end, 0, false});
    for (std::uint32_t i = begin; i < end; ++i) cell_of_[members_[i]] = cell;
    if (queued) enqueue(cell);
}

void Refinement::enqueue(std::uint32_t cell) {
    cells_[cell].queued = true;
    work_.push_back(cell);
}

void Refinement::split_by(std::uint32_t splitter) {
    cells_[splitter].queued = false;
    into_.clear();
    for (std::uint32_t i = cells_[splitter].begin; i < cells_[splitter].end; ++i) {
        const auto row = rows_.row(members_[i]);
        into_.insert(into_.end(), row.begin(), row.end());
    }
    sort_by_label();
    for (std::size_t i = 0; i < into_.size(); ++i) {
        count(into_[i].vertex);
        if (i + 1 == into_.size() || into_[i + 1].label != into_[i].label) split_counted();
    }
}

/// A counting sort where sights are many and labels few.
void Refinement::sort_by_label() {
    const auto by_label = [](const Sight& a, const Sight& b) { return a.label < b.label; };
    if (std::is_sorted(into_.begin(), into_.end(), by_label)) return;
    if (into_.size() < next_of_label_.size()) return std::sort(into_.begin(), into_.end(), by_label);
    next_of_label_.assign(next_of_label_.size(), 0);
    for (const Sight& sight : into_) ++next_of_label_[sight.label + 1];
    std::partial_sum(next_of_label_.begin(), next_of_label_.end(), next_of_label_.begin());
    sorted_.resize(into_.size());
    for (const Sight& sight : into_) sorted_[next_of_label_[sight.label]++] = sight;
    into_.swap(sorted_);
}

void Refinement::count(std::uint32_t vertex) {
    if (count_[vertex]++ > 0) return;
    const std::uint32_t id = cell_of_[vertex];
    Cell& cell = cells_[id];
    if (cell.counted == 0) counted_cells_.push_back(id);
    const std::uint32_t from = place_[vertex], to = cell.end - ++cell.counted;
    std::swap(members_[from], members_[to]);
    place_[members_[from]] = from;
    place_[vertex] = to;
}

void Refinement::split_counted() {
    for (const std::uint32_t cell : counted_cells_) split_cell(cell);
    counted_cells_.clear();
}

void Refinement::split_cell(std::uint32_t id) {
    const auto [begin, end, counted, queued] = cells_[id];
    cells_[id].counted = 0;
    const auto first = members_.begin() + (end - counted), last = members_.begin() + end;
    const auto fewer = [this](auto a, auto b) { return count_[a] < count_[b]; };
    if (!std::is_sorted(first, last, fewer)) {
        std::sort(first, last, fewer);
        for (std::uint32_t i = end - counted; i < end; ++i) place_[members_[i]] = i;
    }
    // The uncounted members keep the cell; without any, those of the least count do.
    std::uint32_t part = end - counted;
    const auto part_end = [&] {
        const auto same = count_[members_[part]];
        const auto other = [&](auto v) { return count_[v] != same; };
        return static_cast<std::uint32_t>(std::find_if(members_.begin() + part, last, other) - members_.begin());
    };
    if (part == begin) part = part_end();
    cells_[id].end = part;
    std::uint32_t largest = id;
    const auto size = [this](std::uint32_t cell) { return cells_[cell].end - cells_[cell].begin; };
    const auto born = static_cast<std::uint32_t>(cells_.size());
    while (part < end) {
        const std::uint32_t next = part_end();
        add_cell(part, next, false);
        const auto cell = static_cast<std::uint32_t>(cells_.size() - 1);
        if (size(cell) > size(largest)) largest = cell;
        part = next;
    }
    // A cell that waits is a splitter still to come, and so must be all its parts. Otherwise all has been split by
    // the whole, and the largest part follows from the others.
    if (!queued && largest != id) enqueue(id);
    for (std::uint32_t cell = born; cell < cells_.size(); ++cell)
        if (queued || cell != largest) enqueue(cell);
    for (std::uint32_t i = end - counted; i < end; ++i) count_[members_[i]] = 0;
}

/// What a vertex sees: (label, class) of each edge, sorted.
std::vector<std::pair<std::uint32_t, std::uint32_t>> view(std::span<const Sight> row,
                                                          std::span<const std::uint32_t> classes) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (const Sight& sight : row) pairs.emplace_back(sight.label, classes[sight.vertex]);
    std::sort(pairs.begin(), pairs.end());
    return pairs;
}

/// Row v holds what v sees.
Rows seen_from(const ColouredGraph& graph) {
    ColouredGraph turned = graph;
    for (auto& edge : turned.edges) std::swap(edge.label_from_a, edge.label_from_b);
    return seen_by(turned);
}

}  // namespace

std::vector<std::uint32_t> equitable_partition(const ColouredGraph& graph) { return Refinement(graph).classes(); }

bool is_equitable(const ColouredGraph& graph, std::span<const std::uint32_t> classes) {
    const std::size_t vertices = graph.colour.size();
    if (classes.size() != vertices) return false;
    std::vector<std::uint32_t> order(vertices);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return classes[a] < classes[b]; });
    const Rows rows = seen_from(graph);
    for (std::size_t begin = 0, i = 0; i < vertices; ++i) {
        if (classes[order[i]] != classes[order[begin]]) begin = i;
        if (begin == i) continue;
        const std::uint32_t model = order[begin], vertex = order[i];
        if (graph.colour[vertex] != graph.colour[model]) return false;
        if (view(rows.row(vertex), classes) != view(rows.row(model), classes)) return false;
    }
    return true;
}

}  // namespace orrery::sim
