#include "kernels/cuda/cudnn_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/device.hpp"

namespace orrery::kernels::cuda {

using cudnn::Class;
using cudnn::Element;
using cudnn::Name;
using cudnn::Type;

std::string last_refusal(const cudnn::Api& api) {
    std::array<char, 8192> text{};  // a stack of refusals, the first engine's first
    api.cudnnGetLastErrorString(text.data(), text.size() - 1);
    return text.data();
}

void check(const cudnn::Api& api, cudnn::Status status, std::string_view doing) {
    if (status != 0)
        throw DeviceError(fmt::format("{}: {} ({})", doing, api.cudnnGetErrorString(status), last_refusal(api)), "");
}

CudnnDescriptor::CudnnDescriptor(const cudnn::Api& api, Class what) : api_(&api), descriptor_(nullptr, Destroy{&api}) {
    cudnn::Descriptor descriptor = nullptr;
    check(api, api.cudnnBackendCreateDescriptor(what, &descriptor), "describing a graph to cuDNN");
    descriptor_.reset(descriptor);
}

bool CudnnDescriptor::finish() { return api_->cudnnBackendFinalize(get()) == 0; }

void CudnnDescriptor::must_finish(std::string_view what) {
    if (!finish())
        throw DeviceError(fmt::format("cuDNN refuses the description of {}: {}", what, last_refusal(*api_)), "");
}

void CudnnDescriptor::set(Name name, Element element, std::size_t count, const void* values) {
    check(*api_, api_->cudnnBackendSetAttribute(get(), name, element, static_cast<std::int64_t>(count), values),
          fmt::format("setting cuDNN's attribute {}", static_cast<int>(name)));
}

void CudnnDescriptor::set(Name name, const CudnnDescriptor& part) { set(name, Element::descriptor, part.get()); }

CudnnGraph::Tensor CudnnGraph::tensor(const Shape& shape, Type type, Place place) {
    auto& descriptor = *tensors_.emplace_back(std::make_unique<CudnnDescriptor>(*api_, Class::tensor));
    const auto number = static_cast<Tensor>(tensors_.size());  // 0 is none's
    descriptor.set(Name::tensor_type, Element::data_type, type);
    descriptor.set(Name::tensor_extents, Element::int64, std::span<const std::int64_t>(shape.extents));
    descriptor.set(Name::tensor_strides, Element::int64, std::span<const std::int64_t>(shape.strides));
    descriptor.set(Name::tensor_number, Element::int64, number);
    descriptor.set(Name::tensor_alignment, Element::int64, std::int64_t{16});
    if (place == Place::virtual_) descriptor.set(Name::tensor_is_virtual, Element::boolean, true);
    if (place == Place::value) descriptor.set(Name::tensor_is_by_value, Element::boolean, true);
    descriptor.must_finish("a tensor");
    return number;
}

CudnnGraph::Tensor CudnnGraph::operand(const Shape& shape, Type type) { return tensor(shape, type, Place::memory); }

CudnnGraph::Tensor CudnnGraph::passing(const Shape& shape, Type type) { return tensor(shape, type, Place::virtual_); }

CudnnGraph::Tensor CudnnGraph::number(float value) {
    const Tensor made = tensor({{1, 1, 1, 1}, {1, 1, 1, 1}}, Type::fp32, Place::value);
    numbers_.push_back({made, value});
    return made;
}

CudnnDescriptor& CudnnGraph::part(Class what) {
    return *parts_.emplace_back(std::make_unique<CudnnDescriptor>(*api_, what));
}

CudnnDescriptor& CudnnGraph::operation(Class what) {
    return *operations_.emplace_back(std::make_unique<CudnnDescriptor>(*api_, what));
}

CudnnGraph::Tensor CudnnGraph::pointwise(cudnn::Pointwise mode, std::initializer_list<Tensor> in, Tensor out, Type math,
                                         std::int64_t axis) {
    CudnnDescriptor& descriptor = part(Class::pointwise);
    descriptor.set(Name::pointwise_mode, Element::pointwise_mode, mode);
    descriptor.set(Name::pointwise_math, Element::data_type, math);
    if (mode == cudnn::Pointwise::index) descriptor.set(Name::pointwise_axis, Element::int64, axis);
    descriptor.must_finish("a pointwise operation");
    CudnnDescriptor& op = operation(Class::pointwise_operation);
    op.set(Name::pointwise_descriptor, descriptor);
    constexpr std::array names{Name::pointwise_x, Name::pointwise_b, Name::pointwise_t};
    for (std::size_t i = 0; i < in.size(); ++i) op.set(names.at(i), at(in.begin()[i]));
    op.set(Name::pointwise_y, at(out));
    op.must_finish("a pointwise operation");
    return out;
}

CudnnGraph::Tensor CudnnGraph::matmul(Tensor a, Tensor b, Tensor out) {
    CudnnDescriptor& descriptor = part(Class::matmul);
    descriptor.set(Name::matmul_math, Element::data_type, Type::fp32);
    descriptor.must_finish("a product");
    CudnnDescriptor& op = operation(Class::matmul_operation);
    op.set(Name::matmul_a, at(a));
    op.set(Name::matmul_b, at(b));
    op.set(Name::matmul_c, at(out));
    op.set(Name::matmul_descriptor, descriptor);
    op.must_finish("a product");
    return out;
}

CudnnGraph::Tensor CudnnGraph::reduce(cudnn::Reduction how, Tensor in, Tensor out) {
    CudnnDescriptor& descriptor = part(Class::reduction);
    descriptor.set(Name::reduction_math, Element::data_type, Type::fp32);
    descriptor.set(Name::reduction_operator, Element::reduction_operator, how);
    descriptor.must_finish("a reduction");
    CudnnDescriptor& op = operation(Class::reduction_operation);
    op.set(Name::reduction_x, at(in));
    op.set(Name::reduction_y, at(out));
    op.set(Name::reduction_descriptor, descriptor);
    op.must_finish("a reduction");
    return out;
}

CudnnGraph::Tensor CudnnGraph::reshape(Tensor in, Tensor out) {
    CudnnDescriptor& op = operation(Class::reshape_operation);
    op.set(Name::reshape_x, at(in));
    op.set(Name::reshape_y, at(out));
    op.must_finish("a reshape");
    return out;
}

std::vector<std::unique_ptr<CudnnDescriptor>> CudnnGraph::offered() const {
    CudnnDescriptor heuristics(*api_, Class::heuristics);
    heuristics.set(Name::heuristics_graph, *graph_);
    heuristics.set(Name::heuristics_mode, Element::heuristics_mode, cudnn::heuristics_mode_a);
    if (!heuristics.finish()) return {};
    const auto ask = [&](std::int64_t room, cudnn::Descriptor* results) {
        std::int64_t count = 0;
        const cudnn::Status status = api_->cudnnBackendGetAttribute(heuristics.get(), Name::heuristics_results,
                                                                    Element::descriptor, room, &count, results);
        return status == 0 ? count : 0;
    };
    std::vector<std::unique_ptr<CudnnDescriptor>> configs;
    std::vector<cudnn::Descriptor> results;
    const std::int64_t room = ask(0, nullptr);
    for (std::int64_t i = 0; i < room; ++i)
        results.push_back(configs.emplace_back(std::make_unique<CudnnDescriptor>(*api_, Class::engine_config))->get());
    configs.resize(static_cast<std::size_t>(std::min(room, ask(room, results.data()))));
    return configs;
}

bool CudnnGraph::plan(cudnn::Handle handle) {
    std::vector<cudnn::Descriptor> operations;
    for (const auto& operation : operations_) operations.push_back(operation->get());
    graph_ = std::make_unique<CudnnDescriptor>(*api_, Class::graph);
    graph_->set(Name::graph_operations, Element::descriptor, std::span<const cudnn::Descriptor>(operations));
    graph_->set(Name::graph_handle, Element::handle, handle);
    if (!graph_->finish()) return false;
    for (auto& config : offered()) {
        auto plan = std::make_unique<CudnnDescriptor>(*api_, Class::plan);
        plan->set(Name::plan_handle, Element::handle, handle);
        plan->set(Name::plan_config, *config);
        if (!plan->finish()) continue;
        std::int64_t bytes = 0, count = 0;
        check(*api_,
              api_->cudnnBackendGetAttribute(plan->get(), Name::plan_workspace, Element::int64, 1, &count, &bytes),
              "asking how much cuDNN works in");
        workspace_bytes_ = static_cast<std::uint64_t>(bytes);
        config_ = std::move(config);
        plan_ = std::move(plan);
        return true;
    }
    return false;
}

void CudnnGraph::run(cudnn::Handle handle, std::span<const At> operands, void* workspace) const {
    std::vector<Tensor> tensors;
    std::vector<const void*> memory;
    const auto give = [&](Tensor tensor, const void* where) {
        tensors.push_back(tensor);
        memory.push_back(where);
    };
    for (const At& at : operands) give(at.tensor, at.memory);
    for (const Number& number : numbers_) give(number.tensor, &number.value);
    CudnnDescriptor pack(*api_, Class::operands);
    pack.set(Name::operand_numbers, Element::int64, std::span<const Tensor>(tensors));
    pack.set(Name::operand_pointers, Element::pointer, std::span<const void* const>(memory));
    pack.set(Name::operand_workspace, Element::pointer, workspace);
    pack.must_finish("operands");
    check(*api_, api_->cudnnBackendExecute(handle, plan_->get(), pack.get()), "launching cuDNN's attention");
}

}  // namespace orrery::kernels::cuda
