// The laws of laws.hpp over as many random scenarios as one likes, on all cores. The seed says the scenario and, of the
// laws, which: any run can be repeated, and gone on with from the last line that it printed.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "tests/property/laws.hpp"

namespace {

using namespace orrery;

struct Options {
    std::uint64_t from = 0, cases = 1'000'000;
    unsigned threads = std::max(1U, std::thread::hardware_concurrency());
    std::string law;  ///< this one alone; empty: all
};

volatile std::sig_atomic_t interrupted = 0;

[[noreturn]] void usage(const char* wrong) {
    fmt::print(stderr, "soak: {}\nusage: soak [--cases N] [--from SEED] [--threads N] [--law NAME]\nlaws:", wrong);
    for (const laws::Law& law : laws::all()) fmt::print(stderr, " {}", law.name);
    fmt::print(stderr, "\n");
    std::exit(2);
}

std::uint64_t number(const char* text) {
    std::uint64_t value = 0;
    const char* const end = text + std::strlen(text);
    if (std::from_chars(text, end, value).ptr != end || text == end) usage("a whole number is due");
    return value;
}

Options options_of(int count, char** words) {
    Options options;
    for (int i = 1; i < count; i += 2) {
        const std::string_view word = words[i];
        if (i + 1 >= count) usage("an option without its value");
        const char* const value = words[i + 1];
        if (word == "--cases") {
            options.cases = number(value);
        } else if (word == "--from") {
            options.from = number(value);
        } else if (word == "--threads") {
            options.threads = static_cast<unsigned>(std::clamp<std::uint64_t>(number(value), 1, 1024));
        } else if (word == "--law") {
            options.law = value;
        } else {
            usage("unknown option");
        }
    }
    return options;
}

class Soak {
public:
    explicit Soak(const Options& options)
        : options_(options), laws_(chosen(options.law)), held_(laws_.size()), at_(options.threads) {}

    int run() {
        std::vector<std::thread> workers;
        for (unsigned i = 0; i < options_.threads; ++i) workers.emplace_back([this, i] { work(at_[i]); });
        report_until_done();
        for (std::thread& worker : workers) worker.join();
        return summary();
    }

private:
    static std::vector<laws::Law> chosen(const std::string& name) {
        std::vector<laws::Law> chosen;
        for (const laws::Law& law : laws::all())
            if (name.empty() || law.name == name) chosen.push_back(law);
        if (chosen.empty()) usage("no law of that name");
        return chosen;
    }

    /// at: how many cases are done for certain, as far as this thread knows.
    void work(std::atomic<std::uint64_t>& at) {
        while (interrupted == 0) {
            const std::uint64_t number = next_++;
            if (number >= options_.cases) break;
            at = number;
            check(options_.from + number);
            ++done_;
            at = number + 1;
        }
        ++finished_;
    }

    /// All cases before it are done.
    [[nodiscard]] std::uint64_t next_seed() const {
        std::uint64_t least = next_;
        for (const auto& at : at_) least = std::min(least, at.load());
        return options_.from + least;
    }

    void check(std::uint64_t seed) {
        const std::size_t index = seed % laws_.size();
        const laws::Law& law = laws_[index];
        std::shared_lock beside(world_, std::defer_lock);
        std::unique_lock alone(world_, std::defer_lock);
        law.alone ? alone.lock() : beside.lock();
        try {
            law.check(laws::Case(seed));
            ++held_[index];
        } catch (const std::exception& fault) {
            ++broken_;
            const std::scoped_lock lock(printing_);
            fmt::print("BROKEN law {} at seed {}: {}\n  {}\n", law.name, seed, fault.what(), laws::Case(seed).document);
            std::fflush(stdout);
        }
    }

    void report_until_done() {
        using namespace std::chrono_literals;
        for (auto tick = 1; finished_ < options_.threads; ++tick) {
            std::this_thread::sleep_for(100ms);
            if (tick % 100 == 0) progress();
        }
    }

    void progress() {
        const std::scoped_lock lock(printing_);
        fmt::print("{} of {} cases, {} broken; goes on with --from {}\n", done_.load(), options_.cases, broken_.load(),
                   next_seed());
        std::fflush(stdout);
    }

    int summary() {
        for (std::size_t i = 0; i < laws_.size(); ++i)
            fmt::print("{:12} held {:9} times: {}\n", laws_[i].name, held_[i].load(), laws_[i].says);
        progress();
        if (interrupted != 0) return 130;
        return broken_ > 0 ? 1 : 0;
    }

    Options options_;
    std::vector<laws::Law> laws_;
    std::vector<std::atomic<std::uint64_t>> held_;  ///< by law
    std::vector<std::atomic<std::uint64_t>> at_;
    std::atomic<std::uint64_t> next_ = 0, done_ = 0, broken_ = 0;
    std::atomic<unsigned> finished_ = 0;
    std::shared_mutex world_;
    std::mutex printing_;
};

}  // namespace

int main(int count, char** words) {
    const Options options = options_of(count, words);
    std::signal(SIGINT, [](int) { interrupted = 1; });
    std::signal(SIGTERM, [](int) { interrupted = 1; });
    return Soak(options).run();
}
