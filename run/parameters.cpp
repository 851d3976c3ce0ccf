#include "run/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>
#include <stdexcept>

#include "base/error.hpp"
#include "base/random.hpp"
#include "kernels/number_format.hpp"

namespace orrery::run {

namespace {

/// FNV-1a.
std::uint64_t hash_of(const std::string& text) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    return hash;
}

/// In (0, 1).
double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11U) + 0.5) * 0x1.0p-53; }

Elements allocate_elements(kernels::Device& device, kernels::Dtype dtype, std::uint64_t count) {
    return {device.allocate(count * kernels::size_of(dtype)), dtype};
}

float* allocate_singles(kernels::Device& device, std::uint64_t count) {
    return static_cast<float*>(allocate_elements(device, kernels::Dtype::fp32, count).memory);
}

void zero(kernels::Device& device, const Elements& elements, std::uint64_t count) {
    if (count == 0) return;
    device.launch(kernels::Pointwise{kernels::PointwiseKind::fill, elements.dtype, 1, count}, {&elements.memory, 1}, 0);
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
    for (void* const memory :
         std::initializer_list<void*>{weights_.memory, gradients_.memory, moments_, masters_, main_gradients_})
        if (memory != nullptr) device_.release(memory);
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
        const std::uint64_t ranks = place_.sharing(bucket.experts).first;
        cursor_ = bucket.begin + (cursor_ - bucket.begin + ranks - 1) / ranks * ranks;
        bucket.end = cursor_;
    }
    slices_ = std::move(ordered);
}

void Parameters::allocate(std::uint64_t seed) {
    lay_out();
    const std::uint64_t owned = owned_elements();
    weights_ = allocate_elements(device_, place_.activations(), cursor_);
    gradients_ = allocate_elements(device_, place_.gradients(), cursor_);
    moments_ = allocate_singles(device_, 2 * owned);
    if (weights_.dtype != kernels::Dtype::fp32) masters_ = allocate_singles(device_, owned);
    if (gradients_.dtype != kernels::Dtype::fp32) main_gradients_ = allocate_singles(device_, owned);
    fill_weights(seed);
    zero(device_, gradients_, cursor_);
    zero(device_, {moments_}, 2 * owned);
    device_.synchronize();
}

/// Masters begin with the values themselves, their copies with these rounded.
void Parameters::fill_weights(std::uint64_t seed) {
    using kernels::CopyKind;
    const std::vector<float> values = initial_values(seed);
    const std::uint32_t size = kernels::size_of(weights_.dtype);
    std::vector<std::byte> rounded(weights_.bytes(cursor_));
    for (std::uint64_t i = 0; i < cursor_; ++i)
        kernels::encode(kernels::format_of(weights_.dtype), static_cast<double>(values[i]), rounded.data() + i * size);
    device_.copy(CopyKind::host_to_device, weights_.memory, rounded.data(), rounded.size(), 0);
    for (const Share& share : shares())
        if (share.master != share.weight && share.range.elements() > 0)
            device_.copy(CopyKind::host_to_device, share.master, values.data() + share.range.begin,
                         share.range.elements() * sizeof(float), 0);
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
    const auto [ranks, own] = place_.sharing(whole.experts);
    const std::uint64_t share = whole.elements() / ranks;
    return {whole.begin + own * share, whole.begin + (own + 1) * share};
}

std::uint64_t Parameters::owned_elements() const {
    std::uint64_t all = 0;
    for (std::uint32_t b = 0; b < buckets_.size(); ++b) all += owned(b).elements();
    return all;
}

std::vector<Share> Parameters::shares() const {
    std::vector<Share> all;
    std::uint64_t at = 0;
    for (std::uint32_t b = 0; b < buckets_.size(); ++b) {
        const Range range = owned(b);
        void* const weight = weights_.at(range.begin);
        float* const gradient =
            main_gradients_ != nullptr ? main_gradients_ + at : static_cast<float*>(gradients_.at(range.begin));
        float* const master = masters_ != nullptr ? masters_ + at : static_cast<float*>(weight);
        all.push_back({range, gradient, master, moments_ + at, moments_ + owned_elements() + at, weight});
        at += range.elements();
    }
    return all;
}

float* Parameters::main_gradient(std::uint64_t element) const {
    for (const Share& share : shares())
        if (element >= share.range.begin && element < share.range.end)
            return share.gradient + (element - share.range.begin);
    throw std::logic_error("an element that this rank's optimizer does not own");
}

std::uint64_t Parameters::optimizer_bytes() const {
    const std::uint64_t copies = 2U + (masters_ != nullptr ? 1U : 0U) + (main_gradients_ != nullptr ? 1U : 0U);
    return copies * owned_elements() * sizeof(float);
}

std::vector<Range> Parameters::counted() const {
    std::vector<Range> ranges;
    // The norm is summed over the ranks of an expert group too, which all update the rest, or each its share of it.
    const bool rest = place_.sharing(false).first > 1 || place_.along(strategies::Axis::expert) == 0;
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

/// Of the flat buffers.
std::vector<Range> Parameters::ranges(const strategies::StateView& view) const {
    using strategies::Portion;
    if (view.portion == Portion::counted) return counted();
    if (view.portion == Portion::replicated) return replicated();
    std::vector<Range> list;
    if (view.portion == Portion::words) {
        const auto words = std::ranges::find(slices_, std::string(strategies::word_embedding), &Slice::name);
        const std::uint64_t begin = offset(strategies::word_embedding);
        return {{begin, begin + words->elements()}};
    }
    for (std::uint32_t b = 0; b < buckets_.size(); ++b)
        if (view.holds(b, buckets_[b].experts))
            list.push_back(view.portion == Portion::kept ? Range(buckets_[b]) : owned(b));
    return list;
}

std::vector<Stretch> Parameters::stretches(const strategies::StateView& view) const {
    using strategies::State;
    std::vector<Stretch> list;
    if (view.state == State::weights || view.state == State::gradients) {
        const Elements& flat = view.state == State::weights ? weights_ : gradients_;
        for (const Range& range : ranges(view)) list.push_back({{flat.at(range.begin), flat.dtype}, range.elements()});
        return list;
    }
    if (view.portion == strategies::Portion::counted) {
        for (const Range& range : counted()) list.push_back({{main_gradient(range.begin)}, range.elements()});
        return list;
    }
    const std::vector<Share> all = shares();
    for (std::uint32_t b = 0; b < buckets_.size(); ++b) {
        if (!view.holds(b, buckets_[b].experts)) continue;
        const Share& share = all[b];
        float* at = nullptr;
        switch (view.state) {
            case State::main_gradients: at = share.gradient; break;
            case State::masters: at = share.master; break;
            case State::first_moments: at = share.first_moment; break;
            case State::second_moments: at = share.second_moment; break;
            default: throw std::logic_error("no array of parameters");
        }
        list.push_back({{at}, share.range.elements()});
    }
    return list;
}

std::uint64_t Parameters::offset(const std::string& name) const {
    const auto found = offset_.find(name);
    if (found == offset_.end()) throw Error("this rank holds no parameter " + name, "");
    return found->second;
}

}  // namespace orrery::run
