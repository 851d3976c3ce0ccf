#include "run/transients.hpp"

#include <stdexcept>

namespace orrery::run {

using namespace strategies;

Transients::Transients(const Program& program, const Parameters& parameters, Arena& arena)
    : program_(program), parameters_(parameters), arena_(arena) {
    for (const Op& op : program.ops) {
        if (op.state == no_state || program.state_details[op.state].operands.empty()) continue;
        const StateView& taken = program.state_details[op.state].operands.front();
        if (taken.state == State::formed && taken.portion == Portion::kept)
            forms_[program.reads(op).front()] = taken.bucket;
    }
}

std::vector<Stretch> Transients::enter(const Op& call) {
    weights_.clear();
    gradients_.clear();
    version_ = call.state == no_state ? 0 : program_.state_details[call.state].operands.front().version;
    std::vector<Stretch> zeros;
    for (const BufferId id : program_.reads(call))
        if (const auto found = gathered_.find(id); found != gathered_.end())
            for (const auto& [unit, tensor] : found->second) weights_[unit] = tensor;
    for (const BufferId id : program_.writes(call)) {
        const auto forms = forms_.find(id);
        if (forms == forms_.end()) continue;
        const Elements& sums = parameters_.gradients();
        Tensor& tensor = formed_[id];
        if (!tensor) {
            const std::uint64_t elements = parameters_.bucket(forms->second).elements();
            tensor = arena_.take(sums.bytes(elements));
            zeros.push_back({{arena_.at(tensor), sums.dtype}, elements});
        }
        gradients_[forms->second] = tensor;
    }
    return zeros;
}

void* Transients::weight(std::uint64_t element) {
    const std::uint32_t number = parameters_.unit_of(element);
    const Unit& unit = parameters_.units()[number];
    if (!unit.shares_weights) return parameters_.at(State::weights, unit, element, version_);
    const auto found = weights_.find(number);
    if (found == weights_.end()) throw std::logic_error("a call reads weights that nothing has gathered");
    return Elements{arena_.at(found->second), parameters_.weights().dtype}.at(element - unit.begin);
}

void* Transients::gradient(std::uint64_t element) {
    const Unit& unit = parameters_.units()[parameters_.unit_of(element)];
    const auto found = gradients_.find(unit.bucket);
    if (found == gradients_.end()) {
        if (unit.shares_gradients) throw std::logic_error("a call forms gradients that nothing scatters");
        return parameters_.at(State::gradients, unit, element);
    }
    const std::uint64_t first = parameters_.bucket(unit.bucket).begin;
    return Elements{arena_.at(found->second), parameters_.gradients().dtype}.at(element - first);
}

std::vector<Stretch> Transients::gathered(const Op& op, const StateView& view) {
    const Elements& weights = parameters_.weights();
    std::map<std::uint32_t, Tensor>& tensors = gathered_[program_.writes(op).front()];
    std::vector<Stretch> list;
    for (const std::uint32_t number : parameters_.units_of(view)) {
        const std::uint64_t elements = parameters_.units()[number].elements();
        const Tensor& tensor = tensors[number] = arena_.take(weights.bytes(elements));
        list.push_back({{arena_.at(tensor), weights.dtype}, elements});
    }
    return list;
}

/// Parts of the bucket whose gradients the scatter reads, or has read.
std::vector<Stretch> Transients::parts_of_formed(const Op& op) {
    const BufferId from = program_.reads(op).front();
    const bool there = parts_.contains(from);
    const BufferId id = there ? from : program_.writes(op).front();
    std::vector<Tensor>& parts = parts_[id];
    const std::uint32_t bucket = program_.state_details[op.state].operands.front().bucket;
    std::vector<Stretch> list = parameters_.stretches({State::gradients, Portion::updated, bucket});
    parts.resize(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!there) parts[i] = arena_.take(list[i].at.bytes(list[i].elements));
        list[i].at.memory = arena_.at(parts[i]);
    }
    return list;
}

std::vector<Stretch> Transients::formed(const Op& op, Portion portion) {
    if (portion == Portion::updated) return parts_of_formed(op);
    const BufferId id = program_.reads(op).front();
    const std::uint32_t bucket = forms_.at(id);
    const Elements whole{arena_.at(formed_.at(id)), parameters_.gradients().dtype};
    std::vector<Stretch> list;
    for (const Unit& unit : parameters_.units())
        if (unit.bucket == bucket)
            list.push_back({{whole.at(unit.begin - parameters_.bucket(bucket).begin), whole.dtype}, unit.elements()});
    return list;
}

void Transients::gone(BufferId buffer) {
    gathered_.erase(buffer);
    formed_.erase(buffer);
    parts_.erase(buffer);
}

}  // namespace orrery::run
