#include "run/bind.hpp"

#include <utility>

namespace orrery::run {

using kernels::CollectiveKind;

Action in_order(std::vector<Action> actions) {
    return [actions = std::move(actions)](kernels::Stream stream) {
        for (const Action& action : actions) action(stream);
    };
}

Action Bind::launch(const kernels::Kernel& kernel, std::vector<void*> operands,
                    const kernels::Settings& settings) const {
    return [&on = device, kernel, operands = std::move(operands), settings](kernels::Stream stream) {
        on.launch(kernel, operands, stream, settings);
    };
}

Action Bind::copy(void* to, const void* from, std::uint64_t bytes) const {
    return [&on = device, to, from, bytes](kernels::Stream stream) {
        on.copy(kernels::CopyKind::device_to_device, to, from, bytes, stream);
    };
}

Action Bind::collective(const strategies::Collective& what, strategies::Lane lane, const void* send, void* receive,
                        kernels::Dtype dtype, kernels::Reduction reduction) const {
    kernels::Communicator* const group = groups.of(what.group, lane);
    if (group == nullptr) {
        if (send == receive) return [](kernels::Stream) {};
        return copy(receive, send, what.bytes);
    }
    return [group, what, send, receive, dtype, reduction](kernels::Stream stream) {
        group->run(what.kind, send, receive, what.bytes, dtype, stream, reduction);
    };
}

Action reduce(Bind& bind, const Site& site, Tensor& tensor) {
    if (site.collective->kind == CollectiveKind::all_reduce)
        return bind.collective(*site.collective, site.lane, bind.at(tensor), bind.at(tensor));
    const Tensor rows = bind.arena.take(site.collective->bytes / bind.place.plan.strategy.tensor);
    Action action = bind.collective(*site.collective, site.lane, bind.at(tensor), bind.at(rows));
    tensor = rows;
    return action;
}

Action gather(Bind& bind, const Site& site, const Tensor& rows, Tensor& whole) {
    whole = bind.arena.take(site.collective->bytes);
    return bind.collective(*site.collective, site.lane, bind.at(rows), bind.at(whole));
}

Action weight_gradient(Bind& bind, const Site& site, const Tensor& dy, const Tensor& x, const std::string& weight,
                       Tensor* separate) {
    kernels::Gemm gemm = std::get<kernels::Gemm>(*site.kernel);
    std::swap(gemm.m, gemm.n);
    kernels::Settings settings = bind.into_gradients();
    void* result = bind.parameters.gradient(weight);
    if (separate != nullptr) {
        settings.accumulate = false;
        const std::uint64_t elements = std::uint64_t{gemm.batch} * gemm.m * gemm.n;
        *separate = bind.arena.take(bind.parameters.gradients().bytes(elements));
        result = bind.at(*separate);
    }
    return bind.launch(gemm, {bind.at(dy), bind.at(x), result}, settings);
}

}  // namespace orrery::run
