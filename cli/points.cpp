#include "cli/points.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "calibrate/measure/subject.hpp"
#include "strategies/build.hpp"

namespace orrery::cli {

namespace {

using strategies::Collective;
using strategies::Program;

/// Ranks of a group each own a whole number of fp32 elements.
std::uint64_t whole(std::uint64_t bytes, std::uint32_t ranks) {
    const std::uint64_t unit = std::uint64_t{4} * ranks;
    return std::max(unit, bytes / unit * unit);
}

/// Distinct points in the order in which they are met.
class Points {
public:
    explicit Points(std::uint32_t ranks) : ranks_(ranks) {}

    void add(const strategies::StepProgram& step) {
        for (const kernels::Kernel& kernel : step.kernels) add(calibrate::Subject(kernel));
        for (const Program& block : step.blocks) collectives(step, block);
        for (const Program& program : step.programs) collectives(step, program);
    }
    [[nodiscard]] std::size_t left_out() const { return others_.size(); }
    [[nodiscard]] std::string json() const { return nlohmann::json{{"points", points_}}.dump(1) + '\n'; }

private:
    void add(const calibrate::Subject& subject) {
        if (seen_.insert(calibrate::to_text(subject)).second) points_.push_back(calibrate::to_json(subject));
    }
    /// Among other numbers of ranks than there are now it cannot be measured.
    void add(const calibrate::CollectiveShape& shape) {
        if (shape.ranks == ranks_)
            add(calibrate::Subject(shape));
        else
            others_.insert(calibrate::to_text(calibrate::Subject(shape)));
    }
    void collectives(const strategies::StepProgram& step, const Program& program) {
        for (const auto& op : program.ops) {
            if (const auto* send = std::get_if<strategies::Send>(&op.what))
                add(calibrate::CollectiveShape{kernels::CollectiveKind::send_recv, 2, send->bytes});
            const auto* c = std::get_if<Collective>(&op.what);
            if (c == nullptr) continue;
            const std::uint32_t group = step.mesh.group_size(c->group);
            if (group >= 2) add(calibrate::CollectiveShape{c->on_links(), group, whole(c->bytes, group)});
        }
    }

    std::uint32_t ranks_;
    std::set<std::string> seen_, others_;
    nlohmann::json points_ = nlohmann::json::array();
};

}  // namespace

std::string points_json(std::span<const scenarios::Scenario> scenarios, std::uint32_t ranks, std::size_t& left_out) {
    Points points(ranks);
    for (const scenarios::Scenario& scenario : scenarios) points.add(strategies::build(scenario.plan));
    left_out = points.left_out();
    return points.json();
}

}  // namespace orrery::cli
