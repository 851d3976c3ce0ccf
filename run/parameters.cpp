#include "run/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"

namespace orrery::run {

namespace {

/// SplitMix64 (Steele, Lea and Flood 2014): a bijection whose outputs look random.
std::uint64_t mixed(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31U);
}

/// FNV-1a.
std::uint64_t hash_of(const std::string& text) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    return hash;
}

/// In (0, 1).
double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11U) + 0.5) * 0x1.0p-53; }

template <class T>
T* allocate_elements(kernels::Device& device, std::uint64_t elements) {
    return static_cast<T*>(device.allocate(elements * sizeof(T)));
}

void zero(kernels::Device& device, float* memory, std::uint64_t elements) {
    if (elements == 0) return;
    void* const operand = memory;
    device.launch(kernels::Pointwise{kernels::PointwiseKind::fill, kernels::Dtype::fp32, 1, elements}, {&operand, 1},
                  0);
}

/// Merges ranges that touch; they come in ascending order.
void append(std::vector<Range>& ranges, Range range) {
    if (range.begin >= range.end) return;
    if (!ranges.empty() && ranges.back().end == range.begin)
        ranges.back().end = range.end;
    else
        ranges.push_back(range);
}

}  // namespace

std::uint64_t Slice::elements() const {
    std::uint64_t all = 0;
    for (const auto& [first, count] : rows) all += count;
    return all * cols;
}

double initial_value(const Slice& slice, std::uint64_t seed, std::uint64_t row, std::uint64_t col) {
    if (row >= slice.real_rows || slice.initial == Initial::zeros) return 0;
    if (slice.initial == Initial::ones) return 1;
    // Box and Muller 1958: two uniform numbers make a normal one.
    const std::uint64_t key = mixed(mixed(seed ^ hash_of(slice.name)) + row * slice.global_cols + col);
    const double radius = std::sqrt(-2 * std::log(uniform(mixed(key)))), angle = uniform(mixed(key + 1));
    return slice.deviation * radius * std::cos(2 * std::numbers::pi * angle);
}

Parameters::~Parameters() {
    for (float* const memory : {weights_, gradients_, moments_})
        if (memory != nullptr) device_.release(memory);
}

std::pair<std::uint32_t, std::uint32_t> Parameters::sharing(const Bucket& bucket) const {
    if (!place_.sharded_optimizer()) return {1, 0};
    if (bucket.experts) return {place_.plan.expert_data(), place_.expert_data()};
    return {place_.plan.strategy.data, place_.data()};
}

void Parameters::begin_layer(std::uint32_t bucket, std::uint32_t experts_bucket) {
    bucket_ = bucket;
    experts_bucket_ = experts_bucket;
}

void Parameters::add(Slice slice) {
    const std::uint32_t bucket = slice.expert ? experts_bucket_ : bucket_;
    if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
    buckets_[bucket].experts = slice.expert;
    bucket_of_.push_back(bucket);
    cursor_ += slice.elements();
    slices_.push_back(std::move(slice));
}

/// Bucket after bucket, in each the slices as they were added.
void Parameters::lay_out() {
    std::vector<Slice> ordered;
    cursor_ = 0;
    for (std::uint32_t b = 0; b < buckets_.size(); ++b) {
        Bucket& bucket = buckets_[b];
        bucket.begin = cursor_;
        for (std::size_t i = 0; i < slices_.size(); ++i) {
            if (bucket_of_[i] != b) continue;
            offset_[slices_[i].name] = cursor_;
            cursor_ += slices_[i].elements();
            ordered.push_back(std::move(slices_[i]));
        }
        const std::uint64_t ranks = sharing(bucket).first;
        cursor_ = bucket.begin + (cursor_ - bucket.begin + ranks - 1) / ranks * ranks;
        bucket.end = cursor_;
    }
    slices_ = std::move(ordered);
}

void Parameters::allocate(std::uint64_t seed) {
    lay_out();
    weights_ = allocate_elements<float>(device_, cursor_);
    gradients_ = allocate_elements<float>(device_, cursor_);
    moments_ = allocate_elements<float>(device_, 2 * owned_elements());
    const std::vector<float> values = initial_values(seed);
    device_.copy(kernels::CopyKind::host_to_device, weights_, values.data(), cursor_ * sizeof(float), 0);
    zero(device_, gradients_, cursor_);
    zero(device_, moments_, 2 * owned_elements());
    device_.synchronize();
}

std::vector<float> Parameters::initial_values(std::uint64_t seed) const {
    std::vector<float> values(cursor_);
    for (const Slice& slice : slices_) {
        std::uint64_t out = offset_.at(slice.name);
        for (const auto& [first, count] : slice.rows)
            for (std::uint64_t row = first; row < first + count; ++row)
                for (std::uint64_t col = 0; col < slice.cols; ++col)
                    values[out++] = static_cast<float>(initial_value(slice, seed, row, slice.first_col + col));
    }
    return values;
}

Range Parameters::owned(std::uint32_t bucket) const {
    const Bucket& whole = buckets_[bucket];
    const auto [ranks, own] = sharing(whole);
    const std::uint64_t share = whole.elements() / ranks;
    return {whole.begin + own * share, whole.begin + (own + 1) * share};
}

std::uint64_t Parameters::owned_elements() const {
    std::uint64_t all = 0;
    for (std::uint32_t b = 0; b < buckets_.size(); ++b) all += owned(b).elements();
    return all;
}

std::vector<Range> Parameters::counted() const {
    std::vector<Range> ranges;
    // The norm is summed over the ranks of an expert group too, which all hold the rest, or each its share of it.
    const bool rest = place_.sharded_optimizer() || place_.along(strategies::Axis::expert) == 0;
    for (std::uint32_t b = 0; b < buckets_.size(); ++b) {
        const Range mine = owned(b);
        for (const Slice& slice : slices_) {
            if (!slice.counted || (slice.replicated && place_.tensor() != 0) || (!slice.expert && !rest)) continue;
            const std::uint64_t begin = offset_.at(slice.name);
            append(ranges, {std::max(mine.begin, begin), std::min(mine.end, begin + slice.elements())});
        }
    }
    return ranges;
}

std::vector<Range> Parameters::replicated() const {
    std::vector<Range> ranges;
    for (const Slice& slice : slices_)
        if (slice.replicated) append(ranges, {offset_.at(slice.name), offset_.at(slice.name) + slice.elements()});
    return ranges;
}

std::uint64_t Parameters::at(const std::string& name) const {
    const auto found = offset_.find(name);
    if (found == offset_.end()) throw Error("this rank holds no parameter " + name, "");
    return found->second;
}

}  // namespace orrery::run
