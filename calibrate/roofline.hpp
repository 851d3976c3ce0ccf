// Lower bounds on kernel times from a device's datasheet: what the tables are interpolated relative to.
#pragma once

#include <map>
#include <string>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// The datasheet numbers of a profile. Optional constants fall back as said beside each field.
struct Machine {
    double half_flops = 0;        ///< peak_half_flops
    double fp16_flops = 0;        ///< half_flops; of a CPU, which computes it in fp32, single_flops
    double fp8_flops = 0;         ///< peak_fp8_flops; peak_half_flops when the device has no fp8
    double fp4_flops = 0;         ///< peak_fp4_flops; fp8_flops when the device has no fp4
    double tf32_flops = 0;        ///< peak_tf32_flops; peak_single_flops when the device has no tf32
    double single_flops = 0;      ///< peak_single_flops; 1/16 of the half peak (A100: 19.5 of 312 TFLOP/s)
    double bytes_per_second = 0;  ///< memory_bytes_per_second
    double multiprocessors = 0;   ///< multiprocessors; 0: unknown, no waves
    bool tile_waves = false;      ///< tile_waves present: GEMM output tiles run in whole waves
    explicit Machine(const std::map<std::string, Constant>& constants);

    [[nodiscard]] double peak(kernels::Dtype dtype) const;
};

/// Time of a GEMM on an ideal library: the best of a few tile shapes and of splitting the sum over k, output tiles
/// run in waves over the multiprocessors, against the memory traffic; plus a start-up time. Smooth maximum of both.
double gemm_roofline(const kernels::Gemm& gemm, const Machine& machine);

/// The same for fused attention: blocks of 128 queries of one head, in waves.
double attention_roofline(const kernels::Attention& attention, const Machine& machine);

/// The product that a convolution is when the windows of its images are the rows of a matrix (implicit GEMM: Chetlur et
/// al. 2014, cuDNN, section 3), one for each group.
kernels::Gemm implicit_gemm(const kernels::Convolution& convolution);

/// The same for a convolution: the arithmetic of its implicit product, and each operand crossing the memory once (the
/// product would read a pixel for every window it lies in).
double convolution_roofline(const kernels::Convolution& convolution, const Machine& machine);

/// Highest 16-bit GEMM rate among a profile's tables (scaled from another format when there is no 16-bit table),
/// flop/s; the datasheet's peak without any table.
double best_half_rate(const Profile& profile, const Machine& machine);

/// Least time of `flops` operations in a long run: a GPU that draws too much power lowers its clock until its best
/// kernels run at sustained * best_rate. Kernels whose measured time lies above it are not bound by power.
double sustained_floor(double flops, double best_rate, double sustained);

}  // namespace orrery::calibrate
