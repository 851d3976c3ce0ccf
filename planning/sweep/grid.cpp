#include "planning/sweep/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "documents/document.hpp"
#include "documents/message.hpp"
#include "planning/fingerprint.hpp"
#include "planning/sweep/values.hpp"
#include "scenarios/override.hpp"
#include "sim/version.hpp"

namespace orrery::planning {

namespace {

using scenarios::Override;

/// Keys on which the number of data ranks that fill the cluster depends.
constexpr std::array sizes{"/strategy/tensor",       "/strategy/tensor_model_parallel_size",
                           "/strategy/pipeline",     "/strategy/pipeline_model_parallel_size",
                           "/cluster/preset",        "/cluster/nodes",
                           "/cluster/gpus_per_node", "/cluster/more_nodes"};

bool is_size(const Override& change) { return std::ranges::find(sizes, pointer_of(change)) != sizes.end(); }

bool says_data(const Override& change) {
    const std::string at = pointer_of(change);
    return at == "/strategy/data" || at == "/strategy/data_parallel_size" || at == "/strategy" ||
           at.starts_with("/strategy/scopes");  // whose replicas they are
}

std::string option(const std::string& text) { return fmt::format("--vary {}", documents::printable(text)); }

std::uint32_t parse_gpus(const std::string& text) {
    std::uint32_t gpus = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), gpus);
    if (status != std::errc{} || end != text.data() + text.size() || gpus == 0)
        throw Error(fmt::format("\"{}\" is no number of GPUs", documents::printable(text)),
                    "write whole numbers from 1: 64..1024 x2");
    return gpus;
}

/// What the scenario calls itself, after all that is set; else the file's name.
std::string name_of(const nlohmann::json& document, const std::filesystem::path& file,
                    const std::vector<Override>& set) {
    const auto changed = std::ranges::find(set.rbegin(), set.rend(), "name", &Override::path);
    if (changed != set.rend() && changed->value != "null") return changed->value;
    const bool named = changed == set.rend() && document.is_object() && document.contains("name");
    return named && document["name"].is_string() ? document["name"].get<std::string>() : file.stem().string();
}

std::vector<Axis> parse_axes(const std::vector<std::string>& texts) {
    std::vector<Axis> axes;
    for (const std::string& text : texts) axes.push_back(parse_axis(text));
    return axes;
}

}  // namespace

Axis parse_axis(const std::string& text) try {
    const auto equals = text.find('=');
    if (equals == std::string::npos)
        throw Error("there is no '='", "write KEY=VALUES, such as strategy.tensor=1,2,4 or gpus=64..1024 x2");
    Axis axis{text.substr(0, equals), parse_values(std::string_view(text).substr(equals + 1))};
    if (axis.key == gpus_key)
        for (const std::string& value : axis.values) (void)parse_gpus(value);
    else
        require_known(Override{axis.key, axis.values.front()});
    return axis;
} catch (const Error& error) {
    throw Error(option(text), error.pointer(), error.message(), error.hint());
}

Axis gpus_axis(const std::string& option, const std::string& text) try {
    Axis axis{std::string(gpus_key), parse_values(text, Stepless::doubled)};
    for (const std::string& value : axis.values) (void)parse_gpus(value);
    return axis;
} catch (const Error& error) {
    throw Error(fmt::format("{} {}", option, documents::printable(text)), "", error.message(), error.hint());
}

void require_one_size(const scenarios::Request& request,
                      const std::vector<std::pair<std::string_view, std::string>>& keys) {
    const auto over =
        std::ranges::find(keys, gpus_key, [](const auto& each) -> std::string_view { return each.second; });
    if (over == keys.end()) return;
    const auto refuse = [&](const std::string& what) {
        throw Error(fmt::format("{}: {} says how large the cluster is", what, over->first), "give one of them");
    };
    const auto nodes = [](const Override& change) { return pointer_of(change) == "/cluster/nodes"; };
    for (const auto& [option, key] : keys)
        if (key != gpus_key && nodes({key, ""})) refuse(fmt::format("{} {}", option, key));
    for (const std::string& text : request.set)
        if (nodes(scenarios::parse_override(text))) refuse("--set " + text);
    if (request.keys.gpus() > 0) refuse("--gpus");
    if (std::ranges::any_of(request.keys.said(), nodes)) refuse("--nodes");
}

Grid::Grid(const std::filesystem::path& file, std::vector<Override> set, std::vector<Axis> axes)
    : Grid(file, documents::read_document(file, documents::commented), std::move(set), std::move(axes)) {}

Grid::Grid(const std::filesystem::path& file, nlohmann::json document, std::vector<Override> set,
           std::vector<Axis> axes)
    : Points(name_of(document, file, set), std::move(axes)),
      file_(file),
      document_(std::make_shared<const nlohmann::json>(std::move(document))),
      set_(std::move(set)) {}

Grid::Grid(const scenarios::Request& request, const std::vector<std::string>& vary)
    : Grid(request, request.document(), parse_axes(vary)) {}

Grid::Grid(const scenarios::Request& request, nlohmann::json document, std::vector<Axis> axes)
    : Grid(request.source(), document, request.overrides(document), std::move(axes)) {
    std::vector<std::pair<std::string_view, std::string>> keys;
    for (const Axis& axis : this->axes()) keys.emplace_back("--vary", axis.key);
    require_one_size(request, keys);
}

std::uint32_t Grid::gpus(std::uint64_t point) const {
    const std::vector<std::string> at = values(point);
    for (std::size_t i = 0; i < at.size(); ++i)
        if (axes()[i].key == gpus_key) return parse_gpus(at[i]);
    return 0;
}

scenarios::ClusterSize Grid::size(const std::vector<Override>& changes) const {
    return scenarios::size_of(scenarios::load_cluster(*document_, file_, changes));
}

std::vector<Override> Grid::changes(std::uint64_t point) const {
    std::vector<Override> list = set_;
    const std::vector<std::string> at = values(point);
    for (std::size_t i = 0; i < at.size(); ++i)
        if (axes()[i].key != gpus_key) list.push_back({axes()[i].key, at[i]});
    if (const std::uint32_t wanted = gpus(point); wanted > 0)
        list.push_back({"cluster.nodes", std::to_string(size(list).nodes_for(wanted))});
    return list;
}

/// So many data ranks as the GPUs hold.
void Grid::fill(std::vector<Override>& changes, std::uint32_t gpus) const {
    const bool whole_nodes = gpus % size(changes).gpus_per_node == 0;
    changes.push_back({"strategy.data", whole_nodes ? "null" : "1"});
    if (whole_nodes) return;
    const strategies::Strategy one = scenarios::load(*document_, file_, changes).plan.strategy;
    const std::uint32_t replica = one.tensor * one.pipeline;
    if (gpus % replica != 0)
        throw Error("", "/strategy/data",
                    fmt::format("tensor {} x pipeline {} ranks do not divide {} GPUs", one.tensor, one.pipeline, gpus),
                    "take multiples of tensor x pipeline");
    changes.back().value = std::to_string(gpus / replica);
}

scenarios::Scenario Grid::scenario(std::uint64_t point) const {
    std::vector<Override> list = changes(point);
    if (!std::ranges::any_of(list, says_data)) {
        const std::uint32_t wanted = gpus(point);
        const bool sized = std::any_of(list.begin() + static_cast<std::ptrdiff_t>(set_.size()), list.end(), is_size);
        if (wanted > 0)
            fill(list, wanted);
        else if (sized)
            list.push_back({"strategy.data", "null"});
    }
    return scenarios::load(*document_, file_, list);
}

scenarios::Scenario Grid::open_scenario(std::uint64_t point, const std::vector<Override>& more) const {
    std::vector<Override> list = changes(point);
    list.insert(list.end(), more.begin(), more.end());
    return scenarios::load_open(*document_, file_, list);
}

std::string Grid::fingerprint() const {
    Fingerprint print;
    print.add(sim::version());
    print.add(*document_, file_.parent_path());
    const auto value = [&](const std::string& text) {
        print.add(nlohmann::json(text), file_.parent_path());  // it may name a file
    };
    for (const Override& change : set_) {
        print.add(change.path);
        value(change.value);
    }
    for (const Axis& axis : axes()) {
        print.add(axis.key);
        for (const std::string& each : axis.values) value(each);
    }
    return print.text();
}

}  // namespace orrery::planning
