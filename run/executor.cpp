#include "run/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <random>

#include "base/error.hpp"
#include "kernels/number_format.hpp"
#include "run/emulate.hpp"
#include "run/own_slices.hpp"
#include "run/support.hpp"

namespace orrery::run {

namespace {

using WallClock = std::chrono::steady_clock;

double seconds_since(WallClock::time_point begin) {
    return std::chrono::duration<double>(WallClock::now() - begin).count();
}

const strategies::Plan& checked(const strategies::Plan& plan, const RunSettings& settings) {
    require_executable(plan);
    if (plan.model.takes_images() && !settings.data.empty())
        throw Error(settings.data, "", "a text, but " + plan.model.name + " takes images", "leave --data out");
    return plan;
}

/// With the micro-batches of a rank's own.
strategies::Plan of_rank(const strategies::Plan& plan, const strategies::Mesh& mesh, std::uint32_t rank) {
    if (!strategies::unequal_replicas(plan)) return plan;
    return with_own_micro_batches(plan, strategies::replica_counts(plan).of(mesh.data_rank(rank)));
}

}  // namespace

Executor::Executor(kernels::Device& device, kernels::Communicator* world, const strategies::Plan& plan,
                   const strategies::StepProgram& step, const RunSettings& settings)
    : device_(device),
      world_(world),
      plan_(of_rank(checked(plan, settings), step.mesh, world == nullptr ? 0 : world->rank())),
      place_{plan_, step.mesh, world == nullptr ? 0 : world->rank()},
      tokens_(settings.data, plan.model.vocab, std::uint64_t{plan.training.seq} + plan.training.decoder_seq,
              settings.seed),
      images_(plan.model, settings.seed),
      scaler_(plan.training.loss_scaling) {
    require_runs_on(device, plan, step);
    groups_ = std::make_unique<Groups>(world, step);
    host_numbers_ = static_cast<float*>(device.allocate_host(2 * sizeof(float)));
    numbers_ = {.adam = settings.adam, .seed = settings.seed, .norm = host_numbers_, .overflow = host_numbers_ + 1};
    numbers_.may_skip = plan.training.scales_loss() && settings.kernel_seconds.empty() && !settings.only_rank;
    model_ = std::make_unique<StageModel>(device, place_, settings);
    require_runs_on(device, model_->parameters());
    const BoundProgram plan_of_memory =
        bind_program(step, device, place_, *model_, *groups_, numbers_, nullptr, nullptr);
    arena_ = DeviceMemory(device, plan_of_memory.extent_bytes);
    if (plan_of_memory.host_extent_bytes > 0) host_arena_ = HostMemory(device, plan_of_memory.host_extent_bytes);
    bound_ = bind_program(step, device, place_, *model_, *groups_, numbers_, arena_.as<std::byte>(),
                          host_arena_.as<std::byte>());
    has_loss_ = model_->last_stage() && settings.kernel_seconds.empty() && !settings.only_rank;
    if (settings.only_rank) fill_arena(plan_of_memory.extent_bytes, settings.seed);
    if (!settings.kernel_seconds.empty())
        emulate(bound_, step, step.programs[step.role[place_.rank]], device, settings.kernel_seconds);
    marks_.resize(bound_.items.size());
    if (device.streams_are_threads()) threads_.emplace(device, bound_.items);
    if (!plan_.training.cuda_graph) return;
    graph_.emplace(device, bound_.items);
    numbers_.live = graph_->values();
}

/// Numbers where other ranks' would stand: what is not a number, or nothing but zeros, computes at other speeds. Both
/// halves of each fp32 are the same bf16, so that either format reads them as standard normal; as fp16, they are
/// between a sixteenth and four.
void Executor::fill_arena(std::uint64_t bytes, std::uint64_t seed) {
    std::vector<std::uint32_t> values(std::min<std::uint64_t>(bytes / sizeof(float), std::uint64_t{1} << 22U));
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (std::uint32_t& value : values) value = kernels::to_bf16(normal(random)) * 0x10001U;
    for (std::uint64_t at = 0; at < bytes; at += values.size() * sizeof(float))
        device_.copy(kernels::CopyKind::host_to_device, arena_.as<std::byte>() + at, values.data(),
                     std::min<std::uint64_t>(bytes - at, values.size() * sizeof(float)), 0);
    device_.synchronize();
}

Executor::~Executor() {
    if (graph_ && graph_->recorded()) {
        graph_.reset();
        device_.forget(set_marks());
    }
    device_.release_host(host_numbers_);
}

RankMemory Executor::memory() const {
    const Parameters& p = model_->parameters();
    return {p.weight_bytes() + model_->narrow_weights().bytes(), p.gradient_bytes(), p.optimizer_bytes(),
            bound_.peak_bytes, bound_.host_peak_bytes + p.host_bytes()};
}

/// Every sample of a step's global batch goes to one data rank and micro-batch.
template <class Sample>
auto Executor::samples(const Sample& sample) const {
    const strategies::Plan& plan = place_.plan;
    std::vector<decltype(sample(std::uint64_t{0}, std::uint64_t{0}))> all_samples;
    const OwnSlices slices(plan, place_.data());
    const std::uint32_t of_step = plan.micro_batches(), all = plan.pipeline_shape().all_micro_batches();
    for (std::uint32_t m = 0; m < all; ++m)
        for (std::uint32_t i = 0; i < plan.training.micro_batch; ++i) {
            const std::uint64_t number = slices[m % of_step] * plan.training.micro_batch + i;
            all_samples.push_back(sample(step_ + m / of_step, number));
        }
    return all_samples;
}

void Executor::upload() {
    const auto text = [&](std::uint64_t step, std::uint64_t number) { return tokens_.sequence(step, number); };
    const auto image = [&](std::uint64_t step, std::uint64_t number) { return images_.example(step, number); };
    if (place_.plan.model.takes_images())
        model_->data().upload(samples(image));
    else
        model_->data().upload(samples(text));
}

void Executor::queue(std::uint32_t index) {
    const Item& item = bound_.items[index];
    const kernels::Stream stream = stream_of(item.lane);
    if (item.host) {
        marks_[index].begin = device_.mark(stream);
        wait_on_host(item);
    } else {
        for (const std::uint32_t other : item.waits)
            if (bound_.items[other].lane != item.lane) device_.wait_for(stream, marks_[other].end);
        if (progress_ != nullptr) progress_->record().item[static_cast<std::size_t>(item.lane)] = index + 1;
        marks_[index].begin = device_.mark(stream);
        if (item.action) item.action(stream);
    }
    marks_[index].end = device_.mark(stream);
}

/// Where steps are recorded lanes wait in the host's place.
void Executor::wait_on_host(const Item& item) {
    const WallClock::time_point begin = WallClock::now();
    for (const std::uint32_t other : item.waits)
        graph_ ? graph_->hold_lanes(marks_[other].end) : device_.finish(marks_[other].end);
    if (!graph_) host_waited_ += seconds_since(begin);
}

void Executor::time_steps_only() {
    if (threads_) return;  // a thread's marks cost nothing on the device
    needs_end_.assign(bound_.items.size(), false);
    std::array<std::optional<std::uint32_t>, strategies::lanes> last;
    for (std::uint32_t i = 0; i < bound_.items.size(); ++i) {
        const Item& item = bound_.items[i];
        for (const std::uint32_t other : item.waits)
            if (item.host || bound_.items[other].lane != item.lane) needs_end_[other] = true;
        last[static_cast<std::size_t>(item.lane)] = i;
    }
    for (const auto& index : last)
        if (index) needs_end_[*index] = true;
}

/// As queue(), with no mark but the first operation's begin and those that needs_end_ names.
void Executor::queue_unmarked(std::uint32_t index) {
    const Item& item = bound_.items[index];
    const kernels::Stream stream = stream_of(item.lane);
    if (!item.host)
        for (const std::uint32_t other : item.waits)
            if (bound_.items[other].lane != item.lane) device_.wait_for(stream, marks_[other].end);
    if (index == 0) marks_[index].begin = device_.mark(stream);
    if (item.host) {
        wait_on_host(item);
    } else {
        if (progress_ != nullptr) progress_->record().item[static_cast<std::size_t>(item.lane)] = index + 1;
        if (item.action) item.action(stream);
    }
    if (needs_end_[index]) marks_[index].end = device_.mark(stream);
}

void Executor::queue_all() {
    for (std::uint32_t i = 0; i < bound_.items.size(); ++i) needs_end_.empty() ? queue(i) : queue_unmarked(i);
}

double Executor::run_items() {
    const WallClock::time_point begin = WallClock::now();
    host_waited_ = 0;
    if (threads_) {
        threads_->step(marks_, progress_);
        return 0;
    }
    if (graph_ && graph_->recorded() && progress_ != nullptr)
        for (auto& item : progress_->record().item) item = 0;  // what a replay is doing only the device knows
    if (graph_)
        graph_->step([this] { queue_all(); });
    else
        queue_all();
    return seconds_since(begin) - host_waited_;
}

/// Of the last step, each once. Where its operations are not timed, the first one's begin in front.
std::vector<kernels::Device::Mark> Executor::set_marks() const {
    std::vector<kernels::Device::Mark> all;
    if (!needs_end_.empty()) {
        all.push_back(marks_.front().begin);
        for (std::size_t i = 0; i < marks_.size(); ++i)
            if (needs_end_[i]) all.push_back(marks_[i].end);
        return all;
    }
    for (const ItemMarks& marks : marks_) all.insert(all.end(), {marks.begin, marks.end});
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

void Executor::read_times(StepResult& result) {
    result.origin = device_.moment(marks_.front().begin);
    const std::vector<kernels::Device::Mark> all = set_marks();
    for (const kernels::Device::Mark mark : all)
        result.seconds = std::max(result.seconds, device_.moment(mark) - result.origin);
    if (needs_end_.empty())
        for (const ItemMarks& marks : marks_)
            result.spans.push_back({device_.moment(marks.begin) - result.origin,
                                    device_.moment(marks.end) - result.origin,
                                    device_.seconds(marks.begin, marks.end)});
    mark_count_ = all.size();
    if (!graph_ || !graph_->recorded()) device_.forget(all);
}

StepResult Executor::step() {
    upload();
    numbers_.step = step_;
    numbers_.adam.step = static_cast<int>(step_ - scaler_.skipped()) + 1;
    if (place_.plan.training.scales_loss()) numbers_.loss_scale = scaler_.scale();
    if (graph_) graph_->set(numbers_.values());
    double host = 0;
    if (world_ != nullptr) world_->barrier();
    try {
        host = run_items();
        device_.synchronize();
    } catch (const kernels::DeviceError& error) {
        throw kernels::DeviceError(fmt::format("rank {}, step {}: {}", place_.rank, step_, error.what()), "");
    }
    step_ += place_.plan.pipeline_shape().steps;
    StepResult result{.host = host, .skipped = numbers_.skips()};
    if (place_.plan.training.scales_loss()) result.loss_scale = numbers_.loss_scale;
    if (numbers_.may_skip) scaler_.update(!result.skipped);
    read_times(result);
    if (has_loss_) {
        result.losses = model_->data().losses();
        const double share = double{1} * plan_.micro_batches() * plan_.strategy.data / plan_.all_micro_batches();
        for (double& loss : result.losses) loss *= share;
        for (std::size_t i = 0; i < result.losses.size(); ++i)
            if (!std::isfinite(result.losses[i]))
                throw kernels::DeviceError(fmt::format("rank {}, step {}: the loss is not a number", place_.rank,
                                                       step_ - result.losses.size() + i),
                                           "lower the learning rate");
    }
    return result;
}

}  // namespace orrery::run
