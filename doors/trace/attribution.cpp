#include "doors/trace/attribution.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/text.hpp"
#include "doors/trace/product.hpp"

namespace orrery::doors::trace {

namespace {

bool has_any(const std::string& text, std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

/// What a name means to everything that is launched below it.
struct Meaning {
    std::int32_t layer = -1;
    bool backward = false, again = false, optimizer = false, attention = false, product = false;
};

Meaning meaning_of(std::string_view name) {
    const std::string small = lower(name);
    return {.layer = layer_in(name),
            .backward = name.starts_with("autograd::engine::evaluate_function"),
            .again = name.starts_with("nn.Module: ") ||
                     (has_any(small, {"checkpoint"}) && !name.starts_with("autograd::engine")),
            .optimizer = name.starts_with("Optimizer.step#"),
            .attention = has_any(small, {"scaled_dot_product", "flash_attention", "flashattn", "efficient_attention",
                                         "cudnn_attention", "flex_attention"}),
            .product = is_product(name)};
}

/// The operators around each launch, thread by thread.
class Sweep {
public:
    explicit Sweep(const Trace& trace) : trace_(trace), host_(trace.host.size()) {
        for (const std::string& name : trace.names) meanings_.push_back(meaning_of(name));
        order_threads();
        for (std::int64_t i = 0; std::cmp_less(i, trace.launches.size()); ++i)
            by_correlation_.try_emplace(trace.launches[i].correlation, i);
        launch_.resize(trace.launches.size());
        for (const bool all : {false, true}) {  // forward operators first: backward ones ask for their layers
            for (const std::vector<Item>& thread : threads_) walk(thread);
            if (!all) learn_layers();
        }
        for (std::size_t i = 0; i < trace.host.size(); ++i)
            if (trace.host[i].external >= 0) by_external_.try_emplace(trace.host[i].external, i);
    }

    [[nodiscard]] Origin of(const DeviceSpan& span) const {
        Origin found;
        if (const auto launch = by_correlation_.find(span.correlation);
            span.correlation >= 0 && launch != by_correlation_.end()) {
            found = launch_[launch->second];
            found.launched = trace_.launches[launch->second].begin;
        } else {
            const auto host = by_external_.find(span.external);
            if (span.external >= 0 && host != by_external_.end()) found = host_[host->second];
            found.launched = span.begin;
        }
        return found;
    }

private:
    struct Item {
        std::int64_t begin, end;
        std::size_t index;
        bool launch;
    };

    void order_threads() {
        const auto of = [&](std::uint32_t thread) -> std::vector<Item>& {
            if (threads_.size() <= thread) threads_.resize(thread + std::size_t{1});
            return threads_[thread];
        };
        for (std::size_t i = 0; i < trace_.host.size(); ++i)
            of(trace_.host[i].thread).push_back({trace_.host[i].begin, trace_.host[i].end, i, false});
        for (std::size_t i = 0; i < trace_.launches.size(); ++i)
            of(trace_.launches[i].thread).push_back({trace_.launches[i].begin, trace_.launches[i].begin, i, true});
        for (auto& thread : threads_)
            std::ranges::stable_sort(thread, [](const Item& a, const Item& b) {
                if (a.begin != b.begin) return a.begin < b.begin;
                return a.launch != b.launch ? b.launch : a.end > b.end;
            });
    }

    void walk(const std::vector<Item>& items) {
        std::vector<std::size_t> open;  // of Trace::host
        for (const Item& item : items) {
            while (!open.empty() && trace_.host[open.back()].end <= item.begin) open.pop_back();
            const Origin around = open.empty() ? Origin{} : host_[open.back()];
            if (item.launch) {
                launch_[item.index] = around;
            } else {
                host_[item.index] = within(around, item.index);
                open.push_back(item.index);
            }
        }
    }

    [[nodiscard]] Origin within(Origin origin, std::size_t index) const {
        const HostSpan& span = trace_.host[index];
        const Meaning& meaning = meanings_[span.name];
        if (meaning.backward) {
            origin.phase = Phase::backward;
            follow(origin, span.sequence);
        } else {
            // Kineto copies the number to the range of the engine, NVTX has it at the node inside alone.
            if (origin.phase == Phase::backward && origin.sequence < 0) follow(origin, span.sequence);
            if (meaning.again && origin.phase == Phase::backward) origin.phase = Phase::recompute;
        }
        if (meaning.optimizer) origin.phase = Phase::optimizer;
        if (origin.layer < 0) origin.layer = meaning.layer;
        origin.attention = origin.attention || meaning.attention;
        if (meaning.product) origin.product = static_cast<std::uint32_t>(index);
        return origin;
    }

    /// The backward operator of the forward one with this number.
    void follow(Origin& origin, std::int64_t sequence) const {
        origin.sequence = sequence;
        const auto forward = layers_.find(sequence);
        if (sequence >= 0 && forward != layers_.end()) origin.layer = forward->second;
    }

    void learn_layers() {
        for (std::size_t i = 0; i < trace_.host.size(); ++i) {
            const HostSpan& span = trace_.host[i];
            if (span.sequence >= 0 && host_[i].layer >= 0 && !meanings_[span.name].backward)
                layers_.try_emplace(span.sequence, host_[i].layer);
        }
    }

    const Trace& trace_;
    std::vector<Meaning> meanings_;  ///< by name
    std::vector<Origin> host_, launch_;
    std::vector<std::vector<Item>> threads_;
    std::unordered_map<std::int64_t, std::int32_t> layers_;  ///< by sequence number
    std::unordered_map<std::int64_t, std::size_t> by_correlation_, by_external_;
};

/// The number at the end of a text, and what stands before it; -1 where there is none of at most five digits.
std::int32_t number_at_end(std::string_view& text) {
    std::size_t first = text.size();
    while (first > 0 && std::isdigit(static_cast<unsigned char>(text[first - 1])) != 0) --first;
    std::int32_t number = -1;
    if (text.size() - first > 5) return number;
    std::from_chars(text.data() + first, text.data() + text.size(), number);
    text = text.substr(0, first);
    return number;
}

}  // namespace

std::string_view name(Phase phase) {
    constexpr std::array<std::string_view, 4> names{"forward", "recompute", "backward", "optimizer"};
    return names[static_cast<std::size_t>(phase)];
}

std::string_view name(Kind kind) {
    constexpr std::array<std::string_view, 5> names{"gemm", "attention", "memory-bound", "communication", "copy"};
    return names[static_cast<std::size_t>(kind)];
}

std::int32_t layer_in(std::string_view text) {
    constexpr std::string_view module = "nn.Module: ";
    if (text.starts_with("autograd::") || text.starts_with("aten::")) return -1;
    const bool of_class = text.starts_with(module);
    if (of_class) text.remove_prefix(module.size());
    const std::int32_t number = number_at_end(text);
    if (number < 0 || text.empty()) return -1;
    while (!text.empty() && std::string_view("_.:#[ ").find(text.back()) != std::string_view::npos)
        text.remove_suffix(1);
    const std::string small = lower(text);
    if (of_class) return small.ends_with("layer") || small.ends_with("block") ? number : -1;
    for (const std::string_view word : {"layer", "layers", "block", "blocks", "transformer.h"})
        if (small.ends_with(word)) return number;
    return -1;
}

std::vector<Origin> origins(const Trace& trace) {
    const Sweep sweep(trace);
    std::vector<Origin> all;
    all.reserve(trace.device.size());
    for (const DeviceSpan& span : trace.device) all.push_back(sweep.of(span));
    return all;
}

Kind kind_of(const DeviceSpan& span, std::string_view kernel, const Origin& origin) {
    const std::string small = lower(kernel);
    if (span.activity == Activity::fill) return Kind::memory_bound;
    if (span.activity == Activity::copy) {
        if (has_any(small, {"dtod"})) return Kind::memory_bound;
        return has_any(small, {"ptop"}) ? Kind::communication : Kind::copy;
    }
    if (has_any(small, {"nccl", "rccl"})) return Kind::communication;
    if (has_any(small, {"flash", "fmha", "sdpa", "attention"})) return Kind::attention;
    if (has_any(small, {"gemm", "cutlass", "xmma", "cublas", "nvjet", "cijk_", "splitk", "wgrad", "dgrad", "fprop",
                        "convolve", "_mm_", "gemv"}))
        return Kind::gemm;
    if (has_any(small, {"at::native::", "elementwise", "triton_poi", "triton_red", "triton_per"}))
        return Kind::memory_bound;
    if (origin.product != none) return Kind::gemm;
    return origin.attention ? Kind::attention : Kind::memory_bound;
}

}  // namespace orrery::doors::trace
