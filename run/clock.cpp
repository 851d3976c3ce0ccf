#include "run/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>

namespace orrery::run {

namespace {

constexpr int rounds = 40;

std::string text_of(const std::vector<double>& values) {
    std::string text;
    for (const double value : values) text += fmt::format("{} ", value);  // fmt's shortest text is exact
    return text;
}

std::vector<double> values_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<double> values;
    for (double value = 0; in >> value;) values.push_back(value);
    return values;
}

}  // namespace

double now(kernels::Device& device) {
    const std::array mark{device.mark(0)};
    device.finish(mark[0]);
    const double moment = device.moment(mark[0]);
    device.forget(mark);
    return moment;
}

ClockOffset offset_between(const std::vector<double>& first_stamps, const std::vector<double>& first_afters,
                           const std::vector<double>& stamps, const std::vector<double>& afters) {
    double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < stamps.size(); ++k) {
        least = std::max(least, stamps[k] - first_afters[k]);
        most = std::min(most, afters[k] - first_stamps[k]);
    }
    return {(least + most) / 2, std::max(0.0, (most - least) / 2)};
}

ClockOffset clock_offset(kernels::Device& device, kernels::Communicator& world) {
    std::vector<double> stamps, afters;
    for (int round = 0; round < rounds; ++round) {
        stamps.push_back(now(device));
        (void)world.texts(fmt::format("{}", stamps.back()));
        afters.push_back(now(device));
    }
    const auto all_stamps = world.texts(text_of(stamps)), all_afters = world.texts(text_of(afters));
    if (world.rank() == 0) return {};
    return offset_between(values_of(all_stamps[0]), values_of(all_afters[0]), stamps, afters);
}

}  // namespace orrery::run
