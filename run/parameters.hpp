// The parameters of one rank: slices of named tensors in flat buffers, in the order in which backward finishes them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device.hpp"
#include "run/elements.hpp"
#include "run/place.hpp"
#include "strategies/dataflow.hpp"
#include "strategies/stage_state.hpp"

namespace orrery::run {

using strategies::Initial;

/// Rows and columns of a global [rows, cols] tensor that a rank holds, one after the other.
struct Slice {
    std::string name;
    Initial initial = Initial::normal;
    double deviation = 0.02;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> rows;  ///< (first, count) in the order of the rank's rows
    std::uint64_t first_col = 0, cols = 1, global_cols = 1;
    std::uint64_t real_rows = ~std::uint64_t{0};  ///< rows from here on are padding: zero
    bool replicated = false;                      ///< every tensor rank holds the same
    bool counted = true;                          ///< this rank adds it to the gradient norm
    bool expert = false;                          ///< of experts: fewer ranks hold it

    [[nodiscard]] std::uint64_t elements() const;
};

/// The value of one element of a global tensor: a hash of the seed, its name and its index, so that every mesh begins
/// with the same model.
double initial_value(const Slice& slice, std::uint64_t seed, std::uint64_t row, std::uint64_t col);

/// Consecutive elements of the flat buffers.
struct Range {
    std::uint64_t begin = 0, end = 0;
    [[nodiscard]] std::uint64_t elements() const { return end - begin; }
};

/// A gradient bucket: the parameters of experts have buckets of their own.
struct Bucket : Range {
    bool experts = false;
};

/// Consecutive numbers in memory.
struct Stretch {
    Elements at;
    std::uint64_t elements = 0;
};

/// A bucket's owned part as the optimizer sees it, in fp32 but for the weights that products read.
struct Share {
    Range range;
    float *gradient, *master, *first_moment, *second_moment;
    void* weight;  ///< the master itself, or its 16-bit copy
};

/// Weights in the format of activations, gradients in that of their sums. As in Megatron-LM, 16-bit weights are copies
/// of fp32 masters, which the optimizer owns beside the moments; 16-bit gradients are copied to fp32 for it.
class Parameters {
public:
    Parameters(kernels::Device& device, const Place& place) : device_(device), place_(place) {}
    ~Parameters();
    Parameters(const Parameters&) = delete;
    Parameters& operator=(const Parameters&) = delete;

    /// The slices added from now on belong to these gradient buckets, those of experts to the second.
    void begin_layer(std::uint32_t bucket, std::uint32_t experts_bucket);
    void add(Slice slice);
    /// Allocates and fills. Buckets are padded to a multiple of the data size when the optimizer is sharded.
    void allocate(std::uint64_t seed);

    /// The element of the flat buffers at which a parameter begins. Throws Error for one that this rank does not hold.
    [[nodiscard]] std::uint64_t offset(const std::string& name) const;
    [[nodiscard]] const std::map<std::string, std::uint64_t>& offsets() const { return offset_; }
    [[nodiscard]] const std::vector<Slice>& slices() const { return slices_; }
    /// Added so far; with the padding of buckets, once they are allocated.
    [[nodiscard]] std::uint64_t elements() const { return cursor_; }

    [[nodiscard]] const Elements& weights() const { return weights_; }
    [[nodiscard]] const Elements& gradients() const { return gradients_; }
    /// Of every bucket.
    [[nodiscard]] std::vector<Share> shares() const;
    /// Where a view of the stage's parameters lies: bucket by bucket, of replicated and counted ones wherever they are.
    /// Throws std::logic_error for what is no array of parameters.
    [[nodiscard]] std::vector<Stretch> stretches(const strategies::StateView& view) const;
    /// Bytes of moments, masters and fp32 gradients beside weights() and gradients().
    [[nodiscard]] std::uint64_t optimizer_bytes() const;

    [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }
    /// The part of a bucket that this rank's optimizer updates: all of it, or one data rank's share.
    [[nodiscard]] Range owned(std::uint32_t bucket) const;
    [[nodiscard]] std::uint64_t owned_elements() const;

private:
    /// Parts of the owned ranges that this rank adds to the gradient norm.
    [[nodiscard]] std::vector<Range> counted() const;
    /// Replicated slices, merged where they touch.
    [[nodiscard]] std::vector<Range> replicated() const;
    /// The fp32 gradient of an owned element of the flat buffers, and of those behind it in its bucket.
    [[nodiscard]] float* main_gradient(std::uint64_t element) const;
    [[nodiscard]] std::vector<Range> ranges(const strategies::StateView& view) const;
    void lay_out();
    [[nodiscard]] std::vector<float> initial_values(std::uint64_t seed) const;
    void fill_weights(std::uint64_t seed);

    kernels::Device& device_;
    const Place& place_;
    std::vector<Slice> slices_;  ///< once laid out, in the order of memory
    std::vector<std::uint32_t> bucket_of_;
    std::map<std::string, std::uint64_t> offset_;
    std::vector<Bucket> buckets_;
    std::uint32_t bucket_ = 0, experts_bucket_ = 0;
    std::uint64_t cursor_ = 0;
    Elements weights_, gradients_;
    float *moments_ = nullptr, *masters_ = nullptr, *main_gradients_ = nullptr;  ///< of owned elements, or null
};

}  // namespace orrery::run
