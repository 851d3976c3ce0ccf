// A graph of the emulated cuDNN as it runs: one tensor after the other, in double precision, rounded as it is written.
#pragma once

#include "tests/emulated/machine/graph_objects.hpp"

namespace orrery::emulated {

/// Bytes that every graph says it works in, and fills.
inline constexpr std::int64_t workspace_bytes = 1000;

struct TensorRun {
    using Values = std::vector<double>;

    std::vector<Operation> operations;
    std::map<std::int64_t, void*> memory;   ///< of operands on the GPU
    std::map<std::int64_t, Values> values;  ///< of the others
    void* workspace = nullptr;

    void run();

private:
    [[nodiscard]] Values read(const Tensor& t) const;
    void write(const Tensor& t, const Values& all);
};

}  // namespace orrery::emulated
