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

/// Elements of a global tensor as training begins: each a hash of the seed, the tensor's name and its own index, so
/// that every mesh begins with the same model. The slice outlives it.
class InitialValues {
public:
    InitialValues(const Slice& slice, std::uint64_t seed);
    [[nodiscard]] double at(std::uint64_t row, std::uint64_t col) const;

private:
    const Slice& slice_;
    std::uint64_t key_;
};

/// Consecutive elements of the flat buffers.
struct Range {
    std::uint64_t begin = 0, end = 0;
    [[nodiscard]] std::uint64_t elements() const { return end - begin; }
};

/// Parameters that ranks divide among them: a gradient bucket, or where they keep shares of weights one layer's part of
/// it. Those of experts have buckets of their own.
struct Unit : Range {
    std::uint32_t bucket = 0;
    std::int32_t layer = 0;  ///< of the first
    bool experts = false;
    bool shares_weights = false, shares_gradients = false;  ///< this rank keeps its share alone
    /// Of what it keeps and of what its device updates: the first element in weights(), gradients(), and beside them.
    std::uint64_t weights_at = 0, gradients_at = 0, owned_at = 0;
    /// Of what it updates the first are left to the host: so many, and the first in the host's arrays.
    std::uint64_t on_host = 0, host_at = 0;
};

/// Consecutive numbers in memory.
struct Stretch {
    Elements at;
    std::uint64_t elements = 0;
};

/// A unit's owned part as the optimizer of the device, or of the host, sees it, in fp32 but for the weights that
/// products read.
struct Share {
    Range range;
    float *gradient, *master, *first_moment, *second_moment;
    void* weight;  ///< the master itself, or its 16-bit copy
};

/// Weights in the format of activations, gradients in that of their sums. As in Megatron-LM, 16-bit weights are copies
/// of fp32 masters, which the optimizer owns beside the moments; 16-bit gradients are copied to fp32 for it. What the
/// host updates has masters and moments of its own in the host's memory, gradients that arrive there and weights that
/// leave.
class Parameters {
public:
    Parameters(kernels::Device& device, const Place& place) : device_(device), place_(place) {}
    ~Parameters();
    Parameters(const Parameters&) = delete;
    Parameters& operator=(const Parameters&) = delete;

    /// The slices added from now on are this layer's and belong to these gradient buckets, those of experts to the
    /// second.
    void begin_layer(std::int32_t layer, std::uint32_t bucket, std::uint32_t experts_bucket);
    void add(Slice slice);
    /// Of each bucket so many that this rank updates are left to the host; all: everything, padding included.
    void leave_to_host(std::vector<std::uint64_t> of_buckets, bool all);
    /// Allocates and fills. Units are padded to a multiple of the ranks that divide them. versions: of weights that are
    /// there at once, all with the same values; the masters are apart from several.
    void allocate(std::uint64_t seed, std::uint32_t versions = 1);

    /// The number of the element, among all that the rank uses, at which a parameter begins. Throws Error for one that
    /// this rank does not hold.
    [[nodiscard]] std::uint64_t offset(const std::string& name) const;
    [[nodiscard]] const std::map<std::string, std::uint64_t>& offsets() const { return offset_; }
    [[nodiscard]] const std::vector<Slice>& slices() const { return slices_; }
    /// Added so far; with the padding of units, once they are allocated.
    [[nodiscard]] std::uint64_t elements() const { return cursor_; }

    /// What this rank keeps of them, one behind the other; of weights in their first version.
    [[nodiscard]] const Elements& weights() const { return weights_; }
    [[nodiscard]] const Elements& gradients() const { return gradients_; }
    [[nodiscard]] std::uint64_t weight_bytes() const { return versions_ * weights_.bytes(kept_weights_); }
    [[nodiscard]] std::uint64_t gradient_bytes() const { return gradients_.bytes(kept_gradients_); }
    /// Of every unit, the host's first.
    [[nodiscard]] std::vector<Share> shares() const;
    /// Where an element that the rank keeps of an array lies, and those behind it in its unit. Throws std::logic_error
    /// for what is no array of parameters. version: of weights.
    [[nodiscard]] void* at(strategies::State state, const Unit& unit, std::uint64_t element,
                           std::uint32_t version = 0) const;
    /// Where its weight lies; null where other ranks keep it.
    [[nodiscard]] const void* weight(std::uint64_t element) const;
    /// Where a view of the stage's parameters lies: unit by unit, of replicated and counted ones wherever they are.
    /// Throws std::logic_error for what is no array of parameters.
    [[nodiscard]] std::vector<Stretch> stretches(const strategies::StateView& view) const;
    /// Bytes of moments, masters and fp32 gradients beside weights() and gradients(); and of all that the host has.
    [[nodiscard]] std::uint64_t optimizer_bytes() const;
    [[nodiscard]] std::uint64_t host_bytes() const;

    [[nodiscard]] const std::vector<Unit>& units() const { return units_; }
    /// The unit of an element, and those of a view of weights of layers.
    [[nodiscard]] std::uint32_t unit_of(std::uint64_t element) const;
    [[nodiscard]] std::vector<std::uint32_t> units_of(const strategies::StateView& view) const;
    /// All of a bucket's units.
    [[nodiscard]] Range bucket(std::uint32_t number) const;
    /// The part of a unit that this rank's optimizer updates: all of it, or one data rank's share; of that what the
    /// device does, or the host.
    [[nodiscard]] Range owned(const Unit& unit, strategies::Holder holder = strategies::Holder::either) const;

private:
    /// The part of a unit that this rank keeps of an array.
    [[nodiscard]] Range kept(strategies::State state, const Unit& unit) const;
    [[nodiscard]] std::vector<Range> ranges(const strategies::StateView& view, const Unit& unit) const;
    /// A slice is added to the gradient norm by this rank.
    [[nodiscard]] bool counts(const Slice& slice) const;
    [[nodiscard]] Range range_of(const Slice& slice) const;
    void lay_out();
    void allocate_on_host();
    [[nodiscard]] void* on_host(strategies::State state, std::uint64_t element) const;
    void begin_unit(std::uint32_t bucket, std::int32_t layer);
    void end_unit();
    [[nodiscard]] std::vector<float> initial_values(std::uint64_t seed) const;
    void fill_weights(std::uint64_t seed);

    kernels::Device& device_;
    const Place& place_;
    std::vector<Slice> slices_;                                    ///< once laid out, in the order of memory
    std::vector<std::pair<std::uint32_t, std::int32_t>> belongs_;  ///< a slice's bucket and layer
    std::map<std::string, std::uint64_t> offset_;
    std::vector<bool> of_experts_;  ///< by bucket
    std::vector<Unit> units_;
    std::int32_t layer_ = 0;
    std::uint32_t bucket_ = 0, experts_bucket_ = 0;
    std::vector<std::uint64_t> left_to_host_;  ///< by bucket, of which no unit has taken its part yet
    bool all_to_host_ = false;
    std::uint32_t versions_ = 1;
    std::uint64_t cursor_ = 0, kept_weights_ = 0, kept_gradients_ = 0, owned_ = 0, on_host_ = 0;
    Elements weights_, gradients_;
    float *moments_ = nullptr, *masters_ = nullptr, *main_gradients_ = nullptr;  ///< of owned elements, or null
    Elements arrived_, leaving_;                                                 ///< in host memory, or null
    float *host_moments_ = nullptr, *host_masters_ = nullptr, *host_gradients_ = nullptr;
};

}  // namespace orrery::run
