#include "sim/folding.hpp"

#include <algorithm>
#include <utility>

#include "sim/flows.hpp"
#include "sim/fold_graph.hpp"

namespace orrery::sim {

namespace {

constexpr std::uint32_t none = Folding::none;

/// Class numbers (below their count) made dense, in the order in which they are asked for.
class Dense {
public:
    explicit Dense(const std::vector<std::uint32_t>& classes)
        : number_(classes.empty() ? 0 : *std::max_element(classes.begin(), classes.end()) + 1, none) {}
    /// The number of a class, and whether it is new.
    std::pair<std::uint32_t, bool> of(std::uint32_t class_) {
        const bool fresh = number_[class_] == none;
        if (fresh) number_[class_] = next_++;
        return {number_[class_], fresh};
    }

private:
    std::vector<std::uint32_t> number_;
    std::uint32_t next_ = 0;
};

std::vector<std::uint32_t> sizes(const std::vector<std::uint32_t>& classes) {
    std::vector<std::uint32_t> size;
    for (const std::uint32_t class_ : classes) {
        if (class_ >= size.size()) size.resize(class_ + 1);
        ++size[class_];
    }
    return size;
}

class Folder {
public:
    Folder(Traffic traffic, const Network& network, const Flows& flows, const FlowClasses& classes)
        : network_(network), flows_(flows), classes_(classes), folding_(std::move(traffic)) {}

    Folding fold() && {
        fold_ranks();
        link_members_ = sizes(classes_.link);
        engine_link_.assign(link_members_.size(), none);
        fold_messages();
        fold_groups();
        fold_single_columns();
        return std::move(folding_);
    }

private:
    void fold_ranks() {
        const Columns& columns = flows_.columns();
        Dense dense(classes_.column);
        folding_.class_of.resize(std::size_t{columns.count} * columns.width);
        for (std::uint32_t column = 0; column < columns.count; ++column) {
            const auto [number, fresh] = dense.of(classes_.column[column]);
            const std::uint32_t rank = columns.first_rank(column);
            if (fresh) folding_.classes.push_back({rank, 0, folding_.traffic.role[rank], {}});
            folding_.classes[number].size += columns.width;
            std::fill_n(folding_.class_of.begin() + rank, columns.width, number);
        }
        folding_.message_of.assign(folding_.classes.size() * folding_.traffic.channels.size(), none);
        folding_.group_of.assign(folding_.classes.size() * folding_.traffic.sets.size(), none);
    }
    [[nodiscard]] std::uint32_t class_of(std::uint32_t column) const {
        return folding_.class_of[flows_.columns().first_rank(column)];
    }

    std::uint32_t engine_link(std::uint32_t link) {
        std::uint32_t& number = engine_link_[classes_.link[link]];
        if (number == none) {
            number = static_cast<std::uint32_t>(folding_.capacities.size());
            const topology::LinkId id = flows_.hops().link(link);
            folding_.capacities.push_back(network_.capacity(id));
            folding_.link_members.push_back(link_members_[classes_.link[link]] * flows_.columns().width);
            folding_.link_example.push_back(id);
            place_.push_back(none);
        }
        return number;
    }
    /// The links of one of `flows` flows: of its class's columns, as links are counted too.
    template <class Route>
    void use(Route& route, std::span<const LinkUse> path, std::uint32_t flows) {
        route.first_use = static_cast<std::uint32_t>(folding_.uses.size());
        for (const auto& [link, crossings] : path) {
            const std::uint32_t number = engine_link(link);
            if (place_[number] < route.first_use || place_[number] == none) {
                place_[number] = static_cast<std::uint32_t>(folding_.uses.size());
                folding_.uses.push_back({number, 0.0});
            }
            folding_.uses[place_[number]].weight += crossings * flows / link_members_[classes_.link[link]];
        }
        route.uses = static_cast<std::uint32_t>(folding_.uses.size()) - route.first_use;
    }

    void fold_messages() {
        const std::vector<std::uint32_t> members = sizes(classes_.message);
        const std::size_t channels = folding_.traffic.channels.size();
        std::vector<LinkUse> path;
        for (std::uint32_t i = 0; i < classes_.message.size(); ++i) {
            const Flows::Message& message = flows_.messages()[i];
            std::uint32_t& number = folding_.message_of[class_of(message.from) * channels + message.channel];
            if (number != none) continue;
            number = static_cast<std::uint32_t>(folding_.messages.size());
            const std::uint32_t from = flows_.columns().first_rank(message.from);
            const Channel& channel = folding_.traffic.channels[message.channel];
            const std::uint32_t to = folding_.traffic.mesh.peer(from, channel.axis, channel.delta);
            MessageRoute route{class_of(message.to), folding_.traffic.gpu(from), folding_.traffic.gpu(to), 0, 0};
            path.clear();
            flows_.each_link(message, [&](std::uint32_t link, double share) { path.push_back({link, share}); });
            use(route, path, members[classes_.message[i]]);
            folding_.messages.push_back(route);
        }
    }
    void fold_groups() {
        const std::vector<std::uint32_t> members = sizes(classes_.group);
        Dense dense(classes_.group);
        for (std::uint32_t i = 0; i < classes_.group.size(); ++i) {
            const Flows::Group& group = flows_.groups()[i];
            if (!dense.of(classes_.group[i]).second) continue;
            GroupRoute route = group_route(group.set, flows_.members(group));
            const auto path = flows_.path(group);
            std::vector<LinkUse> alone;
            for (const LinkUse& use : path) alone.push_back({flows_.hops().link(use.link), use.weight});
            route.alone = network_.tightest(alone);
            if (folding_.traffic.sets[group.set].contends) use(route, path, members[classes_.group[i]]);
            folding_.groups.push_back(std::move(route));
        }
    }
    /// Groups inside a column: one for each class of columns that takes part.
    void fold_single_columns() {
        for (std::uint32_t number = 0; number < folding_.classes.size(); ++number)
            for (const std::uint32_t set : folding_.traffic.groups_of[folding_.classes[number].role]) {
                if (!flows_.single_column(set)) continue;
                const std::uint32_t column = flows_.columns().of(folding_.classes[number].representative);
                folding_.groups.push_back(group_route(set, {&column, 1}));
            }
    }
    /// Of a group that will be the next of folding_.groups.
    GroupRoute group_route(std::uint32_t set, std::span<const std::uint32_t> columns) {
        GroupRoute route;
        for (const std::uint32_t column : columns) route.classes.push_back(class_of(column));
        std::sort(route.classes.begin(), route.classes.end());
        route.classes.erase(std::unique(route.classes.begin(), route.classes.end()), route.classes.end());
        const auto next = static_cast<std::uint32_t>(folding_.groups.size());
        for (const std::uint32_t number : route.classes)
            folding_.group_of[number * folding_.traffic.sets.size() + set] = next;
        const std::uint32_t rank = flows_.columns().first_rank(columns.front());
        route.gpus = folding_.traffic.gpus(rank, folding_.traffic.sets[set].axes);
        return route;
    }

    const Network& network_;
    const Flows& flows_;
    const FlowClasses& classes_;
    Folding folding_;
    std::vector<std::uint32_t> link_members_;  // by class of links
    std::vector<std::uint32_t> engine_link_;   // by class of links
    std::vector<std::uint32_t> place_;         // by engine link: where the last route that crosses it names it
};

/// Columns hold only if all ranks of each have one mark.
Columns marked_columns(const Traffic& traffic, const topology::Cluster& cluster, const Marks& marks) {
    const strategies::Mesh& mesh = traffic.mesh;
    const Columns columns = tensor_columns(mesh, traffic.placement, cluster);
    for (std::uint32_t rank = 0; rank < mesh.ranks(); ++rank)
        if (marks.of_rank(rank) != marks.of_rank(columns.first_rank(columns.of(rank)))) return single_ranks(mesh);
    return marks.link.empty() ? columns : single_ranks(mesh);
}

}  // namespace

std::shared_ptr<const Folding> fold_ranks(const strategies::StepProgram& step, const topology::Cluster& cluster,
                                          const Network& network, bool fold, std::shared_ptr<const Folding> known,
                                          const Marks& marks, const strategies::RankPlacement& placement) {
    Traffic traffic(step, placement);
    if (known && known->folded == fold && known->traffic == traffic) return known;
    const Columns columns = fold ? marked_columns(traffic, cluster, marks) : single_ranks(traffic.mesh);
    const Flows flows(traffic, cluster, network, columns, marks);
    const FlowClasses classes =
        fold ? equitable_classes(flows, traffic, cluster, network, marks) : single_classes(flows);
    Folding folding = Folder(std::move(traffic), network, flows, classes).fold();
    folding.folded = fold;
    return std::make_shared<const Folding>(std::move(folding));
}

}  // namespace orrery::sim
