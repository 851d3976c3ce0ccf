// Convolutions: those of residual networks, and what other networks have beside them, each in its three passes.
#include "calibrate/suite/suite.hpp"
#include "kernels/operands.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Convolution;
using kernels::GemmPass;

constexpr double cpu_flops = 20e9, gpu_flops = 200e12;

bool affordable(const Bench& bench, const Convolution& c) {
    const double rate = bench.is_cpu() ? cpu_flops * bench.device->facts().multiprocessors : gpu_flops;
    return kernels::flops(c) / rate < bench.seconds_per_point / 2 && kernels::footprint(c) < bench.most_bytes() &&
           bench.device->supports(c);
}

struct Shape {
    std::uint32_t channels, image, outputs, kernel, stride, groups;
};

/// Stages of a ResNet (He et al. 2016, table 1): its first convolution; 1 x 1, 3 x 3, 1 x 1 and the shortcut of each
/// width; then VGG's wide 3 x 3 at full resolution, ViT's patches, and MobileNet's depthwise ones.
constexpr Shape shapes[] = {
    {64, 56, 64, 3, 1, 1},   {256, 14, 256, 3, 1, 1},  {256, 14, 1024, 1, 1, 1},  {64, 56, 256, 1, 1, 1},
    {3, 224, 64, 7, 2, 1},   {128, 28, 128, 3, 1, 1},  {512, 7, 512, 3, 1, 1},    {1024, 14, 256, 1, 1, 1},
    {128, 28, 512, 1, 1, 1}, {512, 28, 128, 1, 1, 1},  {256, 56, 64, 1, 1, 1},    {512, 7, 2048, 1, 1, 1},
    {2048, 7, 512, 1, 1, 1}, {256, 56, 512, 1, 2, 1},  {512, 28, 1024, 1, 2, 1},  {1024, 14, 2048, 1, 2, 1},
    {128, 56, 128, 3, 2, 1}, {256, 28, 256, 3, 2, 1},  {512, 14, 512, 3, 2, 1},   {64, 224, 64, 3, 1, 1},
    {512, 14, 512, 3, 1, 1}, {3, 224, 768, 16, 16, 1}, {256, 28, 256, 3, 1, 256}, {256, 56, 256, 3, 1, 32},
};

}  // namespace

std::vector<Subject> convolution_grid(const Bench& bench) {
    std::vector<Subject> out;
    const auto batches = bench.is_cpu() ? std::vector<std::uint32_t>{4, 1, 16} : std::vector<std::uint32_t>{64, 8, 256};
    for (const std::uint32_t batch : batches)
        for (const Shape& s : shapes)
            for (const GemmPass pass : {GemmPass::forward, GemmPass::data_gradient, GemmPass::weight_gradient}) {
                if (s.channels == 3 && pass == GemmPass::data_gradient) continue;  // nobody takes an image's gradient
                const Convolution c{.dtype = bench.dtypes.front(),
                                    .pass = pass,
                                    .batch = batch,
                                    .channels = s.channels,
                                    .rows = s.image,
                                    .columns = s.image,
                                    .outputs = s.outputs,
                                    .kernel_rows = s.kernel,
                                    .kernel_columns = s.kernel,
                                    .stride = s.stride,
                                    .padding = s.kernel == s.stride ? 0 : s.kernel / 2,
                                    .groups = s.groups};
                if (affordable(bench, c)) out.emplace_back(kernels::Kernel(c));
            }
    return out;
}

}  // namespace orrery::calibrate
