#include "report/operations.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "report/operation.hpp"
#include "strategies/step_program.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;

Json columns_of(const strategies::StepProgram& step, const strategies::Program& program) {
    Json names = Json::array(), phases = Json::array(), kinds = Json::array(), lanes = Json::array(),
         micro_batches = Json::array(), layers = Json::array();
    for (const strategies::Op& op : program.ops) {
        if (std::holds_alternative<strategies::Call>(op.what))
            throw std::invalid_argument("operations of a program with calls");
        names.push_back(op.label.name);
        phases.push_back(name(op.label.phase));
        kinds.push_back(category(step, op));
        lanes.push_back(name(op.lane));
        micro_batches.push_back(op.label.micro_batch);
        layers.push_back(op.label.layer);
    }
    return {{"name", names},  {"phase", phases}, {"kind", kinds}, {"lane", lanes}, {"micro_batch", micro_batches},
            {"layer", layers}};
}

void append_times(std::string& text, const std::vector<sim::Span>& spans, double sim::Span::*time) {
    char before = '[';
    for (const sim::Span& span : spans) {
        if (!std::isfinite(span.*time)) throw std::runtime_error("an operation's time is not finite");
        text += std::exchange(before, ',');
        fmt::format_to(std::back_inserter(text), "{}", span.*time);
    }
    text += spans.empty() ? "[]" : "]";
}

}  // namespace

std::uint64_t operations_bytes(const strategies::StepProgram& step) {
    constexpr std::uint64_t of_times = 40;    // two of some 18 digits
    constexpr std::uint64_t of_columns = 60;  // name, phase, kind, lane, micro-batch and layer
    std::vector<std::uint64_t> ops;
    for (std::uint32_t role = 0; role < step.programs.size(); ++role)
        ops.push_back(strategies::unrolled_ops(step, role));
    std::uint64_t bytes = of_columns * std::accumulate(ops.begin(), ops.end(), std::uint64_t{0});
    for (const std::uint16_t role : step.role) bytes += of_times * ops[role];
    return bytes;
}

void operations(const sim::Step& p, const Sink& write) {
    Json roles = Json::array();
    for (const strategies::Program& program : p.program.programs) roles.push_back(columns_of(p.program, program));
    write(fmt::format("{{\"names\": {}, \"roles\": {}, \"ranks\": [", Json(p.program.names).dump(), roles.dump()));
    std::string text;
    for (const sim::RankClass& rank : p.trace) {
        if (rank.size != 1) throw std::invalid_argument("operations of ranks that stand for others");
        text.assign(&rank == p.trace.data() ? "\n" : ",\n");
        fmt::format_to(std::back_inserter(text), "{{\"rank\": {}, \"role\": {}, \"begin_s\": ", rank.representative,
                       rank.role);
        append_times(text, rank.spans, &sim::Span::begin);
        text += ", \"end_s\": ";
        append_times(text, rank.spans, &sim::Span::end);
        text += '}';
        write(text);
    }
    write("]}");
}

}  // namespace orrery::report
