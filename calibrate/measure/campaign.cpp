#include "calibrate/measure/campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/overloaded.hpp"
#include "calibrate/measure/check_result.hpp"
#include "documents/document.hpp"

namespace orrery::calibrate {

namespace {

constexpr int most_lost = 3;
constexpr const char* the_end = "end";

}  // namespace

Campaign::Campaign(kernels::Device& device, kernels::Communicator* communicator, Plan plan, Hooks hooks)
    : device_(device),
      communicator_(communicator),
      plan_(std::move(plan)),
      hooks_(std::move(hooks)),
      sampler_(device, communicator, plan_.rule, hooks_.surroundings) {
    bench_.device = &device;
    bench_.ranks = communicator == nullptr ? 1 : communicator->ranks();
    bench_.dtypes = plan_.dtypes;
    bench_.seconds_per_point = plan_.rule.max_seconds;
    bench_.seed = plan_.seed;
    if (!hooks_.kernel_fault) hooks_.kernel_fault = kernel_fault;
}

Outcome Campaign::run(LogContent& content, LogWriter* writer) {
    content_ = &content;
    writer_ = writer;
    begin_ = hooks_.surroundings.wall_seconds();
    for (const Record& r : content.records) texts_.push_back(to_text(r.subject));
    std::ranges::sort(texts_);
    from_log_ = {texts_.begin(), texts_.end()};
    if (communicator_ != nullptr && communicator_->rank() != 0) {
        follow();
        return outcome_;
    }
    try {
        lead();
    } catch (...) {
        if (communicator_ != nullptr) (void)communicator_->from_first(the_end);
        throw;
    }
    if (communicator_ != nullptr) (void)communicator_->from_first(the_end);
    return outcome_;
}

/// The budget that is left goes to the suites that are left, by their shares.
void Campaign::lead() {
    for (std::size_t i = 0; i < plan_.points.size(); ++i) {
        if (!measure(plan_.points[i], "points")) return;
        report("points", now() / static_cast<double>(i + 1) * static_cast<double>(plan_.points.size() - i - 1));
    }
    double shares = 0;
    for (const Suite* suite : plan_.suites) {
        const std::string_view obstacle = suite->obstacle(bench_);
        if (obstacle.empty())
            shares += suite->share;
        else
            outcome_.skipped.push_back(fmt::format("{}: {}", suite->name, obstacle));
    }
    for (const Suite* suite : plan_.suites) {
        if (!suite->obstacle(bench_).empty()) continue;
        const double left = plan_.budget_seconds - now();
        run_suite(*suite, now() + left * suite->share / shares);
        shares -= suite->share;
        if (outcome_.stopped) return;
    }
}

/// At least one point, however little time there is: a suite that was asked for is not left out silently.
void Campaign::run_suite(const Suite& suite, double deadline) {
    std::size_t taken = 0;
    const auto run = [&](const std::vector<Subject>& points) {
        for (const Subject& point : points) {
            if (taken > 0 && now() >= deadline) return false;
            if (known(point)) continue;
            if (!measure(point, suite.name)) return false;
            ++taken;
            report(suite.name, plan_.budget_seconds - now());
        }
        return true;
    };
    if (!run(suite.grid(bench_)) || suite.refine == nullptr) return;
    while (now() < deadline) {
        const std::size_t before = content_->records.size();
        if (!run(suite.refine(bench_, content_->records)) || content_->records.size() == before) return;
    }
}

bool Campaign::known(const Subject& subject) {
    const std::string text = to_text(subject);
    outcome_.resumed += from_log_.erase(text);  // the first time it is asked for
    return std::ranges::binary_search(texts_, text);
}

/// False when the user wants to stop.
bool Campaign::measure(const Subject& subject, std::string_view suite) {
    if (hooks_.stop()) {
        outcome_.stopped = true;
        return false;
    }
    if (known(subject)) return true;
    if (communicator_ != nullptr) (void)communicator_->from_first(to_json(subject).dump());
    Record record = take(subject);
    record.suite = suite;
    const std::string text = to_text(subject);
    if (record.failure.empty())
        ++outcome_.measured;
    else
        outcome_.failures.push_back(fmt::format("{}: {}", text, record.failure));
    if (writer_ != nullptr) writer_->append(record);
    content_->records.push_back(std::move(record));
    texts_.insert(std::ranges::lower_bound(texts_, text), text);
    return true;
}

void Campaign::follow() {
    for (;;) {
        const std::string next = communicator_->from_first("");
        if (next == the_end) return;
        (void)take(subject_from(documents::parse_document(next, "the first rank's point")));
    }
}

/// A device that fails at one point (too little memory) may do the next; one that fails again and again is lost.
Record Campaign::take(const Subject& subject) {
    Record record;
    record.subject = subject;
    try {
        record.failure = fault(subject);
        if (record.failure.empty()) record = sampler_.measure(subject);
        lost_in_a_row_ = 0;
    } catch (const Error& error) {
        record.failure = error.what();
    } catch (const kernels::DeviceError& error) {
        // Ranks that fail apart wait for each other for ever: the group ends as a whole.
        if (communicator_ != nullptr || ++lost_in_a_row_ >= most_lost) throw;
        record.failure = error.what();
    }
    return record;
}

/// Points of an explicit list are checked at their own shape, others at a reduced one; each once.
std::string Campaign::fault(const Subject& subject) {
    const auto once = [&](const std::string& key, auto check) {
        const auto found = std::ranges::find(checked_, key, &std::pair<std::string, std::string>::first);
        if (found != checked_.end()) return found->second;
        checked_.emplace_back(key, check());
        return checked_.back().second;
    };
    const auto of_kernel = [&](const kernels::Kernel& kernel) {
        const bool listed =
            plan_.check_points_whole && std::ranges::find(plan_.points, Subject(kernel)) != plan_.points.end();
        const kernels::Kernel shape = listed ? kernel : reduced(kernel);
        return once(kernels::to_text(shape), [&] { return hooks_.kernel_fault(device_, shape); });
    };
    const auto of_collective = [&](CollectiveShape shape) -> std::string {
        if (communicator_ == nullptr || communicator_->ranks() != shape.ranks) return "";  // the sampler says why
        shape.bytes = std::min(shape.bytes, std::uint64_t{4096} * shape.ranks);
        return once(to_text(Subject(shape)), [&] { return collective_fault(device_, *communicator_, shape); });
    };
    return std::visit(Overloaded{[&](const kernels::Kernel& k) { return of_kernel(k); },
                                 [&](const CollectiveShape& c) { return of_collective(c); },
                                 [&](const OverlapShape& o) {
                                     std::string found = of_kernel(o.kernel);
                                     const auto* c = std::get_if<CollectiveShape>(&o.beside);
                                     return found.empty() && c != nullptr ? of_collective(*c) : found;
                                 },
                                 [&](const SustainedShape& s) { return of_kernel(s.gemm); },
                                 [](const auto&) { return std::string(); }},
                      subject);
}

void Campaign::report(std::string_view suite, double left) {
    hooks_.progress({suite, outcome_.measured, now(), std::max(0.0, left)});
}

}  // namespace orrery::calibrate
