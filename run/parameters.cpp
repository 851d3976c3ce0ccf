#include "run/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>
#include <stdexcept>
#include <thread>

#include "base/error.hpp"
#include "base/random.hpp"
#include "kernels/number_format.hpp"

namespace orrery::run {

using strategies::Holder;

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

/// work(begin, end) over pieces of [0, count), on all cores of the host where there is enough of it: a normal number
/// takes some 70 ns, so that one core would be busy with 350 million weights for 25 s.
template <class Work>
void share_among_cores(std::uint64_t count, const Work& work) {
    constexpr std::uint64_t least_piece = 1U << 18U;
    const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
    const std::uint64_t pieces = std::clamp<std::uint64_t>(count / least_piece, 1, cores);
    std::vector<std::jthread> others;
    for (std::uint64_t i = 1; i < pieces; ++i)
        others.emplace_back([&work, begin = count * i / pieces, end = count * (i + 1) / pieces] { work(begin, end); });
    work(0, count / pieces);
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

InitialValues::InitialValues(const Slice& slice, std::uint64_t seed)
    : slice_(slice), key_(mixed(seed ^ hash_of(slice.name))) {}

double InitialValues::at(std::uint64_t row, std::uint64_t col) const {
    if (row >= slice_.real_rows || slice_.initial == Initial::zeros) return 0;
    if (slice_.initial == Initial::ones) return 1;
    // Box and Muller 1958: two uniform numbers make a normal one.
    const std::uint64_t key = mixed(key_ + row * slice_.global_cols + col);
    const double radius = std::sqrt(-2 * std::log(uniform(mixed(key)))), angle = uniform(mixed(key + 1));
    return slice_.deviation * radius * std::cos(2 * std::numbers::pi * angle);
}

Parameters::~Parameters() {
    for (void* const memory :
         std::initializer_list<void*>{weights_.memory, gradients_.memory, moments_, masters_, main_gradients_})
        if (memory != nullptr) device_.release(memory);
    const bool own_gradients = host_gradients_ != arrived_.memory, own_weights = host_masters_ != leaving_.memory;
    for (void* const memory :
         std::initializer_list<void*>{arrived_.memory, own_weights ? leaving_.memory : nullptr, host_moments_,
                                      host_masters_, own_gradients ? host_gradients_ : nullptr})
        if (memory != nullptr) device_.release_host(memory);
}

void Parameters::leave_to_host(std::vector<std::uint64_t> of_buckets, bool all) {
    left_to_host_ = std::move(of_buckets);
    all_to_host_ = all;
}

void Parameters::begin_layer(std::int32_t layer, std::uint32_t bucket, std::uint32_t experts_bucket) {
    layer_ = layer;
    bucket_ = bucket;
    experts_bucket_ = experts_bucket;
}

void Parameters::add(Slice slice) {
    const std::uint32_t bucket = slice.expert ? experts_bucket_ : bucket_;
    if (bucket >= of_experts_.size()) of_experts_.resize(bucket + 1);
    of_experts_[bucket] = slice.expert;
    belongs_.emplace_back(bucket, layer_);
    cursor_ += slice.elements();
    slices_.push_back(std::move(slice));
}

/// Bucket after bucket, in each the slices as they were added.
void Parameters::lay_out() {
    std::vector<Slice> ordered;
    cursor_ = 0;
    for (std::uint32_t b = 0; b < of_experts_.size(); ++b) {
        const bool by_layer = place_.shares(strategies::State::weights, of_experts_[b]);
        bool fresh = true;
        for (std::size_t i = 0; i < slices_.size(); ++i) {
            const auto [bucket, layer] = belongs_[i];
            if (bucket != b) continue;
            if (fresh || (by_layer && units_.back().layer != layer)) {
                if (!fresh) end_unit();
                begin_unit(b, layer);
                fresh = false;
            }
            offset_[slices_[i].name] = cursor_;
            cursor_ += slices_[i].elements();
            ordered.push_back(std::move(slices_[i]));
        }
        if (!fresh) end_unit();
    }
    slices_ = std::move(ordered);
}

void Parameters::begin_unit(std::uint32_t bucket, std::int32_t layer) {
    using strategies::State;
    Unit& unit = units_.emplace_back();
    unit.begin = cursor_;
    unit.bucket = bucket;
    unit.layer = layer;
    unit.experts = of_experts_[bucket];
    unit.shares_weights = place_.shares(State::weights, unit.experts);
    unit.shares_gradients = place_.shares(State::gradients, unit.experts);
    unit.weights_at = kept_weights_;
    unit.gradients_at = kept_gradients_;
    unit.owned_at = owned_;
}

void Parameters::end_unit() {
    using strategies::State;
    Unit& unit = units_.back();
    const std::uint64_t ranks = place_.sharing(unit.experts).first;
    cursor_ = unit.begin + (cursor_ - unit.begin + ranks - 1) / ranks * ranks;
    unit.end = cursor_;
    kept_weights_ += kept(State::weights, unit).elements();
    kept_gradients_ += kept(State::gradients, unit).elements();
    const std::uint64_t updated = owned(unit).elements();
    if (unit.bucket < left_to_host_.size()) {
        std::uint64_t& left = left_to_host_[unit.bucket];
        unit.on_host = all_to_host_ ? updated : std::min(left, updated);
        left -= std::min(left, unit.on_host);
    }
    unit.host_at = on_host_;
    on_host_ += unit.on_host;
    owned_ += updated - unit.on_host;
}

void Parameters::allocate(std::uint64_t seed, std::uint32_t versions) {
    lay_out();
    versions_ = versions;
    weights_ = allocate_elements(device_, place_.activations(), versions * kept_weights_);
    gradients_ = allocate_elements(device_, place_.gradients(), kept_gradients_);
    moments_ = allocate_singles(device_, 2 * owned_);
    if (weights_.dtype != kernels::Dtype::fp32 || versions > 1) masters_ = allocate_singles(device_, owned_);
    if (gradients_.dtype != kernels::Dtype::fp32) main_gradients_ = allocate_singles(device_, owned_);
    if (on_host_ > 0) allocate_on_host();
    fill_weights(seed);
    zero(device_, gradients_, kept_gradients_);
    zero(device_, {moments_}, 2 * owned_);
    device_.synchronize();
}

void Parameters::allocate_on_host() {
    using kernels::Dtype;
    const auto take = [&](Dtype dtype, std::uint64_t count) {
        return Elements{device_.allocate_host(count * kernels::size_of(dtype)), dtype};
    };
    const auto singles = [&](std::uint64_t count) { return static_cast<float*>(take(Dtype::fp32, count).memory); };
    host_moments_ = singles(2 * on_host_);
    host_masters_ = singles(on_host_);
    std::fill_n(host_moments_, 2 * on_host_, 0.0f);
    arrived_ = take(gradients_.dtype, on_host_);
    leaving_ = weights_.dtype == Dtype::fp32 ? Elements{host_masters_} : take(weights_.dtype, on_host_);
    host_gradients_ = gradients_.dtype == Dtype::fp32 ? static_cast<float*>(arrived_.memory) : singles(on_host_);
}

/// Masters begin with the values themselves, their copies with these rounded.
void Parameters::fill_weights(std::uint64_t seed) {
    using kernels::CopyKind;
    const std::vector<float> values = initial_values(seed);
    const std::uint32_t size = kernels::size_of(weights_.dtype);
    std::vector<std::byte> rounded(weights_.bytes(cursor_));
    share_among_cores(cursor_, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i)
            kernels::encode(kernels::format_of(weights_.dtype), static_cast<double>(values[i]),
                            rounded.data() + i * size);
    });
    for (const Unit& unit : units_) {
        const Range range = kept(strategies::State::weights, unit);
        for (std::uint32_t version = 0; version < versions_; ++version)
            device_.copy(CopyKind::host_to_device, at(strategies::State::weights, unit, range.begin, version),
                         rounded.data() + range.begin * size, range.elements() * size, 0);
    }
    for (const Unit& unit : units_) {
        const Range here = owned(unit, Holder::device), there = owned(unit, Holder::host);
        if (masters_ != nullptr && here.elements() > 0)
            device_.copy(CopyKind::host_to_device, at(strategies::State::masters, unit, here.begin),
                         values.data() + here.begin, here.elements() * sizeof(float), 0);
        std::copy_n(values.data() + there.begin, there.elements(), host_masters_ + unit.host_at);
    }
    device_.synchronize();
}

std::vector<float> Parameters::initial_values(std::uint64_t seed) const {
    std::vector<float> values(cursor_);
    for (const Slice& slice : slices_) {
        const InitialValues initial(slice, seed);
        std::uint64_t out = offset_.at(slice.name);
        for (const auto& rows : slice.rows) {
            share_among_cores(rows.second * slice.cols, [&](std::uint64_t begin, std::uint64_t end) {
                for (std::uint64_t i = begin; i < end; ++i)
                    values[out + i] =
                        static_cast<float>(initial.at(rows.first + i / slice.cols, slice.first_col + i % slice.cols));
            });
            out += rows.second * slice.cols;
        }
    }
    return values;
}

Range Parameters::owned(const Unit& unit, Holder holder) const {
    const auto [ranks, own] = place_.sharing(unit.experts);
    const std::uint64_t share = unit.elements() / ranks;
    Range range{unit.begin + own * share, unit.begin + (own + 1) * share};
    if (holder == Holder::host) range.end = range.begin + unit.on_host;
    if (holder == Holder::device) range.begin += unit.on_host;
    return range;
}

Range Parameters::kept(strategies::State state, const Unit& unit) const {
    const bool all = (state == strategies::State::weights && !unit.shares_weights) ||
                     (state == strategies::State::gradients && !unit.shares_gradients);
    return all ? Range(unit) : owned(unit);
}

std::uint32_t Parameters::unit_of(std::uint64_t element) const {
    const auto behind = std::ranges::upper_bound(units_, element, {}, &Unit::begin);
    return static_cast<std::uint32_t>(behind - units_.begin() - 1);
}

std::vector<std::uint32_t> Parameters::units_of(const strategies::StateView& view) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < units_.size(); ++i)
        if (view.holds_layer(units_[i].layer) && view.holds(units_[i].bucket, units_[i].experts)) found.push_back(i);
    if (found.empty()) throw std::logic_error("a layer without weights");
    return found;
}

Range Parameters::bucket(std::uint32_t number) const {
    Range range{cursor_, 0};
    for (const Unit& unit : units_)
        if (unit.bucket == number) range = {std::min(range.begin, unit.begin), std::max(range.end, unit.end)};
    return range;
}

void* Parameters::at(strategies::State state, const Unit& unit, std::uint64_t element, std::uint32_t version) const {
    using strategies::State;
    const std::uint64_t behind = element - kept(state, unit).begin;
    const bool of_host = unit.on_host > 0 && element < owned(unit).begin + unit.on_host;
    const bool array_of_host = state == State::arrived_gradients || state == State::leaving_weights;
    const bool beside_weights = state != State::weights && state != State::gradients;
    if (beside_weights && (of_host || array_of_host)) return on_host(state, unit.host_at + behind);
    const auto beside = [&](float* array) -> void* { return array + unit.owned_at + (behind - unit.on_host); };
    switch (state) {
        case State::weights: return weights_.at(version % versions_ * kept_weights_ + unit.weights_at + behind);
        case State::gradients: return gradients_.at(unit.gradients_at + behind);
        case State::main_gradients:
            return main_gradients_ != nullptr ? beside(main_gradients_) : at(State::gradients, unit, element);
        case State::masters: return masters_ != nullptr ? beside(masters_) : at(State::weights, unit, element);
        case State::first_moments: return beside(moments_);
        case State::second_moments: return beside(moments_ + owned_);
        default: throw std::logic_error("no array of parameters");
    }
}

void* Parameters::on_host(strategies::State state, std::uint64_t element) const {
    using strategies::State;
    switch (state) {
        case State::arrived_gradients: return arrived_.at(element);
        case State::leaving_weights: return leaving_.at(element);
        case State::main_gradients: return host_gradients_ + element;
        case State::masters: return host_masters_ + element;
        case State::first_moments: return host_moments_ + element;
        case State::second_moments: return host_moments_ + on_host_ + element;
        default: throw std::logic_error("no array of the host");
    }
}

const void* Parameters::weight(std::uint64_t element) const {
    const Unit& unit = units_[unit_of(element)];
    const Range range = kept(strategies::State::weights, unit);
    const bool here = element >= range.begin && element < range.end;
    return here ? at(strategies::State::weights, unit, element) : nullptr;
}

std::vector<Share> Parameters::shares() const {
    using strategies::State;
    std::vector<Share> all;
    for (const Unit& unit : units_)
        for (const Holder holder : {Holder::host, Holder::device}) {
            const Range range = owned(unit, holder);
            const auto single = [&](State state) { return static_cast<float*>(at(state, unit, range.begin)); };
            if (range.elements() > 0)
                all.push_back({range, single(State::main_gradients), single(State::masters),
                               single(State::first_moments), single(State::second_moments),
                               at(State::weights, unit, range.begin)});
        }
    return all;
}

std::uint64_t Parameters::optimizer_bytes() const {
    const std::uint64_t copies = 2U + (masters_ != nullptr ? 1U : 0U) + (main_gradients_ != nullptr ? 1U : 0U);
    return copies * owned_ * sizeof(float);
}

std::uint64_t Parameters::host_bytes() const {
    const bool own_gradients = host_gradients_ != arrived_.memory, own_weights = host_masters_ != leaving_.memory;
    const std::uint64_t singles = 3U + (own_gradients ? 1U : 0U);
    return on_host_ * singles * sizeof(float) + arrived_.bytes(on_host_) + (own_weights ? leaving_.bytes(on_host_) : 0);
}

bool Parameters::counts(const Slice& slice) const {
    // The norm is summed over the ranks of an expert group too, which all update the rest, or each its share of it.
    const bool rest = place_.sharing(false).first > 1 || place_.along(strategies::Axis::expert) == 0;
    return slice.counted && !(slice.replicated && place_.tensor() != 0) && (slice.expert || rest);
}

Range Parameters::range_of(const Slice& slice) const {
    const std::uint64_t begin = offset_.at(slice.name);
    return {begin, begin + slice.elements()};
}

/// Neighbours are one.
std::vector<Range> Parameters::ranges(const strategies::StateView& view, const Unit& unit) const {
    using strategies::Portion;
    if (view.portion == Portion::updated) return {owned(unit, view.holder)};
    const Range mine = view.holder == Holder::either ? kept(view.state, unit) : owned(unit, view.holder);
    if (view.portion == Portion::kept) return {mine};
    std::vector<Range> list;
    for (const Slice& slice : slices_) {
        const bool taken = view.portion == Portion::counted      ? counts(slice)
                           : view.portion == Portion::replicated ? slice.replicated
                                                                 : slice.name == strategies::word_embedding;
        const Range range = range_of(slice);
        if (taken) append(list, {std::max(mine.begin, range.begin), std::min(mine.end, range.end)});
    }
    return list;
}

std::vector<Stretch> Parameters::stretches(const strategies::StateView& view) const {
    using strategies::State;
    const bool as_weights = view.state == State::weights || view.state == State::leaving_weights,
               as_sums = view.state == State::gradients || view.state == State::arrived_gradients;
    const kernels::Dtype dtype = as_weights ? weights_.dtype : as_sums ? gradients_.dtype : kernels::Dtype::fp32;
    std::vector<Stretch> list;
    for (const Unit& unit : units_) {
        if (!view.holds_layer(unit.layer) || !view.holds(unit.bucket, unit.experts)) continue;
        for (const Range& range : ranges(view, unit))
            if (range.elements() > 0)
                list.push_back({{at(view.state, unit, range.begin, view.version), dtype}, range.elements()});
    }
    return list;
}

std::uint64_t Parameters::offset(const std::string& name) const {
    const auto found = offset_.find(name);
    if (found == offset_.end()) throw Error("this rank holds no parameter " + name, "");
    return found->second;
}

}  // namespace orrery::run
