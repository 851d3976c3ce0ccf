#include "strategies/rank_placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "base/enum_table.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace orrery::strategies {

namespace {

/// Megatron-LM's, in the order of Axis; of a grid of tensor ranks its axes apart.
constexpr EnumNames<Axis> short_names{"tp", "tpr", "tpc", "tpd", "cpi", "cp", "ep", "dp", "rp", "pp", "opposite"};
constexpr std::array grid_axes{Axis::tensor_row, Axis::tensor_column, Axis::tensor_depth};
constexpr std::array<std::string_view, 5> layouts{"linear", "round_robin", "row", "column", "average"};

Axis axis_named(std::string_view word) {
    for (std::size_t i = 0; i < axes; ++i) {
        const auto axis = static_cast<Axis>(i);
        if (word == short_names[axis] || word == to_text(axis)) return axis;
    }
    throw Error(fmt::format("\"{}\" is neither a layout nor an axis", word),
                fmt::format("write {}, an order of axes such as \"tp-pp-dp\", or GPU numbers such as \"0-3,8-11\"",
                            join(layouts)));
}

/// Throws unless each GPU appears once.
void require_distinct(const std::vector<std::uint32_t>& gpus) {
    constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();
    if (gpus.empty()) return;
    std::vector<std::uint32_t> owner(std::size_t{*std::max_element(gpus.begin(), gpus.end())} + 1, nobody);
    for (std::uint32_t rank = 0; rank < gpus.size(); ++rank) {
        std::uint32_t& other = owner[gpus[rank]];
        if (other != nobody)
            throw Error(fmt::format("ranks {} and {} are both on GPU {}", other, rank, gpus[rank]),
                        "name each GPU once");
        other = rank;
    }
}

}  // namespace

RankPlacement::RankPlacement(std::vector<std::uint32_t> gpus) {
    require_distinct(gpus);
    bool identity = true;
    for (std::uint32_t rank = 0; rank < gpus.size(); ++rank) identity = identity && gpus[rank] == rank;
    if (!identity) gpu_ = std::make_shared<const std::vector<std::uint32_t>>(std::move(gpus));
}

std::vector<std::uint32_t> RankPlacement::gpus(std::vector<std::uint32_t> ranks) const {
    if (linear()) return ranks;
    for (std::uint32_t& each : ranks) each = gpu(each);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

bool RankPlacement::operator==(const RankPlacement& other) const {
    return gpu_ == other.gpu_ || (gpu_ != nullptr && other.gpu_ != nullptr && *gpu_ == *other.gpu_);
}

AxisOrder parse_axis_order(std::string_view text, const Mesh& mesh) {
    AxisOrder order;
    for (std::string_view rest = text; !rest.empty() || order.empty();) {
        const std::size_t dash = rest.find('-');
        const Axis axis = axis_named(rest.substr(0, dash));
        if (std::find(order.begin(), order.end(), axis) != order.end())
            throw Error(fmt::format("\"{}\" names {} twice", text, to_text(axis)), "name each axis once");
        order.push_back(axis);
        if (dash == std::string_view::npos) break;
        rest.remove_prefix(dash + 1);
        if (rest.empty()) (void)axis_named(rest);  // a dash at the end
    }
    const auto named = [&](Axis axis) { return std::find(order.begin(), order.end(), axis); };
    if (named(Axis::replica) == order.end() && named(Axis::data) != order.end() && mesh.along(Axis::replica) > 1)
        order.insert(named(Axis::data) + 1, Axis::replica);
    if (const auto all = named(Axis::tensor); all != order.end()) {  // a grid's axes where "tp" stands for all of them
        std::vector<Axis> grid;
        std::ranges::copy_if(grid_axes, std::back_inserter(grid),
                             [&](Axis axis) { return mesh.along(axis) > 1 && named(axis) == order.end(); });
        order.insert(all + 1, grid.begin(), grid.end());
    }
    if (const auto all = named(Axis::context);
        all != order.end() && named(Axis::context_inner) == order.end() && mesh.along(Axis::context_inner) > 1)
        order.insert(all, Axis::context_inner);
    for (const Axis axis : own_axes) {
        if (mesh.along(axis) > 1 && named(axis) == order.end())
            throw Error(fmt::format("\"{}\" leaves out {}, of {} ranks", text, to_text(axis), mesh.along(axis)),
                        fmt::format("add \"{}\"; the axis that varies fastest stands first", short_names[axis]));
    }
    return order;
}

std::string to_text(const AxisOrder& order) {
    std::vector<std::string_view> words;
    words.reserve(order.size());
    for (const Axis axis : order) words.push_back(short_names[axis]);
    return join(words, "-");
}

RankPlacement by_axes(const Mesh& mesh, const AxisOrder& order) {
    std::vector<std::uint32_t> gpus(mesh.ranks());
    std::uint32_t stride = 1;
    for (const Axis axis : order) {
        for (std::uint32_t rank = 0; rank < gpus.size(); ++rank) gpus[rank] += mesh.coordinate(rank, axis) * stride;
        stride *= mesh.along(axis);
    }
    return RankPlacement(std::move(gpus));
}

std::vector<AxisOrder> axis_orders(const Mesh& mesh) {
    AxisOrder order;
    for (std::size_t i = 0; i < axes; ++i)
        if (mesh.extent[i] > 1) order.push_back(static_cast<Axis>(i));
    const auto copies_behind_shares = [&] {
        const auto shares = std::ranges::find(order, Axis::data), copies = std::ranges::find(order, Axis::replica);
        return shares == order.end() || copies == order.end() || copies == shares + 1;
    };
    const auto grid_in_a_row = [&] {
        AxisOrder grid;
        std::ranges::copy_if(order, std::back_inserter(grid),
                             [](Axis axis) { return std::ranges::find(grid_axes, axis) != grid_axes.end(); });
        return std::ranges::is_sorted(grid) &&
               (grid.empty() || std::search(order.begin(), order.end(), grid.begin(), grid.end()) != order.end());
    };
    std::vector<AxisOrder> all;
    do {
        if (copies_behind_shares() && grid_in_a_row()) all.push_back(order);
    } while (std::next_permutation(order.begin(), order.end()));
    return all;
}

RankPlacement round_robin(std::uint32_t ranks, const Nodes& nodes) {
    std::vector<std::uint32_t> gpus;
    gpus.reserve(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        gpus.push_back(rank % nodes.count * nodes.gpus + rank / nodes.count);
    return RankPlacement(std::move(gpus));
}

RankPlacement evenly(std::uint32_t ranks, const Nodes& nodes) {
    std::vector<std::uint32_t> gpus;
    gpus.reserve(ranks);
    for (std::uint32_t node = 0; node < nodes.count; ++node) {
        const std::uint32_t here = ranks / nodes.count + (node < ranks % nodes.count ? 1 : 0);
        for (std::uint32_t local = 0; local < here; ++local) gpus.push_back(node * nodes.gpus + local);
    }
    return RankPlacement(std::move(gpus));
}

RankPlacement named_placement(std::string_view name, const Mesh& mesh, const Nodes& nodes) {
    if (name == "linear" || name == "row") return {};
    if (name == "round_robin" || name == "column") return round_robin(mesh.ranks(), nodes);
    if (name == "average") return evenly(mesh.ranks(), nodes);
    return by_axes(mesh, parse_axis_order(name, mesh));
}

bool layer_groups_are_local(const Mesh& mesh, const RankPlacement& placement, std::uint32_t gpus_per_node) {
    const std::uint32_t together =
        mesh.group_size({Axis::tensor, Axis::tensor_row, Axis::tensor_column, Axis::tensor_depth, Axis::context_inner,
                         Axis::context, Axis::expert});  // ranks in a row
    if (placement.linear()) return gpus_per_node % together == 0;
    for (std::uint32_t rank = 0; rank < mesh.ranks(); ++rank)
        if (placement.gpu(rank) / gpus_per_node != placement.gpu(rank - rank % together) / gpus_per_node) return false;
    return true;
}

}  // namespace orrery::strategies
