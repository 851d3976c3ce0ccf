#include "scenarios/keys.hpp"

#include <array>
#include <vector>

#include "models/model_fields.hpp"
#include "reliability/options.hpp"
#include "scenarios/not_modelled.hpp"
#include "scenarios/scope_keys.hpp"
#include "strategies/plan_fields.hpp"
#include "synchrony/options.hpp"

namespace orrery::scenarios {

namespace {

using documents::Key;
using documents::Section;
using documents::Word;
using enum documents::Kind;

constexpr double max_exact = 9007199254740991;  // 2^53 - 1: every JSON reader keeps it exactly

constexpr std::array routings{Word{"minimal"}, Word{"ecmp"}, Word{"spray"}, Word{"adaptive"}, Word{"rails"}};

// clang-format off
constexpr std::array of_document{
    Key{.name = "$schema", .kind = text,
        .help = "Path of this schema, for editors."},
    Key{.name = "name", .kind = text,
        .help = "Title of the report; the file's stem when absent."},
    Key{.name = "description", .kind = text,
        .help = "Free text: where the set-up comes from."},
    Key{.name = "model", .kind = object, .required = true,
        .help = "What is trained: a model of the catalog, a Hugging Face file, or every field."},
    Key{.name = "cluster", .kind = object, .required = true,
        .help = "On what it is trained."},
    Key{.name = "strategy", .kind = object,
        .help = "How the step is divided over ranks."},
    Key{.name = "training", .kind = object, .required = true,
        .help = "The work of one step and how its kernels are written."},
    Key{.name = "profile", .kind = named_texts,
        .help = "Name of a shipped profile, or path of a profile file relative to this file; the GPU's own when "
                "absent. By GPU where the cluster has several kinds: {\"A100-SXM4-80GB\": \"a100\", "
                "\"H100-SXM5-80GB\": \"h100\"}."},
    Key{.name = "seed", .kind = integer, .min = 0, .max = max_exact,
        .help = "Of jitter; recorded in the provenance."},
    Key{.name = "outputs", .kind = object,
        .help = "What else is asked for."},
    Key{.name = "perturbations", .kind = object,
        .help = "What does not go to plan in the step."},
    Key{.name = "other_jobs", .kind = objects,
        .help = "Jobs on other GPUs of the cluster, whose traffic shares links with this one's."},
    Key{.name = "reliability", .kind = object,
        .help = "Failures over the whole training, which outputs.token_budget states."},
    Key{.name = "checkpoint", .kind = object,
        .help = "What is saved in the whole training, where to and how often."},
    Key{.name = "storage", .kind = object,
        .help = "Rates of the file system and of data loading in the whole training; of drives in a step that uses "
                "them."},
    Key{.name = "synchrony", .kind = object,
        .help = "How replicas keep step with each other over a window of steps; stragglers are perturbations."},
};

constexpr std::array of_cluster{
    Key{.name = "preset", .kind = text, .required = true,
        .help = "A cluster of `orrery list clusters`."},
    Key{.name = "nodes", .kind = integer, .min = 1, .max = 131072,
        .help = "The preset's own size when absent."},
    Key{.name = "gpu", .kind = text,
        .help = "A GPU instead of the preset's."},
    Key{.name = "gpu_power_limit", .kind = number, .min = 1, .max = 10000,
        .help = "Watts that each GPU is held to (nvidia-smi --power-limit), whose clock follows; its design power when "
                "absent. Needs a profile that knows its clock under load (H100, H200)."},
    Key{.name = "gpus_per_node", .kind = integer, .min = 1, .max = 1024,
        .help = "The preset's own when absent."},
    Key{.name = "nics_per_node", .kind = integer, .min = 1, .max = 1024,
        .help = "The preset's own when absent."},
    Key{.name = "nic_rate", .kind = rate, .min = 1e6, .max = 1e13,
        .help = "Of one NIC, each way; the preset's own when absent."},
    Key{.name = "oversubscription", .kind = number, .min = 1, .max = 1000,
        .help = "Leaf switches: bandwidth down over bandwidth up."},
    Key{.name = "switch_ports", .kind = integer, .min = 2, .max = 1024,
        .help = "Ports of every switch of the fabric; the preset's own when absent."},
    Key{.name = "fabric", .kind = text,
        .help = "Another fabric between the preset's nodes (`orrery list fabrics`): torus, dragonfly, ..."},
    Key{.name = "shape", .kind = text,
        .help = "Sizes of the fabric's dimensions, \"4x4x8\"; XGFT: children by level."},
    Key{.name = "parents", .kind = text,
        .help = "XGFT: parents by level, \"1x16x16\"."},
    Key{.name = "terminals", .kind = integer, .min = 1, .max = 4096,
        .help = "Ports of nodes on a router or leaf; the NICs of a node when absent."},
    Key{.name = "routers", .kind = integer, .min = 1, .max = 512,
        .help = "Routers of a dragonfly group; leaves of a dragonfly+ group."},
    Key{.name = "spines", .kind = integer, .min = 1, .max = 512,
        .help = "Of a dragonfly+ group."},
    Key{.name = "global_links", .kind = integer, .min = 1, .max = 512,
        .help = "Of a dragonfly's router or a dragonfly+'s spine."},
    Key{.name = "groups", .kind = integer, .min = 1, .max = 262145,
        .help = "Of a dragonfly; slices of a multislice fabric."},
    Key{.name = "link_rate", .kind = rate, .min = 1e6, .max = 1e13,
        .help = "Of the links between switches of the fabric, each way; the NICs' when absent."},
    Key{.name = "node_file", .kind = text,
        .help = "NCCL topology XML (NCCL_TOPO_DUMP_FILE), relative to this file: the wiring of the nodes instead of "
                "the preset's."},
    Key{.name = "fabric_file", .kind = text,
        .help = "SimGrid platform (.xml), or CSV list of cables (from,to,rate,latency), relative to this file: the "
                "fabric instead of the preset's."},
    Key{.name = "more_nodes", .kind = texts,
        .help = "Nodes of other GPUs, after the preset's own: [\"4 x P100\"]."},
    Key{.name = "nccl_version", .kind = text,
        .help = "Of NCCL between nodes, from \"2.18\" on; the newest when absent. Told apart: the chunks of NVLSTree "
                "on EFA, which 2.19.3 makes small on four nodes and more."},
    Key{.name = "aws_ofi_nccl_version", .kind = text,
        .help = "Of Amazon's plugin for NCCL on EFA, \"1.7.3\"; the newest when absent. Told apart: before 1.8 its "
                "hosts' threads limit NVLSTree."},
    Key{.name = "routing", .kind = choice, .words = routings,
        .help = "How messages choose among minimal routes; minimal: deterministic. Absent: spray on a preset's "
                "own tree of InfiniBand where nothing has failed, else minimal."},
    Key{.name = "routing_seed", .kind = integer, .min = 0, .max = max_exact,
        .help = "Of the hash of ecmp; 1 when absent."},
    Key{.name = "failed", .kind = texts,
        .help = "What does not work: [\"leaf 3\", \"leaf 0 - spine 1\", \"node 4 nic 2\", \"link 17\"]."},
};

constexpr std::array of_outputs{
    Key{.name = "token_budget", .kind = tokens, .min = 1, .max = 1e18,
        .help = "Tokens of the whole training run, for its end-to-end time."},
};

constexpr std::array of_perturbations{
    Key{.name = "stragglers", .kind = texts,
        .help = "Ranks that take longer over what they compute: [\"rank 17 x 1.5\", \"ranks 8-15 x 2 from 100 ms to "
                "2 s\"]."},
    Key{.name = "slow_links", .kind = texts,
        .help = "Links of the fabric that are slower or stall: [\"leaf 0 - spine 1 x 4\", \"node 4 nic 2 down from 1 "
                "s to 2 s\"]. Names as in cluster.failed."},
    Key{.name = "jitter", .kind = number, .min = 0, .max = 1,
        .help = "Standard deviation of the logarithm of each kernel's time, whose mean stays."},
    Key{.name = "background", .kind = texts,
        .help = "Traffic of others between nodes, which shares links with the step: [\"node 4 nic 0 to node 9 nic 0 "
                "at 50 Gb/s from 1 s to 2 s\", \"gpus 0-7 to gpus 8-15 at 1 GB/s\", \"node 16 to nodes 0-7 at 2 "
                "GB/s\"]."},
    Key{.name = "expert_imbalance", .kind = number, .min = 1, .max = 1000,
        .help = "The most loaded expert rank receives this many times its mean share of tokens; the others share the "
                "rest."},
    Key{.name = "expert_loads", .kind = texts,
        .help = "Expert ranks that receive more or fewer tokens than their mean share: [\"expert rank 3 x 1.5\", "
                "\"expert ranks 0-1 x 0.5\"]."},
    Key{.name = "expert_zipf", .kind = number, .min = 0, .max = 10,
        .help = "Zipf's law: the k-th expert receives tokens as 1 / k to this power, experts in the order of their "
                "ranks; 0: all receive as many.",
        .origin = "Zipf 1949"},
};

constexpr std::array of_other_job{
    Key{.name = "scenario", .kind = text, .required = true,
        .help = "Path of its scenario, relative to this file. Its cluster and profile are this scenario's."},
    Key{.name = "set", .kind = texts,
        .help = "Changes to it, as with --set: [\"strategy.tensor=4\"]."},
    Key{.name = "first_gpu", .kind = integer, .min = 0, .max = (1 << 27) - 1,
        .help = "GPU of its rank 0, the others follow; after the jobs before it when absent. A strategy.placement of "
                "its own says more."},
    Key{.name = "starts_at", .kind = text,
        .help = "When its first step begins, after this one's: \"100 ms\"."},
};

constexpr Key hugging_face_file{.name = "hugging_face", .kind = text,
    .help = "Path of a Hugging Face config.json, relative to this file.", .when_absent = "none"};
// clang-format on

/// The one field of a model that belongs to its training.
constexpr std::string_view of_both = "dropout";

/// A model may be named: none of its fields must be stated.
std::vector<Key> model_keys() {
    std::vector<Key> keys;
    for (Key key : documents::keys_of(models::model_fields())) {
        key.required = false;
        if (key.name != of_both) keys.push_back(key);
    }
    keys.insert(keys.begin() + 1, hugging_face_file);
    return keys;
}

std::vector<Key> strategy_keys() {
    std::vector<Key> keys = documents::keys_of(strategies::strategy_fields());
    keys.push_back(scopes_key());
    return keys;
}

std::vector<Key> training_keys() {
    std::vector<Key> keys = documents::keys_of(strategies::training_fields());
    for (const Key& key : documents::keys_of(models::model_fields()))
        if (key.name == of_both) keys.push_back(key);
    return keys;
}

template <std::size_t count>
std::vector<Key> listed(const std::array<Key, count>& keys) {
    return {keys.begin(), keys.end()};
}

std::vector<Section> all_sections() {
    return {
        {.name = "", .pointer = "", .keys = listed(of_document)},
        {.name = "model", .pointer = "/model", .keys = model_keys()},
        {.name = "cluster", .pointer = "/cluster", .keys = listed(of_cluster)},
        {.name = "strategy", .pointer = "/strategy", .keys = strategy_keys()},
        {.name = "scopes",
         .pointer = "/strategy/scopes",
         .keys = {scope_keys().begin(), scope_keys().end()},
         .in_list = true},
        {.name = "training", .pointer = "/training", .keys = training_keys()},
        {.name = "outputs", .pointer = "/outputs", .keys = listed(of_outputs)},
        {.name = "perturbations", .pointer = "/perturbations", .keys = listed(of_perturbations)},
        {.name = "other_jobs", .pointer = "/other_jobs", .keys = listed(of_other_job), .in_list = true},
        {.name = "reliability", .pointer = "/reliability", .keys = documents::keys_of(reliability::failures_fields())},
        {.name = "checkpoint", .pointer = "/checkpoint", .keys = documents::keys_of(reliability::checkpoint_fields())},
        {.name = "storage", .pointer = "/storage", .keys = documents::keys_of(reliability::storage_fields())},
        {.name = "synchrony", .pointer = "/synchrony", .keys = documents::keys_of(synchrony::options_fields())},
    };
}

}  // namespace

std::span<const Section> sections() {
    static const std::vector<Section> all = [] {
        std::vector<Section> made = all_sections();
        for (Section& each : made) {
            each.all = made;
            each.not_modelled = not_modelled();
        }
        return made;  // moved: the sections stay where they are
    }();
    return all;
}

const Section& section(Place place) { return sections()[static_cast<std::size_t>(place)]; }

}  // namespace orrery::scenarios
