#include "scenarios/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "documents/document.hpp"
#include "documents/reader.hpp"
#include "scenarios/background.hpp"
#include "scenarios/defaults_across.hpp"
#include "scenarios/gpu_offers.hpp"
#include "scenarios/gpu_profiles.hpp"
#include "scenarios/keys.hpp"
#include "scenarios/model_section.hpp"
#include "scenarios/override.hpp"
#include "scenarios/placement.hpp"
#include "scenarios/scopes.hpp"
#include "scenarios/synchrony.hpp"
#include "scenarios/title.hpp"
#include "scenarios/training_section.hpp"
#include "strategies/plan_fields.hpp"
#include "topology/cluster.hpp"

namespace orrery::scenarios {

namespace {

using documents::Reader;
using strategies::Plan;

/// The sections of one file, their spellings resolved.
struct Sections {
    Reader top, model, cluster, strategy, training, outputs, perturbations, reliability, checkpoint, storage, synchrony;
    Expansion scopes = {};  ///< which keys of the file are written as scopes

    Sections(const nlohmann::json& document, const std::string& file)
        : top(document, section(Place::document), file),
          model(top.object("model", section(Place::model))),
          cluster(top.object("cluster", section(Place::cluster))),
          strategy(top.object("strategy", section(Place::strategy))),
          training(top.object("training", section(Place::training))),
          outputs(top.object("outputs", section(Place::outputs))),
          perturbations(top.object("perturbations", section(Place::perturbations))),
          reliability(top.object("reliability", section(Place::reliability))),
          checkpoint(top.object("checkpoint", section(Place::checkpoint))),
          storage(top.object("storage", section(Place::storage))),
          synchrony(top.object("synchrony", section(Place::synchrony))) {}
};

/// A path, relative to the scenario's folder; "" when absent.
std::string path_of(const Reader& reader, std::string_view key) {
    const std::filesystem::path folder = std::filesystem::path(reader.file()).parent_path();
    return reader.has(key) ? (folder / reader.text(key)).string() : std::string();
}

topology::ClusterSpec read_cluster(const Reader& reader) {
    topology::ClusterSpec spec;
    spec.preset = reader.text("preset");
    spec.nodes = reader.integer32("nodes");
    spec.gpu = reader.text("gpu");
    spec.gpu_power_limit = reader.number("gpu_power_limit");
    spec.gpus_per_node = reader.integer32("gpus_per_node");
    spec.nics_per_node = reader.integer32("nics_per_node");
    spec.nic_bytes_per_second = reader.bytes_per_second("nic_rate");
    spec.oversubscription = reader.number("oversubscription");
    spec.switch_ports = reader.integer32("switch_ports");
    spec.fabric = {.kind = reader.text("fabric"),
                   .shape = reader.text("shape"),
                   .parents = reader.text("parents"),
                   .terminals = reader.integer32("terminals"),
                   .routers = reader.integer32("routers"),
                   .spines = reader.integer32("spines"),
                   .global_links = reader.integer32("global_links"),
                   .groups = reader.integer32("groups"),
                   .link_bytes_per_second = reader.bytes_per_second("link_rate")};
    spec.node_file = path_of(reader, "node_file");
    spec.fabric_file = path_of(reader, "fabric_file");
    spec.more_nodes = reader.texts("more_nodes");
    spec.nccl_version = reader.text("nccl_version");
    spec.aws_ofi_nccl_version = reader.text("aws_ofi_nccl_version");
    spec.routing = reader.choice("routing", "");
    spec.routing_seed = reader.integer("routing_seed", spec.routing_seed);
    spec.failed = reader.texts("failed");
    return spec;
}

strategies::Strategy read_strategy(const Reader& reader) {
    strategies::Strategy strategy;
    strategy.data = 0;  // derived from the cluster unless stated
    documents::read_fields(reader, strategies::strategy_fields(), strategy);
    if (!reader.has("schedule") && strategy.virtual_pipeline > 1)
        strategy.schedule = strategies::ScheduleKind::interleaved;
    strategy.placement_file = path_of(reader, "placement_file");
    return strategy;
}

/// Fills data from the number of GPUs, and checks that the ranks fit. have: "the cluster has 8 GPUs".
void fit_to_cluster(strategies::Strategy& strategy, std::uint32_t gpus, const std::string& have,
                    const Sections& sections) {
    const std::uint64_t replica = std::uint64_t{strategy.tensor} * strategy.context * strategy.pipeline;
    const std::string& file = sections.top.file();
    const std::string context = strategy.context > 1 ? fmt::format(" x context {}", strategy.context) : "";
    const std::string one = fmt::format("tensor {}{} x pipeline {}", strategy.tensor, context, strategy.pipeline);
    if (replica > gpus) {
        const std::uint32_t widest = std::max({strategy.tensor, strategy.context, strategy.pipeline});
        const char* const blamed = strategy.tensor == widest     ? "tensor"
                                   : strategy.pipeline == widest ? "pipeline"
                                                                 : "context";
        throw Error(file, sections.strategy.pointer(blamed), fmt::format("{} = {} ranks, but {}", one, replica, have),
                    fmt::format("lower tensor{} or pipeline until their product is at most {}, or add nodes",
                                strategy.context > 1 ? ", context" : "", gpus));
    }
    if (strategy.data == 0) {
        if (gpus % replica != 0) {
            const bool scoped = !sections.scopes.place("/strategy/data").empty();
            const std::string some = fmt::format(
                fmt::runtime(scoped ? "put {{\"replica\": {}, \"of\": ...}} around the scopes" : "state \"data\": {}"),
                gpus / replica);
            throw Error(file, sections.strategy.pointer("data"),
                        fmt::format("{} = {} ranks do not divide the {} GPUs of the cluster", one, replica, gpus),
                        fmt::format("{} to leave {} GPUs idle, or choose a divisor", some, gpus % replica));
        }
        strategy.data = static_cast<std::uint32_t>(gpus / replica);
    }
    const std::uint64_t ranks = replica * strategy.data;
    if (ranks > gpus) {
        throw Error(file, sections.strategy.pointer("data"),
                    fmt::format("{} x data {} = {} ranks, but {}", one, strategy.data, ranks, have),
                    fmt::format("nearest legal value: {}; or add nodes", gpus / replica));
    }
}

/// DeepSpeed takes as many ranks as a process sees devices for those of a node.
void fill_node_ranks(strategies::Strategy& strategy, const topology::Cluster& cluster) {
    if (strategy.quantized_gradients && strategy.node_ranks == 0) strategy.node_ranks = cluster.gpus_per_node();
}

/// Calls read(text, i) for every text of a list; what it throws gets the text's place.
template <class Read>
void each_text(const Reader& reader, std::string_view key, const Read& read) {
    const std::vector<std::string> texts = reader.texts(key);
    for (std::size_t i = 0; i < texts.size(); ++i) try {
            read(texts[i]);
        } catch (const Error& error) {
            throw Error(reader.file(), fmt::format("{}/{}", reader.pointer(key), i), error.message(), error.hint());
        }
}

/// One of two ways to say who receives how many tokens.
void read_expert_loads(const Reader& reader, const strategies::Plan& plan, Perturbations& table) {
    const auto check = [&](const Perturbations& so_far, const std::string& pointer) {
        try {
            (void)expert_loads(so_far, plan.strategy.expert, plan.model.experts);
        } catch (const Error& error) {
            throw Error(reader.file(), pointer, error.message(), error.hint());
        }
    };
    table.expert_imbalance = reader.number("expert_imbalance", 1);
    check(table, reader.pointer("expert_imbalance"));
    each_text(reader, "expert_loads", [&](const std::string& text) {
        table.expert_loads.push_back(parse_expert_load(text));
        if (table.expert_imbalance != 1)
            throw Error("given beside expert_imbalance", "keep one of expert_imbalance and expert_loads");
    });
    check(table, reader.pointer("expert_loads"));
    table.expert_zipf = reader.number("expert_zipf", 0);
    if (table.expert_zipf > 0) {
        if (table.expert_imbalance != 1 || !table.expert_loads.empty())
            throw Error(reader.file(), reader.pointer("expert_zipf"), "given beside another distribution of tokens",
                        "keep one of expert_zipf, expert_imbalance and expert_loads");
        if (plan.model.experts == 0)
            throw Error(reader.file(), reader.pointer("expert_zipf"),
                        fmt::format("{}, but the model has no experts", table.expert_zipf),
                        "name a model with experts, or leave it out");
    }
    const std::vector<double> loads = expert_loads(table, plan.strategy.expert, plan.model.experts);
    if (std::ranges::all_of(loads, [](double load) { return load == 1; })) table.expert_loads.clear();
}

Perturbations read_perturbations(const Reader& reader, const topology::Cluster& cluster, const strategies::Plan& plan) {
    const std::uint32_t ranks = plan.ranks();
    Perturbations table;
    each_text(reader, "stragglers", [&](const std::string& text) {
        const Straggler straggler = parse_straggler(text);
        if (straggler.last_rank >= ranks)
            throw Error(fmt::format("rank {} of {}", straggler.last_rank, ranks),
                        fmt::format("ranks are 0 to {}", ranks - 1));
        if (straggler.factor != 1) table.stragglers.push_back(straggler);
    });
    each_text(reader, "slow_links", [&](const std::string& text) {
        const SlowLink link = parse_slow_link(text);
        const topology::Failures known(cluster.shared_fabric(), {link.links});
        if (link.factor != 1) table.links.push_back(link);
    });
    table.jitter = reader.number("jitter");
    each_text(reader, "background", [&](const std::string& text) {
        table.background.push_back(parse_background(text));
        (void)flows_of(table.background.back(), cluster);
    });
    read_expert_loads(reader, plan, table);
    return table;
}

/// Whether nothing but drives' rates is said: they may be of a step, of this plan or of others that a sweep tries.
bool of_drives_alone(const reliability::Storage& storage) {
    const bool said = storage.nvme_read > 0 || storage.nvme_write > 0;
    return said && storage == reliability::Storage{.nvme_read = storage.nvme_read, .nvme_write = storage.nvme_write};
}

/// What a step whose states or weights lie on drives takes of "storage"; nothing of another.
strategies::DriveRates read_drives(const Sections& sections, const strategies::Plan& plan) {
    if (!plan.uses_drives() || !sections.top.has("storage")) return {};
    reliability::Storage storage;
    documents::read_fields(sections.storage, reliability::storage_fields(), storage);
    return {storage.nvme_read, storage.nvme_write};
}

/// Failures, checkpoints and storage; what is not said of one has its defaults.
std::optional<reliability::Options> read_whole_run(const Sections& sections) {
    const Reader& top = sections.top;
    const std::array<std::string_view, 3> keys{"reliability", "checkpoint", "storage"};
    const auto* const asks = std::ranges::find_if(keys, [&](std::string_view key) { return top.has(key); });
    if (asks == keys.end()) return std::nullopt;
    reliability::Options options;
    documents::read_fields(sections.reliability, reliability::failures_fields(), options.failures);
    documents::read_fields(sections.checkpoint, reliability::checkpoint_fields(), options.checkpoint);
    documents::read_fields(sections.storage, reliability::storage_fields(), options.storage);
    reliability::check(options);
    if (sections.outputs.has("token_budget")) return options;
    if (*asks == keys.back() && of_drives_alone(options.storage)) return std::nullopt;
    throw Error(top.file(), top.pointer(*asks), "is about a whole training, whose tokens are not stated",
                "state outputs.token_budget, such as \"300B\"");
}

/// An error of models/, topology/ or strategies/ knows neither the file nor how the user spelled the key.
Error located(const Error& error, const Sections& sections) {
    if (!error.file().empty() && error.file() != sections.top.file()) return error;  // of another file
    std::string pointer = error.pointer();
    for (const Reader* section :
         {&sections.model, &sections.cluster, &sections.strategy, &sections.training, &sections.synchrony}) {
        const std::string prefix = section->pointer("");  // "/model/"
        if (!pointer.starts_with(prefix)) continue;
        const std::string path = pointer.substr(prefix.size());  // "failed/0": a place inside a list
        const std::string key = path.substr(0, path.find('/')), inside = path.substr(key.size());
        const std::string scope = sections.scopes.place(prefix + key);
        pointer = scope.empty() ? section->pointer(key) + inside : scope;
        break;
    }
    const std::string hint = error.hint().empty() ? "change this value" : error.hint();
    return Error(error.file().empty() ? sections.top.file() : error.file(), pointer, error.message(), hint);
}

/// What a file says of a job, on a cluster that is there. gpus: as many may it use.
Scenario read_job(const Sections& sections, const topology::ClusterSpec& spec, const topology::Cluster& cluster,
                  std::uint32_t gpus, bool batch_divided = true) {
    Scenario scenario;
    const std::filesystem::path file(sections.top.file());
    scenario.name = sections.top.text("name", file.stem().string());
    (void)sections.top.text("$schema");
    (void)sections.top.text("description");
    scenario.plan.model = read_model(sections.model);
    scenario.cluster = spec;
    scenario.plan.strategy = read_strategy(sections.strategy);
    scenario.plan.training = read_training(sections.training, scenario.plan.model);
    fill_across_sections(sections.strategy, sections.training, cluster, scenario.plan);
    scenario.plan.model.dropout = sections.training.number("dropout", scenario.plan.model.dropout);
    scenario.seed = sections.top.integer("seed", scenario.seed);
    scenario.outputs.token_budget = sections.outputs.tokens("token_budget");
    scenario.plan.drives = read_drives(sections, scenario.plan);
    scenario.whole_run = read_whole_run(sections);

    scenario.more_profiles = gpu_profiles(sections.top, cluster);
    scenario.profile = scenario.more_profiles.extract(cluster.gpu().name).mapped();
    const char* have = gpus == cluster.gpus() ? "the cluster has {} GPUs" : "{} GPUs of the cluster are left";
    fit_to_cluster(scenario.plan.strategy, gpus, fmt::format(fmt::runtime(have), gpus), sections);
    sections.scopes.divide_batch(scenario.plan);
    fill_node_ranks(scenario.plan.strategy, cluster);
    for (const topology::NodeGroup& group : cluster.groups()) {
        check_offered(scenario.plan.training, group.gpu, sections.training);
        check_offered(scenario.plan.strategy, group.gpu, sections.strategy);
    }
    scenario.plan.fp8_either_order = take_either_order(cluster);
    strategies::validate(scenario.plan, batch_divided);
    scenario.gpus = scenario.plan.ranks();
    scenario.plan.placement = resolve_placement(scenario.plan, cluster);
    return scenario;
}

Scenario read_whole(const Sections& sections, bool batch_divided) {
    const topology::ClusterSpec spec = read_cluster(sections.cluster);
    const topology::Cluster cluster = topology::build(spec);
    Scenario scenario = read_job(sections, spec, cluster, cluster.gpus(), batch_divided);
    scenario.perturbations = read_perturbations(sections.perturbations, cluster, scenario.plan);
    scenario.other_jobs = read_other_jobs(sections.top, scenario.plan, spec, cluster);
    if (sections.top.has("synchrony")) {
        documents::read_fields(sections.synchrony, synchrony::options_fields(), scenario.synchrony.emplace());
        check_synchrony(scenario, cluster);
    }
    return scenario;
}

Scenario read(const Sections& sections) { return read_whole(sections, true); }

/// A job beside others: only what is its own.
Scenario read_on(const Sections& sections, const topology::ClusterSpec& spec, std::uint32_t gpus) {
    for (const char* key : {"other_jobs", "perturbations", "synchrony"})
        if (sections.top.has(key))
            throw Error(sections.top.file(), sections.top.pointer(key), "the scenario of another job has its own",
                        fmt::format("leave it out: \"set\": [\"{}=null\"]", key));
    return read_job(sections, spec, topology::build(spec), gpus);
}

/// The override that put a wrong value there: messages name it instead of the file.
const Override* culprit(const std::vector<Override>& overrides, const std::string& pointer) {
    for (auto it = overrides.rbegin(); it != overrides.rend(); ++it) {
        const std::string at = pointer_of(*it);
        if (pointer == at || pointer.starts_with(at + "/")) return &*it;
    }
    return nullptr;
}

/// The same with keys in place of scopes, and with the changes of these keys.
Sections without_scopes(const Sections& written, nlohmann::json document, const std::vector<Override>& behind) {
    Expansion scopes(written.strategy, written.training, read_model(written.model));
    scopes.write(document["strategy"]);
    for (const Override& change : behind) {
        apply_override(document, change);
        scopes.leave_to(change);
    }
    Sections sections(document, written.top.file());
    sections.scopes = std::move(scopes);
    return sections;
}

/// read(sections), its errors located. behind: changes that are made behind scopes.
template <class Read>
Scenario sectioned(const nlohmann::json& document, const std::filesystem::path& file,
                   const std::vector<Override>& behind, const Read& read) {
    Sections sections(document, file.string());
    try {
        if (sections.strategy.has("scopes")) sections = without_scopes(sections, document, behind);
        return read(sections);
    } catch (const Error& error) {
        throw located(error, sections);
    }
}

/// Reads the document with its overrides through `read`, which is also given those that are to be made behind scopes;
/// an error that an override caused names it.
template <class Read>
auto load_with(nlohmann::json document, const std::filesystem::path& file, const std::vector<Override>& overrides,
               Read read) {
    for (const Override& change : overrides) require_known(change);
    const std::vector<Override> behind = apply_before_scopes(document, overrides);
    try {
        return read(document, behind);
    } catch (const Error& error) {
        const Override* change = error.file() == file.string() ? culprit(overrides, error.pointer()) : nullptr;
        if (!change) throw;
        throw Error(describe(*change), error.pointer(), error.message(), error.hint());
    }
}

}  // namespace

Scenario from_json(const nlohmann::json& document, const std::filesystem::path& file) {
    return sectioned(document, file, {}, read);
}

Scenario load_on(const topology::ClusterSpec& cluster, std::uint32_t gpus, const std::filesystem::path& file,
                 const std::vector<Override>& overrides) {
    const auto read_here = [&](const Sections& sections) { return read_on(sections, cluster, gpus); };
    Scenario scenario = load_with(documents::read_document(file, documents::commented), file, overrides,
                                  [&](const nlohmann::json& document, const std::vector<Override>& behind) {
                                      return sectioned(document, file, behind, read_here);
                                  });
    scenario.name = title(scenario.name, overrides);
    return scenario;
}

namespace {

Scenario load_by(Scenario (*reads)(const Sections&), const nlohmann::json& written, const std::filesystem::path& file,
                 const std::vector<Override>& overrides) {
    Scenario scenario =
        load_with(written, file, overrides, [&](const nlohmann::json& document, const std::vector<Override>& behind) {
            return sectioned(document, file, behind, reads);
        });
    scenario.name = title(scenario.name, overrides);
    return scenario;
}

}  // namespace

Scenario load(const nlohmann::json& written, const std::filesystem::path& file,
              const std::vector<Override>& overrides) {
    return load_by(read, written, file, overrides);
}

Scenario load_open(const nlohmann::json& written, const std::filesystem::path& file,
                   const std::vector<Override>& overrides) {
    return load_by([](const Sections& open) { return read_whole(open, false); }, written, file, overrides);
}

Scenario load(const std::filesystem::path& file, const std::vector<Override>& overrides) {
    return load(documents::read_document(file, documents::commented), file, overrides);
}

topology::ClusterSpec preset_cluster(const std::string& preset, const std::vector<Override>& overrides) {
    nlohmann::json document = {{"cluster", {{"preset", preset}}}};
    for (const Override& change : overrides) {
        if (!pointer_of(change).starts_with("/cluster/"))
            throw Error(describe(change), pointer_of(change), "is no key of a cluster", "as in cluster.nodes=16");
        apply_override(document, change);
    }
    return read_cluster(Reader(document.at("cluster"), section(Place::cluster), "--cluster " + preset));
}

topology::ClusterSpec load_cluster(const std::filesystem::path& file, const std::vector<Override>& overrides) {
    return load_cluster(documents::read_document(file, documents::commented), file, overrides);
}

topology::ClusterSpec load_cluster(const nlohmann::json& read, const std::filesystem::path& file,
                                   const std::vector<Override>& overrides) {
    return load_with(read, file, overrides, [&](const nlohmann::json& document, const std::vector<Override>&) {
        if (!document.is_object() || !document.contains("cluster")) {
            throw Error(file.string(), "/cluster", "the key \"cluster\" is missing", "add it: {\"preset\": ...}");
        }
        const Reader reader(document["cluster"], section(Place::cluster), file.string());
        try {
            topology::ClusterSpec spec = read_cluster(reader);
            (void)topology::build(spec);
            return spec;
        } catch (const Error& error) {
            throw error.in_file(file.string());
        }
    });
}

}  // namespace orrery::scenarios
