#include "doors/trace/event_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "doors/trace/product.hpp"

namespace orrery::doors::trace {

namespace {

constexpr std::int64_t ns_of_us = 1000;
/// Microseconds since 1970 until the year 2096: two of them are still a number of ns. Times beyond are none.
constexpr std::int64_t latest_us = 4'000'000'000'000'000;

template <class Value, std::size_t Size>
Value look_up(const std::array<std::pair<std::string_view, Value>, Size>& table, std::string_view key) {
    for (const auto& [name, value] : table)
        if (name == key) return value;
    return {};
}

/// Microseconds as ns, exactly: a double has too few digits for those since 1970 with three behind the point.
std::optional<std::int64_t> nanoseconds(const Scalar& value) {
    if (value.kind == Scalar::Kind::whole)
        return value.whole < 0 || value.whole > latest_us ? std::nullopt : std::optional(value.whole * ns_of_us);
    if (value.kind != Scalar::Kind::real) return std::nullopt;
    long double us = 0;
    const auto [end, error] = std::from_chars(value.text.data(), value.text.data() + value.text.size(), us);
    if (error != std::errc() || !(us >= 0 && us <= static_cast<long double>(latest_us))) return std::nullopt;
    return std::llround(us * ns_of_us);
}

std::string text_of(const Scalar& value) {
    return value.kind == Scalar::Kind::whole ? std::to_string(value.whole) : std::string(value.text);
}

enum class Kept : std::uint8_t { nothing, host, launch, kernel, copy, fill };

/// Kineto's categories; those before PyTorch 1.13 began with capitals ("Operator", "Kernel").
Kept kept(const Event& event) {
    constexpr std::array<std::pair<std::string_view, Kept>, 14> categories{{{"cpu_op", Kept::host},
                                                                            {"Operator", Kept::host},
                                                                            {"operator", Kept::host},
                                                                            {"user_annotation", Kept::host},
                                                                            {"cuda_runtime", Kept::launch},
                                                                            {"Runtime", Kept::launch},
                                                                            {"cuda_driver", Kept::launch},
                                                                            {"kernel", Kept::kernel},
                                                                            {"Kernel", Kept::kernel},
                                                                            {"gpu_memcpy", Kept::copy},
                                                                            {"Memcpy", Kept::copy},
                                                                            {"gpu_memset", Kept::fill},
                                                                            {"Memset", Kept::fill},
                                                                            {"runtime", Kept::launch}}};
    if (event.category == "python_function") return event.name.starts_with("nn.Module: ") ? Kept::host : Kept::nothing;
    return look_up(categories, event.category);
}

constexpr std::size_t most_operands = 16, most_extents = 8;

std::uint32_t small(std::int64_t value) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, std::int64_t{none} - 1));
}

}  // namespace

Field field_of(std::string_view key) {
    constexpr std::array<std::pair<std::string_view, Field>, 8> fields{{{"ph", Field::phase},
                                                                        {"cat", Field::category},
                                                                        {"name", Field::name},
                                                                        {"pid", Field::process},
                                                                        {"tid", Field::thread},
                                                                        {"ts", Field::begin},
                                                                        {"dur", Field::duration},
                                                                        {"args", Field::arguments}}};
    return look_up(fields, key);
}

Argument argument_of(std::string_view key) {
    constexpr std::array<std::pair<std::string_view, Argument>, 16> arguments{
        {{"External id", Argument::external},
         {"external id", Argument::external},
         {"correlation", Argument::correlation},
         {"device", Argument::device},
         {"stream", Argument::stream},
         {"Sequence number", Argument::sequence},
         {"Input Dims", Argument::dimensions},
         {"Input dims", Argument::dimensions},
         {"Input Strides", Argument::strides},
         {"Input type", Argument::types},
         {"Collective name", Argument::collective},
         {"In msg nelems", Argument::elements_in},
         {"Out msg nelems", Argument::elements_out},
         {"Group size", Argument::group},
         {"dtype", Argument::dtype},
         {"Correlation ID", Argument::correlation}}};
    return look_up(arguments, key);
}

void Event::set(const Scalar& value) {
    switch (key) {
        case Field::phase: phase = text_of(value); break;
        case Field::category: category = text_of(value); break;
        case Field::name: name = text_of(value); break;
        case Field::process: process = text_of(value); break;
        case Field::thread: thread = text_of(value); break;
        case Field::begin: begin = nanoseconds(value); break;
        case Field::duration:
            duration = nanoseconds(value);
            bad_time = !duration;
            break;
        default: break;
    }
}

void Event::set_argument(const Scalar& value) {
    const std::int64_t whole = value.kind == Scalar::Kind::whole ? value.whole : -1;
    const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(whole, 0));
    switch (argument) {
        case Argument::external: external = whole; break;
        case Argument::correlation: correlation = whole; break;
        case Argument::device: device = whole; break;
        case Argument::stream: stream = whole; break;
        case Argument::sequence: sequence = whole; break;
        case Argument::collective: asked.kind = text_of(value); break;
        case Argument::elements_in: asked.elements_in = count; break;
        case Argument::elements_out: asked.elements_out = count; break;
        case Argument::group: asked.ranks = small(whole); break;
        case Argument::dtype: asked.dtype = text_of(value); break;
        default: break;
    }
}

/// Null: the argument at hand is no list of an operand's extents.
std::vector<std::vector<std::int64_t>>* Event::extents() {
    if (argument == Argument::strides) return &strides;
    return argument == Argument::dimensions ? &dimensions : nullptr;
}

void Event::begin_operand() {
    auto* const list = extents();
    if (list != nullptr && list->size() < most_operands) list->emplace_back();
}

void Event::add_type(const Scalar& value) {
    if (argument == Argument::types && types.size() < most_operands) types.emplace_back(text_of(value));
}

void Event::add_extent(const Scalar& value) {
    auto* const list = extents();
    if (list != nullptr && !list->empty() && list->back().size() < most_extents && value.kind == Scalar::Kind::whole)
        list->back().push_back(value.whole);
}

std::uint32_t Collector::name_of(const std::string& name) {
    const auto [found, added] = names_.try_emplace(name, static_cast<std::uint32_t>(trace_.names.size()));
    if (added) trace_.names.push_back(name);
    return found->second;
}

std::uint32_t Collector::thread_of(const Event& event) {
    const auto number = static_cast<std::uint32_t>(threads_.size());
    return threads_.try_emplace(event.process + '/' + event.thread, number).first->second;
}

std::uint32_t Collector::product_of(const Event& event) {
    const auto product = product_in({event.name, event.dimensions, event.strides, event.types});
    if (!product) return none;
    if (trace_.products.empty() || !(trace_.products.back() == *product)) trace_.products.push_back(*product);
    return static_cast<std::uint32_t>(trace_.products.size() - 1);
}

std::uint32_t Collector::collective_of(const Event& event) {
    if (event.asked.kind.empty()) return none;
    const auto number = static_cast<std::uint32_t>(trace_.collectives.size());
    const auto [found, added] = collectives_.try_emplace(event.asked, number);
    if (added) trace_.collectives.push_back(event.asked);
    return found->second;
}

void Collector::add(const Event& event, std::size_t index) {
    if (event.phase != "X") return;
    const Kept what = kept(event);
    if (what == Kept::nothing) return;
    if (!event.begin || event.bad_time)
        throw Error(file_, fmt::format("/traceEvents/{}/{}", index, event.begin ? "dur" : "ts"),
                    "is no time in microseconds", "the trace is damaged: record it anew");
    if (trace_.host.size() + trace_.launches.size() + trace_.device.size() >= most_events)
        throw Error(file_, fmt::format("/traceEvents/{}", index),
                    fmt::format("has more than {} operators, calls and kernels before it", most_events),
                    "profile fewer steps: torch.profiler.schedule(active=2)");
    const std::int64_t begin = *event.begin, end = begin + event.duration.value_or(0);
    if (what == Kept::launch) {
        if (event.correlation >= 0) trace_.launches.push_back({begin, event.correlation, thread_of(event)});
    } else if (what == Kept::host) {
        trace_.host.push_back(
            {begin, end, name_of(event.name), thread_of(event), event.sequence, event.external, product_of(event)});
    } else {
        const Activity activity = what == Kept::copy   ? Activity::copy
                                  : what == Kept::fill ? Activity::fill
                                                       : Activity::kernel;
        trace_.device.push_back({begin, end, event.correlation, event.external, name_of(event.name),
                                 small(event.device), small(event.stream), activity, collective_of(event)});
    }
}

}  // namespace orrery::doors::trace
