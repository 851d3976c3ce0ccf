#include "synchrony/links.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::synchrony {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double unknown = -1;

}  // namespace

Links::Links(const Job& job) : capacity_(job.links), carried_(job.links.size()) {
    for (const Ways& ways : job.ways) {
        uses_.push_back(&ways.push);
        uses_.push_back(&ways.pull);
    }
    active_.resize(uses_.size());
    rates_.resize(uses_.size(), infinity);
}

void Links::begin(std::uint32_t way) {
    ++active_[way];
    shared_ = false;
}

void Links::end(std::uint32_t way) {
    --active_[way];
    shared_ = false;
}

double Links::rate(std::uint32_t way) {
    if (!shared_) share();
    return rates_[way];
}

/// Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): all rates grow together until a link is
/// full, whose transfers stay as they are.
void Links::share() {
    shared_ = true;
    for (std::size_t way = 0; way < uses_.size(); ++way) rates_[way] = uses_[way]->empty() ? infinity : unknown;
    while (true) {
        std::vector<double> left = capacity_, wanted(capacity_.size());
        for (std::size_t way = 0; way < uses_.size(); ++way) {
            if (active_[way] == 0 || rates_[way] == infinity) continue;
            for (const Use& use : *uses_[way]) {
                const double shares = active_[way] * use.share;
                if (rates_[way] == unknown)
                    wanted[use.link] += shares;
                else
                    left[use.link] -= shares * rates_[way];
            }
        }
        double level = infinity;
        const auto level_of = [&](std::size_t link) { return std::max(0.0, left[link]) / wanted[link]; };
        for (std::size_t link = 0; link < wanted.size(); ++link)
            if (wanted[link] > 0) level = std::min(level, level_of(link));
        if (level == infinity) break;
        constexpr double rounding = 1e-12;
        for (std::size_t way = 0; way < uses_.size(); ++way) {
            if (active_[way] == 0 || rates_[way] != unknown) continue;
            const bool full = std::ranges::any_of(*uses_[way], [&](const Use& use) {
                return use.share > 0 && level_of(use.link) <= level * (1 + rounding);
            });
            if (full) rates_[way] = level;
        }
    }
    std::ranges::replace(rates_, unknown, infinity);  // of no link, or of nobody
}

void Links::advance(double seconds) {
    if (!shared_) share();
    for (std::size_t way = 0; way < uses_.size(); ++way)
        if (active_[way] > 0)
            for (const Use& use : *uses_[way]) carried_[use.link] += active_[way] * use.share * rates_[way] * seconds;
}

double Links::busiest(double seconds) const {
    double most = 0;
    for (std::size_t link = 0; link < capacity_.size(); ++link)
        most = std::max(most, carried_[link] / (capacity_[link] * seconds));
    return most;
}

}  // namespace orrery::synchrony
