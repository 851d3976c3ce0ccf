#include "sim/replay.hpp"

#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/job_replay.hpp"
#include "sim/link_events.hpp"

namespace orrery::sim {

namespace {

/// Tags of the engine: their upper half says whose they are, a job's (by number) or all links'.
constexpr std::uint32_t tag_bits = 40;
constexpr std::uint64_t of_links = (std::uint64_t{1} << (64 - tag_bits)) - 1;

/// All jobs and what happens to links; hands events to whom their tags say.
class Replay final : public EventSink {
public:
    Replay(std::span<const ReplayJob> jobs, const Network& network, Engine& engine, const Perturbed* perturbed,
           const ProgressCallback& progress)
        : engine_(engine), progress_(progress), unfinished_(jobs.size()) {
        const Folding& first = *jobs.front().folding;
        if (perturbed != nullptr)
            links_.emplace(*perturbed, first, network.first_fabric_link(), engine, of_links << tag_bits);
        for (std::size_t i = 0; i < jobs.size(); ++i)
            jobs_.push_back(std::make_unique<JobReplay>(jobs[i], i << tag_bits, network, engine,
                                                        i == 0 ? perturbed : nullptr,
                                                        i == 0 && (jobs.size() > 1 || !first.background.empty())));
        result_.link_bytes.resize(first.capacities.size());
    }

    ReplayedJobs run() && {
        for (const auto& job : jobs_) job->start();
        engine_.run(*this);
        for (const auto& job : jobs_) result_.jobs.push_back(std::move(*job).result());
        return std::move(result_);
    }

    void on_timer(std::uint64_t tag) override {
        if (progress_ && ++events_ % events_a_word == 0) tell();
        const std::uint64_t owner = tag >> tag_bits, what = tag & ((std::uint64_t{1} << tag_bits) - 1);
        if (owner == of_links) return links_->happen(what);
        JobReplay& job = *jobs_[owner];
        if (what < JobReplay::step_begins) return job.transfer(static_cast<Rendezvous::Number>(what));
        if (what == JobReplay::step_ends && job.end_step()) {
            if (owner == 0) note_link_bytes();
            if (--unfinished_ == 0) return engine_.stop();
        }
        job.begin(engine_.now());
    }
    void on_flow_end(std::uint64_t tag) override {
        jobs_[tag >> tag_bits]->end_transfer(static_cast<Rendezvous::Number>(tag));
    }

private:
    static constexpr std::uint64_t events_a_word = 1U << 12U;  // some milliseconds

    void tell() const {
        const JobReplay& first = *jobs_.front();
        progress_(first.operations() - first.left(), first.operations());
    }
    void note_link_bytes() {
        for (std::uint32_t link = 0; link < result_.link_bytes.size(); ++link)
            result_.link_bytes[link] = engine_.carried_bytes(link);
    }

    Engine& engine_;
    const ProgressCallback& progress_;
    std::uint64_t events_ = 0;
    std::optional<LinkEvents> links_;
    std::vector<std::unique_ptr<JobReplay>> jobs_;
    std::size_t unfinished_;  // jobs whose first step has not ended
    ReplayedJobs result_;
};

}  // namespace

ReplayedJobs replay(std::span<const ReplayJob> jobs, const Network& network, Engine& engine, const Perturbed* perturbed,
                    const ProgressCallback& progress) {
    return Replay(jobs, network, engine, perturbed, progress).run();
}

Replayed replay(const strategies::StepProgram& step, const KindCosts& costs, const Network& network,
                const Folding& folding, Engine& engine) {
    ReplayJob job{&step, &costs, &folding};
    job.record.resize(folding.classes.size());
    std::iota(job.record.begin(), job.record.end(), 0U);
    return replay({&job, 1}, network, engine).jobs.front();
}

}  // namespace orrery::sim
