#include "base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <system_error>

#include "base/error.hpp"

namespace orrery {

namespace {

/// A unit is times / over of the base unit: two integers, so that "2 us" is exactly 2 / 10^6.
struct Unit {
    std::string_view name;
    std::uint64_t times = 1, over = 1;
};

constexpr std::array<Unit, 11> prefixes{{{"", 1},
                                         {"k", 1'000},
                                         {"M", 1'000'000},
                                         {"G", 1'000'000'000},
                                         {"T", 1'000'000'000'000},
                                         {"P", 1'000'000'000'000'000},
                                         {"Ki", 1ULL << 10},
                                         {"Mi", 1ULL << 20},
                                         {"Gi", 1ULL << 30},
                                         {"Ti", 1ULL << 40},
                                         {"Pi", 1ULL << 50}}};

/// One kind of quantity: its units, whether they take the prefixes above, and how messages name them.
struct Dimension {
    std::string_view what;
    std::span<const Unit> units;
    bool prefixed;
    std::string_view known;
};

constexpr std::array<Unit, 1> size_units{{{"B"}}};
constexpr std::array<Unit, 2> rate_units{{{"b/s", 1, 8}, {"B/s"}}};
constexpr std::array<Unit, 8> time_units{{{"ns", 1, 1'000'000'000},
                                          {"us", 1, 1'000'000},
                                          {"ms", 1, 1'000},
                                          {"s"},
                                          {"min", 60},
                                          {"h", 3600},
                                          {"day", 86400},
                                          {"days", 86400}}};

constexpr Dimension size{"a size in bytes", size_units, true, "B, kB, MB, GB, TB, PB or KiB, MiB, GiB, TiB, PiB"};
constexpr Dimension rate{"a rate in bits or bytes per second", rate_units, true,
                         "b/s, kb/s, Mb/s, Gb/s, Tb/s (bits) or B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s"};
constexpr Dimension duration{"a time", time_units, false, "ns, us, ms, s, min, h, days"};

[[noreturn]] void refuse(std::string_view text, std::string_view why, const Dimension& dimension) {
    throw Error(fmt::format("{:?} is not {}: {}", text, dimension.what, why),
                fmt::format("write a number and one of the units {}", dimension.known));
}

std::optional<Unit> find_unit(std::string_view name, const Dimension& dimension) {
    for (const Unit& unit : dimension.units) {
        if (!name.ends_with(unit.name)) continue;
        const std::string_view prefix = name.substr(0, name.size() - unit.name.size());
        for (const Unit& p : prefixes)
            if (p.name == prefix && (dimension.prefixed || prefix.empty()))
                return Unit{name, p.times * unit.times, unit.over};
    }
    return std::nullopt;
}

/// "400 Gb/s" taken apart: the number's own text, its value and its unit.
struct Quantity {
    std::string_view digits;
    double number;
    Unit unit;
    [[nodiscard]] double value() const {
        return number * static_cast<double>(unit.times) / static_cast<double>(unit.over);
    }
};

Quantity split(std::string_view text, const Dimension& dimension) {
    double number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status == std::errc::invalid_argument) refuse(text, "it does not begin with a number", dimension);
    if (status == std::errc::result_out_of_range) refuse(text, "the number is out of range", dimension);
    if (!std::isfinite(number)) refuse(text, "the number is not finite", dimension);
    if (std::signbit(number)) refuse(text, "the number is negative", dimension);
    const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
    std::string_view name = text.substr(digits.size());
    while (name.starts_with(' ')) name.remove_prefix(1);
    if (name.empty()) refuse(text, "the unit is missing", dimension);
    const auto unit = find_unit(name, dimension);
    if (!unit) refuse(text, fmt::format("unknown unit {:?}", name), dimension);
    return {digits, number, *unit};
}

double parse_positive(std::string_view text, const Dimension& dimension) {
    const double value = split(text, dimension).value();
    if (!std::isfinite(value)) refuse(text, "the number is out of range", dimension);
    if (value <= 0) refuse(text, "it must be more than zero", dimension);
    return value;
}

double number_in(std::string_view text) {
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

/// value to three significant digits (more where it has more before the point), as printed, and the
/// number that the printed text stands for.
struct Digits {
    explicit Digits(double value) : text(fmt::format("{:.2e}", value)) {
        const double r = std::abs(number_in(text));
        const int decimals = r >= 100 ? 0 : r >= 10 ? 1 : r >= 1 ? 2 : r >= 0.1 ? 3 : 4;
        if (r >= 0.01 && r < 1e6) text = fmt::format("{:.{}f}", value, decimals);
        rounded = number_in(text);
    }
    std::string text;
    double rounded = 0;
};

/// A unit to print in: used while the rounded number of them stays below the limit.
struct Step {
    std::string_view suffix;
    double size, limit;
};

/// value in the first unit whose limit it stays under; not for zero, which has no natural unit.
std::string format_in(std::span<const Step> steps, double value) {
    for (const Step& step : steps) {
        Digits digits(value / step.size);
        if (std::abs(digits.rounded) < step.limit || &step == &steps.back()) return digits.text.append(step.suffix);
    }
    return {};
}

constexpr double unlimited = std::numeric_limits<double>::infinity();

}  // namespace

std::uint64_t parse_bytes(std::string_view text) {
    constexpr std::uint64_t most = std::uint64_t{1} << 63;
    const Quantity quantity = split(text, size);
    const char* const end = quantity.digits.data() + quantity.digits.size();
    std::uint64_t whole = 0, product = 0;
    const auto [stop, status] = std::from_chars(quantity.digits.data(), end, whole);
    const bool integer = stop == end && status == std::errc{};  // then no bit is lost, whatever the size
    if (integer ? __builtin_mul_overflow(whole, quantity.unit.times, &product) || product > most
                : quantity.value() > static_cast<double>(most))
        refuse(text, "it is more than 2^63 bytes", size);
    return integer ? product : static_cast<std::uint64_t>(std::round(quantity.value()));
}

double parse_bytes_per_second(std::string_view text) { return parse_positive(text, rate); }

double parse_seconds(std::string_view text) {
    const double value = split(text, duration).value();
    if (!std::isfinite(value)) refuse(text, "the number is out of range", duration);
    return value;
}

std::string format_seconds(double seconds) {
    static constexpr std::array<Step, 7> steps{{{" ns", 1e-9, 1000},
                                                {" us", 1e-6, 1000},
                                                {" ms", 1e-3, 1000},
                                                {" s", 1, 1000},
                                                {" min", 60, 100},
                                                {" h", 3600, 100},
                                                {" days", 86400, unlimited}}};
    return seconds == 0 ? "0 s" : format_in(steps, seconds);
}

std::string format_bytes(double bytes) {
    static constexpr std::array<Step, 5> steps{{{" KiB", 0x1p10, 1024},
                                                {" MiB", 0x1p20, 1024},
                                                {" GiB", 0x1p30, 1024},
                                                {" TiB", 0x1p40, 1024},
                                                {" PiB", 0x1p50, unlimited}}};
    const double whole = std::round(bytes);
    if (whole == 0) return "0 B";
    return std::abs(whole) < 1024 ? fmt::format("{:.0f} B", whole) : format_in(steps, bytes);
}

std::string format_relative(double share) { return fmt::format("{:+.1f}%", 100 * share); }

std::string format_count(double value) {
    static constexpr std::array<Step, 5> steps{
        {{"", 1, 1000}, {"k", 1e3, 1000}, {"M", 1e6, 1000}, {"B", 1e9, 1000}, {"T", 1e12, unlimited}}};
    if (value == 0) return "0";
    const bool small_whole = std::abs(value) < 1000 && value == std::round(value);
    return small_whole ? fmt::format("{:.0f}", value) : format_in(steps, value);
}

std::string format_grouped(std::uint64_t value) {
    std::string text = std::to_string(value);
    for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
    return text;
}

}  // namespace orrery
