// One event of a trace while it is read, and what is kept of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "doors/trace/events.hpp"

namespace orrery::doors::trace {

/// A number or a text.
struct Scalar {
    enum class Kind : std::uint8_t { whole, real, text, other } kind = Kind::other;
    std::int64_t whole = 0;
    std::string_view text;  ///< of a real number its digits, as they stand
};

enum class Field : std::uint8_t { other, phase, category, name, process, thread, begin, duration, arguments };
enum class Argument : std::uint8_t {
    other,
    external,
    correlation,
    device,
    stream,
    sequence,
    dimensions,
    strides,
    types,
    collective,
    elements_in,
    elements_out,
    group,
    dtype,
};
Field field_of(std::string_view key);
Argument argument_of(std::string_view key);

/// Fills up as the text is read.
struct Event {
    Field key = Field::other;
    Argument argument = Argument::other;
    std::string phase, category, name, process, thread;
    std::optional<std::int64_t> begin, duration;  ///< ns
    bool bad_time = false;
    std::int64_t external = -1, correlation = -1, device = 0, stream = 0, sequence = -1;
    std::vector<std::vector<std::int64_t>> dimensions, strides;  ///< by operand
    std::vector<std::string> types;
    Collective asked;

    void set(const Scalar& value);
    void set_argument(const Scalar& value);
    void begin_operand();
    void add_type(const Scalar& value);
    void add_extent(const Scalar& value);

private:
    std::vector<std::vector<std::int64_t>>* extents();
};

/// Puts events into a trace. Throws Error (file, pointer) for those that cannot be true.
class Collector {
public:
    Collector(const std::string& file, Trace& trace) : file_(file), trace_(trace) {}
    void add(const Event& event, std::size_t index);

private:
    std::uint32_t name_of(const std::string& name);
    std::uint32_t thread_of(const Event& event);
    std::uint32_t product_of(const Event& event);
    std::uint32_t collective_of(const Event& event);

    const std::string& file_;
    Trace& trace_;
    std::unordered_map<std::string, std::uint32_t> names_, threads_;
    std::map<Collective, std::uint32_t> collectives_;
};

}  // namespace orrery::doors::trace
