#include "calibrate/measure/check_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/overloaded.hpp"
#include "calibrate/measure/block.hpp"
#include "calibrate/measure/training_launch.hpp"
#include "kernels/verify.hpp"

namespace orrery::calibrate {

namespace {

using kernels::CollectiveKind;
using kernels::CopyKind;

constexpr std::uint64_t verify_seed = 11;

template <class Size>
Size cut(Size size, Size most) {
    return size <= most ? size : most - 64 + size % 64;
}

float sent(std::uint32_t rank, std::uint64_t i) { return static_cast<float>(rank + 1 + i % 7); }

/// Element i of what a rank receives; block: elements of one rank's part.
float expected(CollectiveKind kind, std::uint32_t rank, std::uint32_t ranks, std::uint64_t i, std::uint64_t block) {
    const auto sum = [&](std::uint64_t at) {
        return static_cast<float>(ranks * (ranks + 1ULL) / 2 + ranks * (at % 7));
    };
    switch (kind) {
        case CollectiveKind::all_reduce: return sum(i);
        case CollectiveKind::reduce_scatter: return sum(rank * block + i);
        case CollectiveKind::all_gather: return sent(static_cast<std::uint32_t>(i / block), i % block);
        case CollectiveKind::all_to_all: return sent(static_cast<std::uint32_t>(i / block), rank * block + i % block);
        case CollectiveKind::broadcast: return sent(0, i);
        case CollectiveKind::send_recv: return sent((rank + ranks - 1) % ranks, i);
    }
    return 0;
}

}  // namespace

kernels::Kernel reduced(const kernels::Kernel& kernel) {
    return std::visit(Overloaded{[](kernels::Gemm g) -> kernels::Kernel {
                                     g.batch = std::min(g.batch, 2U);
                                     g.m = cut(g.m, 192U), g.n = cut(g.n, 192U), g.k = cut(g.k, 256U);
                                     return g;
                                 },
                                 [](kernels::Attention a) -> kernels::Kernel {
                                     a.batch = 1;
                                     const bool square = a.keys() == a.seq;
                                     a.key_seq = square ? 0 : cut(a.key_seq, 256U);
                                     a.seq = cut(a.seq, 192U);
                                     a.window = std::min(a.window, 96U);
                                     return a;
                                 },
                                 [](kernels::Pointwise p) -> kernels::Kernel {
                                     constexpr std::uint64_t whole_row = 1U << 17U;
                                     if (p.rows == 1) p.cols = cut(p.cols, whole_row);  // all parameters as one row
                                     p.rows = std::min<std::uint64_t>(p.rows, 8);  // even: permute takes pairs of rows
                                     return p;
                                 },
                                 [](kernels::Convolution c) -> kernels::Kernel {
                                     c.batch = std::min(c.batch, 2U);
                                     return c;
                                 },
                                 [](kernels::Pooling p) -> kernels::Kernel {
                                     p.batch = std::min(p.batch, 2U);
                                     return p;
                                 },
                                 [](kernels::BatchNorm b) -> kernels::Kernel {
                                     b.rows = std::min<std::uint64_t>(b.rows, 4096);
                                     return b;
                                 },
                                 [](kernels::StateSpace s) -> kernels::Kernel { return s; }},
                      kernel);
}

std::string kernel_fault(kernels::Device& device, const kernels::Kernel& kernel) {
    // What is launched in another order has another contract; of its settings a reference knows nothing.
    const bool known = device.supports(kernel);
    const kernels::Verification found =
        kernels::verify(device, known ? kernel : training_launch(kernel).kernel, verify_seed);
    return found.passed() ? "" : fmt::format("wrong result of {}: {}", kernels::to_text(kernel), found.to_text());
}

std::string collective_fault(kernels::Device& device, kernels::Communicator& communicator,
                             const CollectiveShape& shape) {
    const std::uint32_t rank = communicator.rank(), ranks = communicator.ranks();
    const std::uint64_t send = kernels::send_bytes(shape.kind, shape.bytes, ranks),
                        receive = kernels::receive_bytes(shape.kind, shape.bytes, ranks);
    std::vector<float> out(send / sizeof(float)), in(receive / sizeof(float), -1.0F);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = sent(rank, i);
    const Block from(device, send), to(device, receive);
    device.copy(CopyKind::host_to_device, from.at(0), out.data(), send, 0);
    device.copy(CopyKind::host_to_device, to.at(0), in.data(), receive, 0);
    device.synchronize();
    communicator.run(shape.kind, from.at(0), to.at(0), shape.bytes, kernels::Dtype::fp32, 0);
    device.synchronize();
    device.copy(CopyKind::device_to_host, in.data(), to.at(0), receive, 0);
    device.synchronize();
    const std::uint64_t block = shape.bytes / sizeof(float) / ranks;
    double wrong = 0;
    for (std::size_t i = 0; i < in.size(); ++i) wrong += in[i] == expected(shape.kind, rank, ranks, i, block) ? 0 : 1;
    wrong = communicator.maximum(wrong);
    return wrong == 0 ? ""
                      : fmt::format("wrong result of {}: {:.0f} elements on one rank", to_text(Subject(shape)), wrong);
}

}  // namespace orrery::calibrate
