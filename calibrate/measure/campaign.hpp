// One calibration: explicit points, then the suites' grids and refinements, within a budget of time; every point goes
// to the log as soon as it is measured.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/measure/log.hpp"
#include "calibrate/measure/sampler.hpp"
#include "calibrate/suite/suite.hpp"

namespace orrery::calibrate {

struct Plan {
    std::vector<Subject> points;  ///< measured first and whatever the budget
    std::vector<const Suite*> suites;
    double budget_seconds = 300;
    std::vector<kernels::Dtype> dtypes;
    StopRule rule;
    std::uint64_t seed = 1;
    bool check_points_whole = true;  ///< results of `points` are checked at their own shape, not a reduced one
};

/// What a progress bar shows.
struct Progress {
    std::string_view suite;
    std::size_t points = 0;  ///< measured so far
    double elapsed_seconds = 0, left_seconds = 0;
};

struct Hooks {
    std::function<bool()> stop = [] { return false; };  ///< asked between points
    std::function<void(const Progress&)> progress = [](const Progress&) {};
    /// What is wrong with a kernel's result; "" when nothing is. Replaceable, since a pretended device computes
    /// nothing.
    std::function<std::string(kernels::Device&, const kernels::Kernel&)> kernel_fault;
    Surroundings surroundings = real_surroundings();
};

struct Outcome {
    std::size_t measured = 0, resumed = 0;  ///< points of this run; points that the log held already
    std::vector<std::string> failures;      ///< "gemm ...: wrong result ..."
    std::vector<std::string> skipped;       ///< suites that cannot run here, with the reason
    bool stopped = false;                   ///< by Hooks::stop, before the end
};

class Campaign {
public:
    /// communicator: null for a single process. With one, every rank runs the same campaign; rank 0 alone keeps the
    /// log and decides what comes next.
    Campaign(kernels::Device& device, kernels::Communicator* communicator, Plan plan, Hooks hooks);

    /// content: what the log holds; grows by what is measured. writer: null on the other ranks. Throws DeviceError when
    /// the device is lost (three points in a row), Error when the log cannot be written.
    Outcome run(LogContent& content, LogWriter* writer);

private:
    void lead();
    void follow();
    void run_suite(const Suite& suite, double deadline);
    bool measure(const Subject& subject, std::string_view suite);
    [[nodiscard]] Record take(const Subject& subject);
    [[nodiscard]] std::string fault(const Subject& subject);
    [[nodiscard]] bool known(const Subject& subject) const;
    void report(std::string_view suite, double left);
    [[nodiscard]] double now() const { return hooks_.surroundings.wall_seconds() - begin_; }

    kernels::Device& device_;
    kernels::Communicator* communicator_;
    Plan plan_;
    Hooks hooks_;
    Sampler sampler_;
    Bench bench_;
    double begin_ = 0;
    LogContent* content_ = nullptr;
    LogWriter* writer_ = nullptr;
    Outcome outcome_;
    std::vector<std::string> texts_;                            // of the log's records, sorted
    std::vector<std::pair<std::string, std::string>> checked_;  // what was verified, and its fault
    int lost_in_a_row_ = 0;
};

}  // namespace orrery::calibrate
