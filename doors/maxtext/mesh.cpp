// MaxText's mesh: axes within a slice (ici_*) and among slices (dcn_*), one of which may take what is left (-1), and
// what each divides (configs/base.yml, logical_axis_rules).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "doors/convert.hpp"
#include "doors/maxtext/maxtext.hpp"

namespace orrery::doors::maxtext {

namespace {

constexpr std::uint64_t most = 1U << 22U;

/// A name of Google's for a slice, as in v5p-128, and what its number counts.
struct Slices {
    std::string_view prefix, preset;
    std::uint64_t counted_by_chip;  ///< so many of what is counted are a chip (accelerator_to_spec_map.py)
};
constexpr std::array slices{Slices{"v3-", "tpu-v3", 2},   Slices{"v4-", "tpu-v4", 2},   Slices{"v5e-", "tpu-v5e", 1},
                            Slices{"v5p-", "tpu-v5p", 2}, Slices{"v6e-", "tpu-v6e", 1}, Slices{"tpu7x-", "tpu7x", 2}};

/// JAX's devices of a chip.
std::uint64_t devices_of_chip(const std::string& preset) { return preset == "tpu7x" ? 2 : 1; }

struct Fleet {
    std::optional<std::uint64_t> devices;  ///< of all slices
    std::uint64_t slices = 1, devices_of_chip = 1;
};

std::optional<std::uint64_t> positive(const Given* given) {
    if (given == nullptr) return std::nullopt;
    const auto number = whole_number(given->value);
    return number && *number > 0 && *number <= most ? number : std::nullopt;
}

/// compile_topology names a slice; --cluster and --gpus go before it.
Fleet fleet_of(const Request& request, const Givens& given, Draft& draft) {
    Fleet fleet;
    fleet.slices = positive(given.find_any({"compile_topology_num_slices", "num_slices"})).value_or(1);
    std::string preset = request.cluster;
    const Given* const named = given.find("compile_topology");
    const std::string topology = named == nullptr ? "" : text_of(named->value);
    if (!topology.empty()) {
        const auto* const row =
            std::ranges::find_if(slices, [&](const Slices& each) { return topology.starts_with(each.prefix); });
        std::uint64_t count = 0;
        const std::size_t from = row == slices.end() ? topology.size() : row->prefix.size();
        const auto read = std::from_chars(topology.data() + from, topology.data() + topology.size(), count);
        if (row == slices.end() || read.ec != std::errc() || count == 0 || count > most)
            draft.findings.refuse(named->origin.place, named->origin.name, "this slice is not known here",
                                  "v5e-256, v5p-128, v6e-256, tpu7x-128, ..., or --cluster and --gpus");
        else {
            if (preset.empty()) draft.set("/cluster/preset", std::string(row->preset), named->origin);
            if (preset.empty()) preset = row->preset;
            fleet.devices_of_chip = devices_of_chip(preset);
            fleet.devices =
                std::max<std::uint64_t>(1, count / row->counted_by_chip) * fleet.slices * fleet.devices_of_chip;
            draft.machines.origin = named->origin;
        }
    }
    fleet.devices_of_chip = devices_of_chip(preset);
    if (request.gpus > 0) fleet.devices = request.gpus * fleet.devices_of_chip;
    return fleet;
}

/// Axes that do not divide what is modelled have to be one.
constexpr std::array not_read{"autoregressive", "context_autoregressive", "context_usp_ulysses", "diloco"};
constexpr std::array read_axes{
    "data",     "fsdp",    "fsdp_transpose", "tensor",  "tensor_transpose", "tensor_sequence",
    "sequence", "context", "expert",         "pipeline"};

/// Degrees of one kind of link by axis; what is not said is one, but for the axis that configs/base.yml leaves open.
class Degrees {
public:
    Degrees(const Givens& given, std::string_view links, std::string_view open, std::optional<std::uint64_t> all,
            Draft& draft) {
        std::string rest;
        std::uint64_t product = 1;
        Origin of_rest = draft.whole_file();
        for (const char* axis : read_axes) {
            const Given* const said = given.find(fmt::format("{}_{}_parallelism", links, axis));
            const bool takes_rest = said == nullptr ? axis == open : real_number(said->value).value_or(0) == -1;
            if (takes_rest) {
                rest = axis;
                if (said != nullptr) of_rest = said->origin;
            } else if (said != nullptr) {
                by_axis_[axis] = whole_of(*said, draft).value_or(1);
            }
            if (!takes_rest) product = std::min(most, product * at(axis));
            if (said != nullptr) origin_ = said->origin;
        }
        if (!rest.empty() && all && *all % product == 0) by_axis_[rest] = *all / product;
        if (all && product_of_all() != *all)
            draft.findings.refuse(of_rest.place, of_rest.name,
                                  fmt::format("{} of the mesh's {} axes are {}, of {} {}", product_of_all(), links,
                                              product_of_all(), *all, links == "ici" ? "devices of a slice" : "slices"),
                                  "mend a degree, or the number of chips (--gpus)");
        if (!all && !rest.empty() && rest != "data") open_ = true;
    }

    [[nodiscard]] std::uint64_t at(const std::string& axis) const {
        const auto found = by_axis_.find(axis);
        return found == by_axis_.end() ? 1 : found->second;
    }
    [[nodiscard]] std::uint64_t product_of_all() const {
        std::uint64_t product = 1;
        for (const auto& [axis, degree] : by_axis_) product = std::min(most, product * degree);
        return product;
    }
    [[nodiscard]] bool is_open() const { return open_; }

private:
    std::map<std::string, std::uint64_t> by_axis_;
    Origin origin_;
    bool open_ = false;
};

void refuse_other_axes(const Givens& given, Draft& draft) {
    for (const char* links : {"ici", "dcn"}) {
        for (const char* axis : not_read)
            if (const Given* const said = given.find(fmt::format("{}_{}_parallelism", links, axis));
                said != nullptr && whole_number(said->value).value_or(2) > 1)
                draft.findings.refuse(said->origin.place, said->origin.name, "this axis is not modelled", "1");
        if (const Given* const stages = given.find(fmt::format("{}_pipeline_parallelism", links));
            stages != nullptr && whole_number(stages->value).value_or(2) > 1)
            draft.findings.refuse(stages->origin.place, stages->origin.name,
                                  "MaxText's pipelines, loops over all stages at once, are not imported yet", "1");
    }
}

}  // namespace

std::uint64_t read_mesh(const Request& request, const Givens& given, Draft& draft) {
    refuse_other_axes(given, draft);
    if (draft.findings.any(Verdict::refused)) return 1;
    const Fleet fleet = fleet_of(request, given, draft);
    const std::optional<std::uint64_t> of_slice =
        fleet.devices ? std::optional(*fleet.devices / fleet.slices) : std::nullopt;
    const Degrees within(given, "ici", "fsdp", of_slice, draft), among(given, "dcn", "data", fleet.slices, draft);
    const auto degree = [&](const std::string& axis) { return within.at(axis) * among.at(axis); };
    if (within.is_open()) return fleet.devices_of_chip;  // put_cluster asks for --gpus
    std::uint64_t tensor = degree("tensor") * degree("tensor_transpose") * degree("tensor_sequence");
    std::uint64_t shards = degree("fsdp") * degree("fsdp_transpose") * degree("sequence");
    std::uint64_t expert = degree("expert"), copies = degree("data");
    const std::uint64_t context = degree("context"), devices = within.product_of_all() * among.product_of_all();
    // Two devices of a chip are one here: of the axis that has most room for it.
    for (std::uint64_t* axis : {&shards, &copies, &expert, &tensor})
        if (fleet.devices_of_chip == 2 && devices % 2 == 0 && *axis % 2 == 0) {
            *axis /= 2;
            break;
        }
    const std::uint64_t chips = std::max<std::uint64_t>(1, devices / fleet.devices_of_chip);
    const Origin file = draft.whole_file();
    if (request.gpus == 0 && fleet.devices) draft.machines.gpus = *fleet.devices / fleet.devices_of_chip;
    if (request.gpus == 0 && !fleet.devices) draft.machines.gpus = chips;
    if (tensor > 1) draft.set("/strategy/tensor", tensor, file);
    if (tensor > 1) draft.set("/strategy/sequence_parallel", true, file);  // activation_embed, activation_norm_length
    if (context > 1) draft.set("/strategy/context", context, file);
    if (context > 1)
        draft.set("/strategy/cp_comm_type", given.text("context_parallel_strategy") == "ring" ? "p2p" : "all_gather",
                  file);
    if (expert > 1) draft.set("/strategy/expert", expert, file);
    draft.set("/strategy/data", shards * copies * expert, file);
    const bool sharded = shards * expert * context > 1;
    draft.set("/strategy/sharding", sharded ? "zero3" : "none", file);
    if (sharded && copies > 1) draft.set("/strategy/num_distributed_optimizer_instances", copies, file);
    draft.set("/strategy/overlap_grad_reduce", true, file);  // XLA's latency hiding scheduler
    if (fleet.slices > 1) draft.set("/cluster/fabric", "multislice", file);
    if (fleet.slices > 1) draft.set("/cluster/groups", fleet.slices, file);
    return fleet.devices_of_chip;
}

void read_batch(const Givens& given, std::uint64_t devices_of_chip, Draft& draft) {
    const Given* const each = given.find("per_device_batch_size");
    const Given* const sums = given.find("gradient_accumulation_steps");
    const std::uint64_t steps = sums == nullptr ? 1 : whole_of(*sums, draft).value_or(1);
    constexpr double usual = 12;  // configs/base.yml
    const double sequences = each == nullptr ? usual : real_number(each->value).value_or(0);
    const Origin origin = each == nullptr ? draft.whole_file() : each->origin;
    const std::uint64_t data = draft.whole("/strategy/data", 1), tensor = draft.whole("/strategy/tensor", 1),
                        context = draft.whole("/strategy/context", 1);
    const double micro = sequences * static_cast<double>(tensor * context * devices_of_chip);
    if (micro < 1 || micro > static_cast<double>(most) ||
        micro != static_cast<double>(static_cast<std::uint64_t>(micro)))
        return draft.findings.refuse(
            origin.place, origin.name,
            fmt::format("{} sequences a device are {} on each of the {} ranks that share a batch", sequences, micro,
                        data),
            "a number that is whole there");
    draft.set("/training/micro_batch_size", static_cast<std::uint64_t>(micro), origin);
    draft.accumulation = steps;
}

}  // namespace orrery::doors::maxtext
