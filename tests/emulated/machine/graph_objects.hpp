// What is described to the emulated cuDNN: objects with attributes, and tensors and operations as they say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "kernels/cuda/cudnn_api.hpp"
#include "kernels/number_format.hpp"

namespace orrery::emulated {

namespace cudnn = kernels::cuda::cudnn;

/// Of any class: its attributes, each as the elements that were set.
struct Object {
    cudnn::Class what;
    bool finished = false;
    bool is_unbuildable = false;  ///< of an engine
    struct Attribute {
        cudnn::Element element;
        std::vector<std::byte> bytes;
    };
    std::map<cudnn::Name, Attribute> attributes = {};

    [[nodiscard]] bool has(cudnn::Name name) const { return attributes.contains(name); }
    template <class T>
    [[nodiscard]] std::vector<T> all(cudnn::Name name) const {
        const std::vector<std::byte>& bytes = attributes.at(name).bytes;
        std::vector<T> values(bytes.size() / sizeof(T));
        std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
        return values;
    }
    template <class T>
    [[nodiscard]] T one(cudnn::Name name) const {
        return all<T>(name).at(0);
    }
    [[nodiscard]] bool is(cudnn::Name name) const {
        return has(name) && attributes.at(name).bytes.at(0) != std::byte{0};
    }
    [[nodiscard]] const Object& part(cudnn::Name name) const { return *one<const Object*>(name); }
};

using Extents = std::array<std::int64_t, 4>;

struct Tensor {
    Extents extents, strides;
    cudnn::Type type;
    std::int64_t number;

    explicit Tensor(const Object& o)
        : extents(four(o, cudnn::Name::tensor_extents)),
          strides(four(o, cudnn::Name::tensor_strides)),
          type(o.one<cudnn::Type>(cudnn::Name::tensor_type)),
          number(o.one<std::int64_t>(cudnn::Name::tensor_number)) {}
    static Extents four(const Object& o, cudnn::Name name) {
        const std::vector<std::int64_t> values = o.all<std::int64_t>(name);
        return {values.at(0), values.at(1), values.at(2), values.at(3)};
    }

    [[nodiscard]] std::size_t elements() const {
        return static_cast<std::size_t>(extents[0] * extents[1] * extents[2] * extents[3]);
    }
    /// In the order of its extents, whatever the strides.
    template <class Use>
    void each(const Use& use) const {
        std::size_t i = 0;
        for (std::int64_t a = 0; a < extents[0]; ++a)
            for (std::int64_t b = 0; b < extents[1]; ++b)
                for (std::int64_t c = 0; c < extents[2]; ++c)
                    for (std::int64_t d = 0; d < extents[3]; ++d) use(i++, Extents{a, b, c, d});
    }
    [[nodiscard]] std::size_t offset(const Extents& at) const {
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < 4; ++k) sum += at[k] * strides[k];
        return static_cast<std::size_t>(sum);
    }
    /// Of the element of `at` in this tensor, where an extent of 1 serves all, and fewer heads several in turn.
    [[nodiscard]] std::size_t serving(const Extents& at, const Extents& of) const {
        std::size_t i = 0;
        for (std::size_t k = 0; k < 4; ++k)
            i = i * static_cast<std::size_t>(extents[k]) + static_cast<std::size_t>(at[k] * extents[k] / of[k]);
        return i;
    }
    [[nodiscard]] std::size_t span() const {
        return offset({extents[0] - 1, extents[1] - 1, extents[2] - 1, extents[3] - 1}) + 1;
    }
    [[nodiscard]] kernels::Format format() const {
        switch (type) {
            case cudnn::Type::fp16: return kernels::Format::fp16;
            case cudnn::Type::bf16: return kernels::Format::bf16;
            case cudnn::Type::int32: return kernels::Format::int32;
            case cudnn::Type::boolean: return kernels::Format::mask;
            case cudnn::Type::fp32: break;
        }
        return kernels::Format::fp32;
    }
    [[nodiscard]] std::size_t bytes() const { return span() * kernels::size_of(format()); }
};

/// An operation of a graph.
struct Operation {
    const Object* object;
    [[nodiscard]] std::vector<cudnn::Name> reads() const;
    [[nodiscard]] cudnn::Name writes() const;
    /// Whether the extents of what it reads and writes go together.
    [[nodiscard]] bool fits() const;
};

}  // namespace orrery::emulated
