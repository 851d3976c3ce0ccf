#include "scenarios/other_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"
#include "documents/message.hpp"
#include "documents/reader.hpp"
#include "scenarios/keys.hpp"
#include "scenarios/scenario.hpp"

namespace orrery::scenarios {

namespace {

using documents::printable;
using documents::Reader;
using strategies::RankPlacement;

constexpr double latest_start = 3600;  // seconds; a step takes less

double seconds(const Reader& entry, std::string_view key) {
    if (!entry.has(key)) return 0;
    const std::string text = entry.text(key);
    try {
        const double value = parse_seconds(text);
        if (value <= latest_start) return value;
        throw Error(fmt::format("{} is too late", text), fmt::format("at most {}", format_seconds(latest_start)));
    } catch (const Error& error) {
        throw Error(entry.file(), entry.pointer(key), error.message(), error.hint());
    }
}

/// Who has each GPU.
class Taken {
public:
    explicit Taken(std::uint32_t gpus) : owner_(gpus, nobody) {}

    /// Throws Error at `pointer` where a GPU is taken already.
    void take(const strategies::Plan& plan, const std::string& name, const std::string& file,
              const std::string& pointer) {
        const auto number = static_cast<std::uint32_t>(names_.size());
        names_.push_back(name);
        for (std::uint32_t rank = 0; rank < plan.ranks(); ++rank) {
            const std::uint32_t gpu = plan.placement.gpu(rank);
            if (owner_[gpu] != nobody)
                throw Error(file, pointer,
                            fmt::format("GPU {} is wanted by {} and by {}", gpu, names_.at(owner_[gpu]), name),
                            "give each job GPUs of its own: first_gpu, strategy.placement, and a strategy.data that "
                            "leaves some");
            owner_[gpu] = number;
            next_ = std::max(next_, gpu + 1);
        }
    }
    /// After all that are taken.
    [[nodiscard]] std::uint32_t next() const { return next_; }

private:
    static constexpr std::uint32_t nobody = 0xffffffff;
    std::vector<std::uint32_t> owner_;  // by GPU, the number of a name
    std::vector<std::string> names_;
    std::uint32_t next_ = 0;
};

bool places_itself(const strategies::Plan& plan) {
    return !plan.strategy.placement.empty() || !plan.strategy.placement_file.empty();
}

/// Ranks in order from a GPU on.
RankPlacement from_gpu(std::uint32_t first, std::uint32_t ranks) {
    std::vector<std::uint32_t> gpus(ranks);
    std::iota(gpus.begin(), gpus.end(), first);
    return RankPlacement(std::move(gpus));
}

/// What its changes are blamed for stands in this file, not in a command line.
Scenario load_job(const Reader& entry, const OtherJob& job, const topology::ClusterSpec& cluster, std::uint32_t gpus) {
    constexpr std::string_view option = "--set ";
    try {
        std::vector<Override> overrides;
        for (const std::string& text : job.set) overrides.push_back(parse_override(text));
        return load_on(cluster, gpus, job.scenario, overrides);
    } catch (const Error& error) {
        if (!error.file().starts_with(option)) throw;
        throw Error(entry.file(), entry.pointer("set"),
                    fmt::format("\"{}\": {}", error.file().substr(option.size()), error.message()), error.hint());
    }
}

OtherJob read_job(const Reader& entry, const topology::ClusterSpec& cluster, std::uint32_t gpus, std::uint32_t next) {
    OtherJob job;
    const std::filesystem::path folder = std::filesystem::path(entry.file()).parent_path();
    job.scenario = (folder / entry.text("scenario")).string();
    job.set = entry.texts("set");
    if (entry.has("first_gpu")) job.first_gpu = entry.integer32("first_gpu");
    job.starts_at = seconds(entry, "starts_at");
    const std::uint32_t first = job.first_gpu.value_or(next);
    if (first >= gpus)
        throw Error(entry.file(), entry.pointer("first_gpu"), fmt::format("GPU {} of {}", first, gpus),
                    job.first_gpu ? fmt::format("GPUs are 0 to {}", gpus - 1)
                                  : "no GPU is left after the jobs before: state a smaller strategy.data for them");
    Scenario scenario = load_job(entry, job, cluster, gpus - first);
    job.name = std::move(scenario.name);
    job.plan = std::move(scenario.plan);
    if (!places_itself(job.plan))
        job.plan.placement = from_gpu(first, job.plan.ranks());
    else if (job.first_gpu)
        throw Error(entry.file(), entry.pointer("first_gpu"), "stands beside the job's own strategy.placement",
                    "keep one of the two");
    return job;
}

}  // namespace

std::vector<OtherJob> read_other_jobs(const documents::Reader& top, const strategies::Plan& own,
                                      const topology::ClusterSpec& spec, const topology::Cluster& cluster) {
    std::vector<OtherJob> jobs;
    if (!top.has("other_jobs")) return jobs;
    Taken taken(cluster.gpus());
    taken.take(own, "this scenario", top.file(), "/strategy");
    for (const Reader& entry : top.objects("other_jobs", section(Place::other_job))) {
        jobs.push_back(read_job(entry, spec, cluster.gpus(), taken.next()));
        taken.take(jobs.back().plan, fmt::format("\"{}\"", printable(jobs.back().name)), top.file(), entry.pointer());
    }
    return jobs;
}

}  // namespace orrery::scenarios
