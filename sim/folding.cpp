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

/// Engine links, in the order in which routes first cross their classes.
class EngineLinks {
public:
    EngineLinks(const HopTable& hops, const std::vector<std::uint32_t>& classes, const Network& network,
                std::uint32_t width)
        : hops_(hops), classes_(classes), network_(network), width_(width), members_(sizes(classes)) {
        number_.assign(members_.size(), none);
    }

    std::uint32_t of(std::uint32_t link) {
        std::uint32_t& number = number_[classes_[link]];
        if (number == none) {
            number = static_cast<std::uint32_t>(capacities_.size());
            const topology::LinkId id = hops_.link(link);
            capacities_.push_back(network_.capacity(id));
            link_members_.push_back(members_[classes_[link]] * width_ * network_.cluster().stands_for(id));
            examples_.push_back(id);
        }
        return number;
    }
    /// Links of a link's class, of the first ranks of columns.
    [[nodiscard]] std::uint32_t members(std::uint32_t link) const { return members_[classes_[link]]; }

    void write_to(Folding& folding) const {
        folding.capacities = capacities_;
        folding.link_members = link_members_;
        folding.link_example = examples_;
    }

private:
    const HopTable& hops_;
    const std::vector<std::uint32_t>& classes_;
    const Network& network_;
    std::uint32_t width_;
    std::vector<std::uint32_t> members_, number_;  // by class
    std::vector<double> capacities_;
    std::vector<std::uint32_t> link_members_;
    std::vector<topology::LinkId> examples_;
};

/// Folds one job.
class Folder {
public:
    Folder(Traffic traffic, const Network& network, const HopTable& hops, const Flows& flows,
           const FlowClasses::Job& classes, EngineLinks& links)
        : network_(network),
          hops_(hops),
          flows_(flows),
          classes_(classes),
          links_(links),
          folding_(std::move(traffic)) {
        fold_ranks();
        fold_messages();
        fold_groups();
        fold_single_columns();
    }

    void fold_background(const std::vector<scenarios::BackgroundFlow>& background, const SharedFlows& flows,
                         const std::vector<std::uint32_t>& classes) {
        const std::vector<std::uint32_t> members = sizes(classes);
        Dense dense(classes);
        std::vector<LinkUse> path;
        for (std::size_t i = 0; i < classes.size(); ++i) {
            if (!dense.of(classes[i]).second) continue;
            BackgroundRoute route{background[i].bytes_per_second, background[i].when, 0, 0};
            path.clear();
            hops_.each_link(flows.background[i], [&](std::uint32_t link, double share) {
                path.push_back({link, share});
            });
            use(route, path, members[classes[i]]);
            folding_.background.push_back(route);
        }
    }

    [[nodiscard]] Folding take() && { return std::move(folding_); }

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

    /// The links of one of `flows` flows: of its class's columns, as links are counted too.
    template <class Route>
    void use(Route& route, std::span<const LinkUse> path, std::uint32_t flows) {
        route.first_use = static_cast<std::uint32_t>(folding_.uses.size());
        for (const auto& [link, crossings] : path) {
            const std::uint32_t number = links_.of(link);
            if (place_.size() <= number) place_.resize(number + 1, none);
            if (place_[number] < route.first_use || place_[number] == none) {
                place_[number] = static_cast<std::uint32_t>(folding_.uses.size());
                folding_.uses.push_back({number, 0.0});
            }
            folding_.uses[place_[number]].weight += crossings * flows / links_.members(link);
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
            for (const LinkUse& use : path) alone.push_back({hops_.link(use.link), use.weight});
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
    const HopTable& hops_;
    const Flows& flows_;
    const FlowClasses::Job& classes_;
    EngineLinks& links_;
    Folding folding_;
    std::vector<std::uint32_t> place_;  // by engine link: where the last route that crosses it names it
};

/// Columns hold only if all ranks of each have one mark, and no traffic tells their rails apart.
Columns marked_columns(const Traffic& traffic, const topology::Cluster& cluster, const Marks& marks) {
    const strategies::Mesh& mesh = traffic.mesh;
    const Columns columns = tensor_columns(mesh, traffic.placement, cluster);
    for (std::uint32_t rank = 0; rank < marks.rank.size(); ++rank)
        if (marks.of_rank(rank) != marks.of_rank(columns.first_rank(columns.of(rank)))) return single_ranks(mesh);
    return marks.link.empty() && marks.background.empty() ? columns : single_ranks(mesh);
}

std::vector<std::shared_ptr<const Folding>> fold_traffic(std::vector<Traffic> traffic, const topology::Cluster& cluster,
                                                         const Network& network, bool fold, const Marks& marks,
                                                         Binding binding = Binding::all) {
    std::vector<Columns> columns;
    for (const Traffic& job : traffic)
        columns.push_back(fold && traffic.size() == 1 ? marked_columns(job, cluster, marks) : single_ranks(job.mesh));
    const SharedFlows flows(traffic, columns, cluster, network, marks, binding);
    const FlowClasses classes =
        fold ? equitable_classes(flows, traffic, cluster, network, marks) : single_classes(flows);
    EngineLinks links(flows.hops, classes.link, network, columns.front().width);
    std::vector<Folding> foldings;
    for (std::size_t job = 0; job < traffic.size(); ++job) {
        Folder folder(std::move(traffic[job]), network, flows.hops, flows.jobs[job], classes.jobs[job], links);
        if (job == 0) folder.fold_background(marks.background, flows, classes.background);
        foldings.push_back(std::move(folder).take());
    }
    std::vector<std::shared_ptr<const Folding>> shared;
    for (Folding& folding : foldings) {
        links.write_to(folding);
        folding.folded = fold;
        folding.binding = binding;
        shared.push_back(std::make_shared<const Folding>(std::move(folding)));
    }
    return shared;
}

std::shared_ptr<const Folding> fold_one(Traffic traffic, const topology::Cluster& cluster, const Network& network,
                                        bool fold, const Marks& marks, Binding binding = Binding::all) {
    std::vector<Traffic> one;
    one.push_back(std::move(traffic));
    return fold_traffic(std::move(one), cluster, network, fold, marks, binding).front();
}

}  // namespace

std::vector<std::shared_ptr<const Folding>> fold_jobs(std::span<const PlacedProgram> jobs,
                                                      const topology::Cluster& cluster, const Network& network,
                                                      bool fold, const Marks& marks) {
    std::vector<Traffic> traffic;
    for (const PlacedProgram& job : jobs) traffic.emplace_back(*job.step, *job.placement);
    return fold_traffic(std::move(traffic), cluster, network, fold, marks);
}

std::shared_ptr<const Folding> fold_ranks(const strategies::StepProgram& step, const topology::Cluster& cluster,
                                          const Network& network, bool fold, std::shared_ptr<const Folding> known,
                                          const Marks& marks, const strategies::RankPlacement& placement) {
    Traffic traffic(step, placement);
    if (known && known->folded == fold && known->traffic == traffic) return known;
    return fold_one(std::move(traffic), cluster, network, fold, marks);
}

std::shared_ptr<const Folding> fold_ranks(Traffic traffic, const topology::Cluster& cluster, const Network& network,
                                          bool fold, Binding binding) {
    return fold_one(std::move(traffic), cluster, network, fold, {}, binding);
}

}  // namespace orrery::sim
