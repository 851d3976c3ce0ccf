// A GPU that runs nothing.
#pragma once

#include "kernels/device.hpp"

namespace orrery::run {

/// A GPU of which nothing is asked but whether it runs a kernel.
class GpuOnPaper final : public kernels::Device {
public:
    [[nodiscard]] const kernels::DeviceFacts& facts() const override { return facts_; }
    [[nodiscard]] bool supports(const kernels::Kernel&) const override { return true; }
    void* allocate(std::uint64_t) override { return nullptr; }
    void release(void*) noexcept override {}
    void* allocate_host(std::uint64_t) override { return nullptr; }
    void release_host(void*) noexcept override {}
    void launch(const kernels::Kernel&, std::span<void* const>, kernels::Stream, const kernels::Settings&) override {}
    void copy(kernels::CopyKind, void*, const void*, std::uint64_t, kernels::Stream) override {}
    void wait(kernels::Stream, kernels::Stream) override {}
    void synchronize() override {}
    Mark mark(kernels::Stream) override { return 0; }
    double seconds(Mark, Mark) override { return 0; }
    void wait_for(kernels::Stream, Mark) override {}
    void finish(Mark) override {}
    double moment(Mark) override { return 0; }
    void forget(std::span<const Mark>) override {}
    kernels::ClockReading clocks() override { return {}; }

private:
    kernels::DeviceFacts facts_{.kind = "cuda", .name = "on paper"};
};

}  // namespace orrery::run
