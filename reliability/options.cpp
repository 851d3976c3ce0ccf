#include "reliability/options.hpp"

#include <array>

#include "base/error.hpp"

namespace orrery::reliability {

namespace {

using documents::duration_field;
using documents::field;
using documents::rate_field;
using documents::word;

constexpr double longest = 100 * 365.25 * 86400;  // a century
constexpr double least_rate = 1e6, most_rate = 1e16;

constexpr std::array reactions{word("wait", WithoutSpare::wait), word("shrink", WithoutSpare::shrink)};
constexpr std::array contents{word("states", Saved::states), word("masters", Saved::masters)};
constexpr std::array savers{word("all_ranks", Savers::all_ranks), word("one_replica", Savers::one_replica)};
constexpr std::array tiers{word("shared", Tier::shared), word("nvme", Tier::nvme),
                           word("host_memory", Tier::host_memory), word("peer_gpu", Tier::peer_gpu)};
constexpr std::array optima{word("daly", Optimum::daly), word("young", Optimum::young)};

// clang-format off
constexpr std::array of_failures{
    field<&Failures::per_1000_node_days>({.name = "failures_per_1000_node_days", .min = 0, .max = 1e6,
        .help = "Failures that end the job, on 1,000 nodes a day.",
        .when_absent = "3.79 for nodes of 8 GPUs, others by their GPUs (Llama 3)"}),
    duration_field<&Failures::node_mtbf_s>({.name = "node_mtbf", .min = 1, .max = 1e4 * longest,
        .help = "The same as mean time between failures of one node.", .when_absent = "failures_per_1000_node_days"}),
    field<&Failures::broken_share>({.name = "broken_share", .min = 0, .max = 1,
        .help = "Share of the failures after which the node must be replaced; after the others it goes on."}),
    duration_field<&Failures::detection_s>({.name = "detection", .min = 0, .max = longest,
        .help = "From a failure until the job is stopped and the culprit known.", .when_absent = "10 min (MegaScale)"}),
    duration_field<&Failures::restart_s>({.name = "restart", .min = 0, .max = longest,
        .help = "From there until the first step, beside reading the checkpoint.", .when_absent = "5 min (RSC)"}),
    field<&Failures::spare_nodes>({.name = "spare_nodes", .min = 0, .max = 131072,
        .help = "Nodes that wait to replace broken ones. Needs repair.", .when_absent = "always one more"}),
    duration_field<&Failures::repair_s>({.name = "repair", .min = 1, .max = longest,
        .help = "From a node's failure until it can work again, as a spare one.", .when_absent = "none"}),
    field<&Failures::without_spare>({.name = "without_spare", .words = reactions,
        .help = "When no spare is left: wait for a repaired node, or go on with fewer replicas on the same batch."}),
};
static_assert(of_failures.size() == documents::members_of<Failures>, "a field without a description");

constexpr std::array of_checkpoint{
    field<&Checkpoint::saved>({.name = "saved", .words = contents,
        .help = "states: weights and optimizer; masters: without the 16-bit weights, which follow from the masters."}),
    field<&Checkpoint::savers>({.name = "savers", .words = savers,
        .help = "Who writes: all ranks, each its part, or the ranks of one replica."}),
    field<&Checkpoint::tier>({.name = "tier", .words = tiers,
        .help = "Where to: the shared file system, a node's own drives or memory (lost with the node), or the memory "
                "of a GPU of another node."}),
    field<&Checkpoint::asynchronous>({.name = "asynchronous",
        .help = "The steps wait only until the states are copied (to the host; for peer_gpu inside the GPU); the rest "
                "is written beside them."}),
    duration_field<&Checkpoint::interval_s>({.name = "interval", .min = 1e-3, .max = longest,
        .help = "Between two checkpoints, rounded to whole steps.", .when_absent = "the optimum"}),
    field<&Checkpoint::optimum>({.name = "optimum", .words = optima,
        .help = "Formula of the interval when none is given: Daly 2006 (equation 37) or Young 1974."}),
    field<&Checkpoint::shared_every>({.name = "shared_every", .min = 1, .max = 1e6,
        .help = "Of checkpoints in another tier, each so many-th is written to the shared file system too, beside the "
                "steps."}),
};
static_assert(of_checkpoint.size() == documents::members_of<Checkpoint>, "a field without a description");

constexpr std::array of_storage{
    rate_field<&Storage::read>({.name = "read_rate", .min = least_rate, .max = most_rate,
        .help = "Of the shared file system, all nodes together.",
        .when_absent = "1.25 GB/s a node, 8 GB/s at least (DGX SuperPOD)"}),
    rate_field<&Storage::write>({.name = "write_rate", .min = least_rate, .max = most_rate,
        .help = "The same of writing.", .when_absent = "0.625 GB/s a node, 4 GB/s at least (DGX SuperPOD)"}),
    rate_field<&Storage::node_read>({.name = "node_read_rate", .min = least_rate, .max = most_rate,
        .help = "Of the shared file system, as far as one node gets.", .when_absent = "8 GB/s (DGX SuperPOD)"}),
    rate_field<&Storage::node_write>({.name = "node_write_rate", .min = least_rate, .max = most_rate,
        .help = "The same of writing.", .when_absent = "4 GB/s (DGX SuperPOD)"}),
    rate_field<&Storage::nvme_read>({.name = "nvme_read_rate", .min = least_rate, .max = most_rate,
        .help = "Of a node's own drives together.", .when_absent = "28 GB/s (four drives)"}),
    rate_field<&Storage::nvme_write>({.name = "nvme_write_rate", .min = least_rate, .max = most_rate,
        .help = "The same of writing.", .when_absent = "15.2 GB/s (four drives)"}),
    field<&Storage::tokens_per_s_per_node>({.name = "tokens_per_second_per_node", .min = 1, .max = 1e15,
        .help = "Tokens that the data loaders of one node prepare; steps that want more wait for them.",
        .when_absent = "as many as are wanted"}),
};
static_assert(of_storage.size() == documents::members_of<Storage>, "a field without a description");
// clang-format on

}  // namespace

std::span<const documents::Field<Failures>> failures_fields() { return of_failures; }
std::span<const documents::Field<Checkpoint>> checkpoint_fields() { return of_checkpoint; }
std::span<const documents::Field<Storage>> storage_fields() { return of_storage; }

void check(const Options& options) {
    const Failures& failures = options.failures;
    documents::check_fields(failures_fields(), failures, "/reliability");
    documents::check_fields(checkpoint_fields(), options.checkpoint, "/checkpoint");
    documents::check_fields(storage_fields(), options.storage, "/storage");
    if (failures.per_1000_node_days >= 0 && failures.node_mtbf_s > 0)
        throw Error("", "/reliability/node_mtbf", "given beside failures_per_1000_node_days",
                    "keep one of failures_per_1000_node_days and node_mtbf");
    const Checkpoint& how = options.checkpoint;
    if (how.tier == Tier::shared && how.shared_every > 1)
        throw Error("", "/checkpoint/shared_every", "means nothing where every checkpoint goes to the shared tier",
                    "state another checkpoint.tier, or leave it out");
    const bool finite = failures.spare_nodes != Failures::as_needed;
    if (finite && failures.repair_s == 0)
        throw Error("", "/reliability/spare_nodes", "says not when a broken node works again",
                    "state reliability.repair, such as \"1 days\", or leave spare_nodes out");
    if (!finite && failures.without_spare == WithoutSpare::shrink)
        throw Error("", "/reliability/without_spare", "means nothing where spare nodes are never used up",
                    "state reliability.spare_nodes and repair, or leave without_spare out");
    if (!finite && failures.repair_s > 0)
        throw Error("", "/reliability/repair", "means nothing where spare nodes are never used up",
                    "state reliability.spare_nodes, such as 2, or leave repair out");
}

}  // namespace orrery::reliability
