#include "report/operations.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "report/operation.hpp"

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

}  // namespace

Json operations(const sim::Prediction& p) {
    Json roles = Json::array(), ranks = Json::array();
    for (const strategies::Program& program : p.program.programs) roles.push_back(columns_of(p.program, program));
    for (const sim::RankClass& rank : p.trace) {
        if (rank.size != 1) throw std::invalid_argument("operations of ranks that stand for others");
        Json begin = Json::array(), end = Json::array();
        for (const sim::Span& span : rank.spans) {
            begin.push_back(span.begin);
            end.push_back(span.end);
        }
        ranks.push_back({{"rank", rank.representative}, {"role", rank.role}, {"begin_s", begin}, {"end_s", end}});
    }
    return {{"names", p.program.names}, {"roles", roles}, {"ranks", ranks}};
}

}  // namespace orrery::report
