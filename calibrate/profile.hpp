// A profile: what one kind of device was measured to do, with provenance. Made by `orrery profile import` from
// published tables, or by measurement; read by the predictor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/collective.hpp"
#include "kernels/device.hpp"
#include "kernels/kernel.hpp"

namespace orrery::calibrate {

/// Where a set of points comes from.
struct Provenance {
    std::string device, clocks, date, software, origin, licence;
};

/// half_width, of every kind of point: how far the time may lie from `seconds`, relative, because it depends on what
/// the caches hold (a measured device is run with hot and with cold operands). 0: not measured.
struct GemmPoint {
    std::uint32_t m, n, k;
    float seconds;
    float half_width = 0;
    /// By which the points of a table are ordered.
    [[nodiscard]] auto shape() const { return std::tuple(m, n, k); }
};

/// Whether the points were measured by `orrery calibrate`: published tables give no half-widths.
template <class Point>
bool has_half_widths(const std::vector<Point>& points) {
    return std::ranges::any_of(points, [](const Point& point) { return point.half_width > 0; });
}

/// How a measured table of scattered shapes is interpolated (scattered_times.hpp), as it was chosen when the profile
/// was made: choosing takes longer than most predictions.
struct ScatterSettings {
    std::size_t points = 0;     ///< that it was chosen for: another number, and it is chosen anew
    std::vector<double> trend;  ///< cost of each part; empty: around the roofline
    double length = 0, step = 0, noise = 0;
    bool rough = true;
};
struct GemmTable {
    kernels::Dtype dtype;
    Provenance provenance;
    std::vector<GemmPoint> points;
    kernels::GemmPass pass = kernels::GemmPass::forward;
    std::optional<ScatterSettings> scatter = std::nullopt;  ///< of scattered shapes alone
};

/// Batched products (experts', unfused attention's), for which a table of single ones stands in where a shape was not
/// measured.
struct BatchedGemmPoint {
    std::uint32_t batch, m, n, k;
    float seconds;
    float half_width = 0;
};
struct BatchedGemmTable {
    kernels::Dtype dtype;
    Provenance provenance;
    std::vector<BatchedGemmPoint> points;  ///< ascending in batch, m, n, k
    kernels::GemmPass pass = kernels::GemmPass::forward;
};

struct AttentionPoint {
    std::uint32_t batch, seq, heads, kv_heads, head_dim;
    float seconds;
    float half_width = 0;
    /// By which the points of a table are ordered.
    [[nodiscard]] auto shape() const { return std::tuple(head_dim, heads, kv_heads, batch, seq); }
};
struct AttentionTable {
    bool backward, causal;
    Provenance provenance;
    std::vector<AttentionPoint> points;
    std::optional<kernels::Dtype> dtype = std::nullopt;     ///< none: 16 bits, whichever
    bool dropout = false;                                   ///< of kernels that draw one
    std::optional<ScatterSettings> scatter = std::nullopt;  ///< of measured ones alone
};

/// dtype and pass are the table's.
struct ConvolutionPoint {
    kernels::Convolution shape;
    float seconds;
    float half_width = 0;
};
struct ConvolutionTable {
    kernels::Dtype dtype;
    kernels::GemmPass pass;
    Provenance provenance;
    std::vector<ConvolutionPoint> points;  ///< ascending in the order of convolution_columns
};

/// Effective bytes per second (kernels::bytes / time) against bytes moved, for rows of a given width (0: any).
struct PointwisePoint {
    double bytes;
    std::uint64_t cols;
    double bytes_per_second;
    double half_width = 0;
};
struct PointwiseTable {
    kernels::PointwiseKind kind;
    Provenance provenance;
    std::vector<PointwisePoint> points;                  ///< ascending in cols, then in bytes
    std::optional<kernels::Dtype> dtype = std::nullopt;  ///< none: bytes decide, whatever the format
};

/// A collective, nccl-tests' size and out-of-place time.
struct CollectivePoint {
    double bytes;
    double seconds;
    double half_width = 0;
};
/// Inside one node (or one NVLink domain), from which other numbers of ranks follow too; or among several, where it
/// stands for groups of just so many ranks on just so many nodes.
struct CollectiveTable {
    kernels::CollectiveKind kind;
    std::uint32_t ranks;
    Provenance provenance;
    std::vector<CollectivePoint> points;  ///< ascending in bytes
    std::uint32_t nodes = 1;              ///< that the ranks are spread over, as many on each
    /// Of the NVLinks to the others, of the rank with the fewest where it was measured, one direction (as
    /// topology::NodePlan's ring_bytes_per_second); 0: of a node whose wiring is taken for that of every node of these
    /// GPUs.
    double nvlink_bytes_per_second = 0;
};

/// Copies within a device or between it and its host.
struct CopyTable {
    kernels::CopyKind kind;
    Provenance provenance;
    std::vector<CollectivePoint> points;  ///< ascending in bytes
};

/// Two things at once: how much longer each takes than alone.
struct OverlapPoint {
    std::string kernel;  ///< kernels::to_text
    std::string beside;  ///< "all_reduce 16777216 B among 8", "host_to_device 16777216 B"
    double kernel_slowdown = 1, beside_slowdown = 1;
};

/// How well readings of one suite repeat.
struct Noise {
    std::uint32_t points = 0;
    double median = 0, p90 = 0;                  ///< relative spread of one point's samples
    std::uint32_t throttled = 0, disturbed = 0;  ///< samples dropped: clock held down; thread taken off its core
    std::uint32_t unsettled = 0;                 ///< points that ran out of samples before they settled
};

/// Share of the machine's processors that others kept busy just before and just after the measurement.
struct MachineLoad {
    double before = 0, after = 0;
};

/// A number that is no table: its value in SI units, its unit and where it comes from.
struct Constant {
    double value = 0;
    std::string unit, origin;
};

/// The constant of that name; `otherwise` where there is none.
inline double constant_or(const std::map<std::string, Constant>& constants, const std::string& name, double otherwise) {
    const auto found = constants.find(name);
    return found == constants.end() ? otherwise : found->second.value;
}

/// Held-out error of the predictor on a suite: 20% of the points kept aside (by hash of their shape).
struct HeldOut {
    std::uint32_t points = 0;
    double mean = 0, median = 0, p90 = 0;  ///< relative errors
};

struct Profile {
    int version = 1;
    std::string name;     ///< "a100"
    std::string device;   ///< "NVIDIA A100-SXM4-80GB"
    std::string made_by;  ///< the command that made it
    std::vector<GemmTable> gemm;
    std::vector<AttentionTable> attention;
    std::vector<PointwiseTable> pointwise;
    std::vector<CollectiveTable> collectives;
    /// Keys, all required: peak_half_flops, memory_bytes_per_second (datasheet), sustained_gemm (share of the table's
    /// best GEMM rate that a long run keeps), kernel_gap_seconds (device idle between dependent kernels),
    /// launch_seconds (host time of one call of the driver; what a framework takes for itself is not the device's and
    /// stands in hardware/host_time.hpp), collective_launch_seconds (these three may be zero), overlap_slowdown (factor
    /// on kernels that run beside a collective).
    /// Optional: sustained_memory (share of memory_bytes_per_second that a long stream reaches; no memory-bound kernel
    /// is faster), sustained_single, sustained_fp8 and sustained_fp4 (sustained_gemm of products in fp32, fp8 and fp4,
    /// where it is another), short_repeats (present: products in 16 bits were timed by themselves at the highest clock,
    /// and all of them, not the fastest alone, take 1 / sustained_gemm as long in a run that lasts), sustained_clock
    /// (clock of the long run that sustained_gemm is of, over the highest: power_limit.hpp), unaligned_gemm (rate of
    /// 16-bit products with rows that begin between words of four bytes, over that of others), partly_aligned_gemm
    /// (likewise of rows that begin at such words but not at 16 bytes), state_space_products (rate at which state-space
    /// scans compute, over peak_single_flops), state_space_convolution (share of their bytes' rate that the
    /// convolutions before them reach), board_spread (standard deviation of the rate of compute-bound kernels among
    /// boards of the kind, relative to it), peak_single_flops, peak_tf32_flops, peak_fp8_flops, peak_fp4_flops,
    /// multiprocessors, graph_gap_seconds (kernel_gap_seconds in a CUDA graph), tile_waves (present: GEMM tiles run in
    /// whole waves over the multiprocessors), attention_backward_rate (flop/s of the backward over the forward),
    /// attention_dropout_forward and attention_dropout_backward (of kernels that draw a dropout over others),
    /// network_efficiency (payload share of the NICs' line rate, measured; else the adapter's of
    /// hardware/datasheets.hpp), cache_bytes (of a CPU's last level, which the ranks of a host share: where kernels
    /// were measured with operands in it and in memory), host_message_seconds (of one message between two hosts,
    /// without its bytes: present, ranks communicate by kernels/tcp's rings of messages and not by NCCL).
    std::map<std::string, Constant> constants;
    std::map<std::string, HeldOut> held_out;  ///< by suite: gemm-bf16, attention, pointwise, collective
    // Of measured devices only, and left out of the file when empty:
    std::vector<BatchedGemmTable> batched_gemm;
    std::vector<ConvolutionTable> convolution;
    std::vector<CopyTable> copies;
    std::vector<OverlapPoint> overlap;
    std::map<std::string, Noise> noise;  ///< by suite
    std::optional<MachineLoad> load;
};

/// Throws Error (file, pointer, row) for another version, missing constants, NaN, negative or zero times, tables
/// out of order, or truncation.
Profile load_profile(const std::filesystem::path& file);
/// As load_profile() will see it once it is written: times have four digits.
Profile as_read(const Profile& profile);
/// Writes to a temporary file beside and renames: never half-written. Same profile, same bytes.
void save_profile(const Profile& profile, const std::filesystem::path& file);

}  // namespace orrery::calibrate
