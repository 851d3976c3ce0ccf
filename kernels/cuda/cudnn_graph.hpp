// A graph of operations on tensors of four extents that cuDNN runs as one kernel, or a few.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cuda/cudnn_api.hpp"

namespace orrery::kernels::cuda {

/// cuDNN's own words on why the last call of this thread failed.
std::string last_refusal(const cudnn::Api& api);
/// Throws DeviceError when status is an error.
void check(const cudnn::Api& api, cudnn::Status status, std::string_view doing);

/// An object of cuDNN's, described by attributes.
class CudnnDescriptor {
public:
    CudnnDescriptor(const cudnn::Api& api, cudnn::Class what);
    /// The description is whole. False: cuDNN does not support what it says.
    [[nodiscard]] bool finish();
    /// The same of what cuDNN must support. Throws DeviceError with its words when it does not. what: "a product".
    void must_finish(std::string_view what);
    [[nodiscard]] cudnn::Descriptor get() const { return descriptor_.get(); }

    template <class T>
    void set(cudnn::Name name, cudnn::Element element, std::span<const T> values) {
        set(name, element, values.size(), values.data());
    }
    template <class T>
    void set(cudnn::Name name, cudnn::Element element, const T& value) {
        set(name, element, 1, &value);
    }
    void set(cudnn::Name name, const CudnnDescriptor& part);

private:
    struct Destroy {
        const cudnn::Api* api;
        void operator()(cudnn::Descriptor descriptor) const { api->cudnnBackendDestroyDescriptor(descriptor); }
    };
    void set(cudnn::Name name, cudnn::Element element, std::size_t count, const void* values);

    const cudnn::Api* api_;
    std::unique_ptr<void, Destroy> descriptor_;
};

/// Operations are added in an order in which they could run; plan() ends it.
class CudnnGraph {
public:
    struct Shape {
        std::array<std::int64_t, 4> extents, strides;  ///< elements
    };
    /// A tensor of this graph, by its number, from 1 on.
    using Tensor = std::int64_t;

    explicit CudnnGraph(const cudnn::Api& api) : api_(&api) {}

    /// In a GPU's memory, at a multiple of 16 bytes that each run tells.
    Tensor operand(const Shape& shape, cudnn::Type type);
    /// Between two operations.
    Tensor passing(const Shape& shape, cudnn::Type type = cudnn::Type::fp32);
    /// The same in every run.
    Tensor number(float value);

    // Each returns what it wrote: `out`.
    /// in: x, x and b, or x, b and t. axis: of an index.
    Tensor pointwise(cudnn::Pointwise mode, std::initializer_list<Tensor> in, Tensor out,
                     cudnn::Type math = cudnn::Type::fp32, std::int64_t axis = -1);
    /// [., ., m, k] x [., ., k, n] -> [., ., m, n]; where b has fewer matrices, each serves as many of a's in turn.
    Tensor matmul(Tensor a, Tensor b, Tensor out);
    /// Along what has an extent of 1 in `out`; fewer heads there: over those that share one.
    Tensor reduce(cudnn::Reduction how, Tensor in, Tensor out);
    /// The same elements, as the strides of `out` find them.
    Tensor reshape(Tensor in, Tensor out);

    /// Takes the first engine of cuDNN's heuristic that is offered and can be built. False: there is none.
    [[nodiscard]] bool plan(cudnn::Handle handle);
    /// Device memory that a run works in.
    [[nodiscard]] std::uint64_t workspace_bytes() const { return workspace_bytes_; }

    struct At {
        Tensor tensor;
        void* memory;
    };
    /// operands: where each is. Queued on the stream of the handle that it was planned with.
    void run(cudnn::Handle handle, std::span<const At> operands, void* workspace) const;

private:
    enum class Place : std::uint8_t { memory, virtual_, value };
    Tensor tensor(const Shape& shape, cudnn::Type type, Place place);
    /// Engines that are offered for graph_, the fastest first.
    [[nodiscard]] std::vector<std::unique_ptr<CudnnDescriptor>> offered() const;
    CudnnDescriptor& part(cudnn::Class what);
    CudnnDescriptor& operation(cudnn::Class what);
    [[nodiscard]] const CudnnDescriptor& at(Tensor tensor) const {
        return *tensors_[static_cast<std::size_t>(tensor - 1)];
    }

    const cudnn::Api* api_;
    std::vector<std::unique_ptr<CudnnDescriptor>> tensors_, parts_, operations_;
    struct Number {
        Tensor tensor;
        float value;
    };
    std::deque<Number> numbers_;  ///< where runs read them
    std::unique_ptr<CudnnDescriptor> graph_, config_, plan_;
    std::uint64_t workspace_bytes_ = 0;
};

}  // namespace orrery::kernels::cuda
