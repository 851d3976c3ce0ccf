// One rank executes a plan's program on a device.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/communicator.hpp"
#include "run/lane_threads.hpp"
#include "run/loss_scaler.hpp"
#include "run/progress.hpp"
#include "run/step_graph.hpp"
#include "run/tokens.hpp"

namespace orrery::run {

/// Wall seconds from the step's first operation.
struct Span {
    double begin = 0, end = 0;
    double device = 0;  ///< device time between them: CPU time of the lane's thread on a CPU of one thread
};

struct StepResult {
    double origin = 0;   ///< Device::moment() of the first operation's begin
    double seconds = 0;  ///< from there until all lanes were done
    double host = 0;     ///< seconds that the host took to queue it, without its waits; 0 where streams are threads
    /// Of each of the program's steps: mean over this rank's sequences, on the last stage of a real run; else empty.
    /// Where data ranks take unequal numbers of them by its share, so that the mean over ranks is that over sequences.
    std::vector<double> losses = {};
    std::optional<double> loss_scale = std::nullopt;  ///< under fp16
    bool skipped = false;                             ///< its gradients were not all finite: it changed nothing
    std::vector<Span> spans = {};                     ///< of every item
};

/// Bytes of device memory that this rank holds, and of the host's.
struct RankMemory {
    std::uint64_t weights = 0, gradients = 0;
    std::uint64_t optimizer = 0;    ///< moments; with 16-bit weights their masters, with 16-bit gradients fp32 copies
    std::uint64_t activations = 0;  ///< the most that were in use at once, with scratch
    std::uint64_t host = 0;         ///< the same of what is offloaded, and of the host's optimizer; no part of total()
    [[nodiscard]] std::uint64_t total() const { return weights + gradients + optimizer + activations; }
};

class Executor {
public:
    /// All ranks of the world call it together; world: null for a single rank. What is passed by reference must outlive
    /// it. Throws Error for a plan that require_executable() refuses, or a world of another size.
    Executor(kernels::Device& device, kernels::Communicator* world, const strategies::Plan& plan,
             const strategies::StepProgram& step, const RunSettings& settings);
    ~Executor();

    /// The next step, or all of a program of several. Throws DeviceError, with the rank in its message, when the device
    /// fails or the loss is not a number; the caller then aborts the world.
    StepResult step();

    [[nodiscard]] const std::vector<Item>& items() const { return bound_.items; }
    /// Of items(), those that update the parameters: in a program of several steps each ends one.
    [[nodiscard]] const std::vector<std::uint32_t>& updates() const { return bound_.updates; }
    [[nodiscard]] const StageModel& model() const { return *model_; }
    [[nodiscard]] RankMemory memory() const;
    [[nodiscard]] std::uint32_t rank() const { return place_.rank; }
    /// Before the first step: only the steps are timed, and StepResult::spans stays empty: marks stand where a lane
    /// waits for another and at a step's ends. Two around every operation cost a GPU about a microsecond each.
    void time_steps_only();
    /// Marks that the last step set.
    [[nodiscard]] std::size_t marks() const { return mark_count_; }
    /// Keeps a record of what every lane is doing from now on; null: none. It must outlive the executor's steps.
    void follow(Progress* progress) { progress_ = progress; }

private:
    void upload();
    /// Every rank's share of the steps' batches, in the order of its micro-batches.
    template <class Sample>
    [[nodiscard]] auto samples(const Sample& sample) const;
    void fill_arena(std::uint64_t bytes, std::uint64_t seed);
    void queue(std::uint32_t index);
    void queue_unmarked(std::uint32_t index);
    void wait_on_host(const Item& item);
    void queue_all();
    /// Returns StepResult::host.
    double run_items();
    [[nodiscard]] std::vector<kernels::Device::Mark> set_marks() const;
    void read_times(StepResult& result);

    kernels::Device& device_;
    kernels::Communicator* world_;
    strategies::Plan plan_;  ///< as this rank has it
    Place place_;
    Tokens tokens_;
    Images images_;
    StepNumbers numbers_;
    float* host_numbers_ = nullptr;  ///< those that numbers_ points to
    LossScaler scaler_;
    std::unique_ptr<StageModel> model_;
    std::unique_ptr<Groups> groups_;
    DeviceMemory arena_;
    HostMemory host_arena_;
    BoundProgram bound_;
    std::uint64_t step_ = 0;
    std::size_t mark_count_ = 0;
    bool has_loss_ = true;  ///< false where numbers mean nothing: kernels sleep, or other ranks are not there
    Progress* progress_ = nullptr;
    std::vector<ItemMarks> marks_;
    /// Where only steps are timed: of every item, whether its end is marked. Empty: every operation is timed.
    std::vector<bool> needs_end_;
    std::optional<LaneThreads> threads_;  ///< where streams are threads
    std::optional<StepGraph> graph_;      ///< where the plan asks for it
    double host_waited_ = 0;              ///< seconds of this step in which the host only waited
};

}  // namespace orrery::run
