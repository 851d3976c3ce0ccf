#include "kernels/cuda/cudnn_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/cuda/attention.hpp"
#include "kernels/device.hpp"

namespace orrery::kernels::cuda {

using cudnn::Pointwise;
using cudnn::Reduction;
using cudnn::Type;
using Shape = CudnnGraph::Shape;
using Tensor = CudnnGraph::Tensor;

namespace {

/// Of 9.6: before it, gradients of keys that queries share needed memory of the caller's (NVIDIA/cudnn-frontend,
/// include/cudnn_frontend/node/scaled_dot_product_flash_attention.h, where the other limits of versions come from).
constexpr std::size_t first_version = 90'600;
/// Both passes of 9.10.0 and 9.10.1 have errors.
constexpr std::size_t wrong_from = 91'000, right_again = 91'002;
/// Lengths that are no multiples of 128 need a mask of lengths in backward passes before it.
constexpr std::size_t any_length_from = 91'501;
/// Masked scores are minus infinity from 9.10 on, the lowest number before.
constexpr std::size_t infinity_from = 91'000;
/// What begins in the scratch does at multiples of so many bytes, as allocations do.
constexpr std::uint64_t line = 256;

/// Sequences of a batch, and heads of keys with the queries that share them, that one launch takes.
struct Part {
    std::uint32_t sequences, kv_heads;
};

std::uint32_t largest_divisor(std::uint32_t of, std::uint64_t most) {
    auto divisor = static_cast<std::uint32_t>(std::min<std::uint64_t>(of, most));
    while (of % divisor != 0) --divisor;
    return divisor;
}

/// Of a backward pass: equal parts whose scores, two bytes each and padded to tiles of 64, take so much. None: those of
/// one head take more, or parts would not begin at multiples of 16 bytes.
std::optional<Part> part_of(const Attention& a, std::uint64_t most) {
    constexpr std::uint64_t tile = 64, aligned = 4;
    if (!a.backward) return Part{a.batch, a.kv_heads};
    const std::uint64_t padded = (a.seq + tile - 1) / tile * tile;
    const std::uint64_t fit = most / (2 * padded * padded * (a.heads / a.kv_heads));
    if (fit >= std::uint64_t{a.batch} * a.kv_heads) return Part{a.batch, a.kv_heads};
    if (fit == 0 || a.seq % aligned != 0) return std::nullopt;
    if (fit >= a.kv_heads) return Part{largest_divisor(a.batch, fit / a.kv_heads), a.kv_heads};
    return Part{1, largest_divisor(a.kv_heads, fit)};
}

/// What all graphs of one attention share: [batch, heads, tokens, columns] as cuDNN's fused attention wants them.
struct Extents {
    std::int64_t batch, heads, kv_heads, seq, dim;
    std::int64_t q_stride, kv_stride, o_stride;  ///< elements from one token to the next
    Type io;
    float scale, masked;
    bool causal;
    std::int64_t all_heads;  ///< of queries, where a part has fewer

    /// Heads beside each other in rows of tokens.
    [[nodiscard]] Shape rows(std::int64_t count, std::int64_t stride) const {
        return {{batch, count, seq, dim}, {seq * stride, dim, stride, 1}};
    }
    [[nodiscard]] static Shape transposed(Shape shape) {
        std::swap(shape.extents[2], shape.extents[3]);
        std::swap(shape.strides[2], shape.strides[3]);
        return shape;
    }
    /// One head behind the other.
    [[nodiscard]] Shape dense(std::int64_t columns) const {
        return {{batch, heads, seq, columns}, {heads * seq * columns, seq * columns, columns, 1}};
    }
    [[nodiscard]] Shape scores() const { return dense(seq); }
    /// A number for each query.
    [[nodiscard]] Shape per_query() const { return {{batch, heads, seq, 1}, {heads * seq, seq, 1, 1}}; }
    [[nodiscard]] Shape log_sums() const { return {{batch, heads, seq, 1}, {all_heads * seq, seq, 1, 1}}; }
};

Extents extents_of(const Attention& a, const Part& part, const Settings& settings, std::size_t version) {
    const TokenStrides strides = token_strides(a, settings);
    return {.batch = part.sequences,
            .heads = a.heads / a.kv_heads * part.kv_heads,
            .kv_heads = part.kv_heads,
            .seq = a.seq,
            .dim = a.head_dim,
            .q_stride = static_cast<std::int64_t>(strides.q),
            .kv_stride = static_cast<std::int64_t>(strides.kv),
            .o_stride = static_cast<std::int64_t>(strides.o),
            .io = a.dtype == Dtype::fp16 ? Type::fp16 : Type::bf16,
            .scale = score_scale(a),
            .masked = version >= infinity_from ? -std::numeric_limits<float>::infinity()
                                               : std::numeric_limits<float>::lowest(),
            .causal = a.causal,
            .all_heads = a.heads};
}

/// A graph as it is built: the steps that both passes take.
struct Builder {
    CudnnGraph& graph;
    const Extents& e;

    Tensor scores() const { return graph.passing(e.scores()); }
    Tensor per_query() const { return graph.passing(e.per_query()); }

    /// Scaled scores of queries against keys.
    Tensor scaled(Tensor q, Tensor k_transposed) const {
        const Tensor products = graph.matmul(q, k_transposed, scores());
        return graph.pointwise(Pointwise::multiply, {products, graph.number(e.scale)}, scores());
    }

    /// Keys behind their query are masked.
    Tensor masked(Tensor x) const {
        if (!e.causal) return x;
        const Tensor row = graph.pointwise(Pointwise::index, {x}, graph.passing(e.scores(), Type::int32), Type::fp32,
                                           /*axis=*/2),
                     column = graph.pointwise(Pointwise::index, {x}, graph.passing(e.scores(), Type::int32), Type::fp32,
                                              /*axis=*/3),
                     kept = graph.pointwise(Pointwise::greater_equal, {row, column},
                                            graph.passing(e.scores(), Type::boolean), Type::boolean);
        return graph.pointwise(Pointwise::select, {x, graph.number(e.masked), kept}, scores());
    }

    /// A gradient of keys or values from what each query head gives: the heads that share one are added.
    void add_heads(Tensor transposed, Tensor rows, Tensor gradient) const {
        if (e.heads == e.kv_heads) {
            graph.matmul(transposed, rows, gradient);
            return;
        }
        const Tensor of_each = graph.matmul(transposed, rows, graph.passing(e.dense(e.dim), e.io));
        graph.reduce(Reduction::add, of_each, gradient);
    }

    /// Rows of keys by columns of queries, in the operands' format.
    Tensor turned(Tensor x) const { return graph.reshape(x, graph.passing(Extents::transposed(e.scores()), e.io)); }
};

}  // namespace

/// The graph of a part and its operands, in the order of kernels/operands.hpp; backward, the scratch of per-query sums.
struct CudnnAttention::Plan {
    struct Operand {
        Tensor tensor;
        std::uint64_t sequence, kv_head;  ///< bytes from one to the next
    };
    CudnnGraph graph;
    Attention whole;
    Part part;
    std::vector<Operand> operands{};
    std::optional<Tensor> sums{};
    std::uint64_t sums_bytes;  ///< at the begin of the scratch; what cuDNN works in is behind them

    Plan(const cudnn::Api& api, const Extents& e, const Attention& a, const Part& of)
        : graph(api), whole(a), part(of), sums_bytes((cuda::scratch_bytes(a) + line - 1) / line * line) {
        if (a.backward)
            describe_backward(e);
        else
            describe_forward(e);
    }

    /// Queries, results and their gradients in rows of tokens; keys and values; logarithms.
    [[nodiscard]] Operand of_queries(const Extents& e, Tensor tensor, std::int64_t stride) const {
        return {tensor, static_cast<std::uint64_t>(2 * e.seq * stride),
                static_cast<std::uint64_t>(2 * e.dim) * (whole.heads / whole.kv_heads)};
    }
    [[nodiscard]] static Operand of_keys(const Extents& e, Tensor tensor) {
        return {tensor, static_cast<std::uint64_t>(2 * e.seq * e.kv_stride), static_cast<std::uint64_t>(2 * e.dim)};
    }
    [[nodiscard]] Operand of_sums(Tensor tensor) const {
        const std::uint64_t head = sizeof(float) * whole.seq;
        return {tensor, head * whole.heads, head * (whole.heads / whole.kv_heads)};
    }

    /// o = softmax(scale q k^T) v, and the logarithm of each query's sum of exponentials.
    void describe_forward(const Extents& e) {
        const Tensor q = graph.operand(e.rows(e.heads, e.q_stride), e.io),
                     k = graph.operand(Extents::transposed(e.rows(e.kv_heads, e.kv_stride)), e.io),
                     v = graph.operand(e.rows(e.kv_heads, e.kv_stride), e.io),
                     o = graph.operand(e.rows(e.heads, e.o_stride), e.io),
                     lse = graph.operand(e.log_sums(), Type::fp32);
        operands = {of_queries(e, q, e.q_stride), of_keys(e, k), of_keys(e, v), of_queries(e, o, e.o_stride),
                    of_sums(lse)};
        const Builder b{graph, e};
        const Tensor x = b.masked(b.scaled(q, k)), most = graph.reduce(Reduction::maximum, x, b.per_query()),
                     below = graph.pointwise(Pointwise::subtract, {x, most}, b.scores()),
                     exponentials = graph.pointwise(Pointwise::exponential, {below}, b.scores()),
                     sum = graph.reduce(Reduction::add, exponentials, b.per_query()),
                     logarithm = graph.pointwise(Pointwise::logarithm, {sum}, b.per_query());
        graph.pointwise(Pointwise::add, {most, logarithm}, lse);
        const Tensor probabilities =
            graph.pointwise(Pointwise::divide, {exponentials, sum}, graph.passing(e.scores(), e.io));
        graph.matmul(probabilities, v, o);
    }

    /// With p the probabilities and r = sum(do o) of each query: dv = p^T do, ds = scale p (do v^T - r), dk = ds^T q,
    /// dq = ds k. (Dao et al. 2022, arXiv:2205.14135, appendix B.2.)
    void describe_backward(const Extents& e) {
        const Shape keys = e.rows(e.kv_heads, e.kv_stride), queries = e.rows(e.heads, e.q_stride),
                    results = e.rows(e.heads, e.o_stride);
        const Tensor q = graph.operand(queries, e.io), k = graph.operand(Extents::transposed(keys), e.io),
                     v = graph.operand(Extents::transposed(keys), e.io), o = graph.operand(results, e.io),
                     lse = graph.operand(e.log_sums(), Type::fp32), d_o = graph.operand(results, e.io),
                     dq = graph.operand(queries, e.io), dk = graph.operand(keys, e.io), dv = graph.operand(keys, e.io);
        operands = {of_queries(e, q, e.q_stride),  of_keys(e, k),  of_keys(e, v),
                    of_queries(e, o, e.o_stride),  of_sums(lse),   of_queries(e, d_o, e.o_stride),
                    of_queries(e, dq, e.q_stride), of_keys(e, dk), of_keys(e, dv)};
        sums = graph.operand(e.per_query(), Type::fp32);
        const Builder b{graph, e};
        const Tensor products = graph.pointwise(Pointwise::multiply, {d_o, o}, graph.passing(e.dense(e.dim))),
                     summed = graph.reduce(Reduction::add, products, b.per_query());
        // As cuDNN's engines are found by: times 1, where the share that a dropout keeps would stand.
        graph.pointwise(Pointwise::multiply, {summed, graph.number(1)}, *sums);

        const Tensor below = graph.pointwise(Pointwise::subtract, {b.scaled(q, k), lse}, b.scores()),
                     p = graph.pointwise(Pointwise::exponential, {b.masked(below)}, b.scores());
        b.add_heads(b.turned(p), d_o, dv);

        const Tensor dp = graph.matmul(d_o, v, b.scores()),
                     apart = graph.pointwise(Pointwise::subtract, {dp, *sums}, b.scores()),
                     weighed = graph.pointwise(Pointwise::multiply, {apart, p}, b.scores()),
                     ds = graph.pointwise(Pointwise::multiply, {weighed, graph.number(e.scale)}, b.scores());
        b.add_heads(b.turned(ds), q, dk);
        // Both of one format: fp32 is what NVIDIA's frontend gives tensors between operations.
        graph.matmul(ds, graph.reshape(k, graph.passing(keys)), dq);
    }
};

CudnnAttention::CudnnAttention(const cudnn::Api& api, int capability, std::uint64_t most)
    : api_(&api), capability_(capability), most_scores_(most), version_(api.cudnnGetVersion()) {
    if (const cudnn::Status status = api.cudnnCreate(&handle_); status != 0)
        throw DeviceError(fmt::format("starting cuDNN: {} ({})", api.cudnnGetErrorString(status), last_refusal(api)),
                          "ORRERY_CUDNN=off does without it");
}

CudnnAttention::~CudnnAttention() {
    plans_.clear();
    api_->cudnnDestroy(handle_);
}

std::string CudnnAttention::version() const {
    return fmt::format("{}.{}.{}", version_ / 10'000, version_ / 100 % 100, version_ % 100);
}

/// Gradients repeat themselves on Hopper (NVIDIA/TransformerEngine, issue 992: before it, they need not); on Blackwell
/// by engines that have to be named. A single token has no backward pass there, and keys behind the last tile are not
/// masked where there is no causal mask (cudnn-frontend, pull request 628).
bool CudnnAttention::is_known(const Attention& a, const Settings& settings) const {
    constexpr int ampere = 80, hopper = 90, blackwell = 100;
    constexpr std::uint32_t columns = 8, longest_head = 128, tile = 128;
    if (capability_ < (a.backward ? hopper : ampere) || capability_ >= blackwell) return false;
    if (version_ < first_version || (version_ >= wrong_from && version_ < right_again)) return false;
    if (a.dtype != Dtype::fp16 && a.dtype != Dtype::bf16) return false;
    if (!a.plain() || a.seq < 2 || settings.dropout || !cuda::supports(a)) return false;
    if (a.head_dim % columns != 0 || a.head_dim > longest_head || settings.row_stride % columns != 0) return false;
    return !a.backward || a.seq % tile == 0 || (a.causal && version_ >= any_length_from);
}

/// A version that refuses a description takes no step with it: our own kernels do.
std::unique_ptr<CudnnAttention::Plan> CudnnAttention::planned(const Attention& a, const Settings& settings) {
    const std::optional<Part> part = part_of(a, most_scores_);
    if (!part) {
        refusal_ = "scores of one head take more memory than they may";
        return nullptr;
    }
    try {
        auto plan = std::make_unique<Plan>(*api_, extents_of(a, *part, settings, version_), a, *part);
        if (plan->graph.plan(handle_)) return plan;
        refusal_ = last_refusal(*api_);
    } catch (const DeviceError& error) {
        refusal_ = error.what();
    }
    return nullptr;
}

const CudnnAttention::Plan* CudnnAttention::plan_for(const Attention& a, const Settings& settings) {
    if (!is_known(a, settings)) return nullptr;
    const Key key{a.dtype, a.backward, a.causal, a.batch, a.seq, a.heads, a.kv_heads, a.head_dim, settings.row_stride};
    const auto [at, is_new] = plans_.try_emplace(key);
    if (is_new) at->second = planned(a, settings);
    return at->second.get();
}

std::uint64_t CudnnAttention::scratch_bytes(const Plan& plan) { return plan.sums_bytes + plan.graph.workspace_bytes(); }

void CudnnAttention::launch(const Place& place, const Plan& plan, std::span<void* const> operands) {
    check(*api_, api_->cudnnSetStream(handle_, place.stream), "giving cuDNN a stream");
    std::byte* const scratch = static_cast<std::byte*>(place.scratch);
    for (std::uint32_t sequence = 0; sequence < plan.whole.batch; sequence += plan.part.sequences)
        for (std::uint32_t head = 0; head < plan.whole.kv_heads; head += plan.part.kv_heads) {
            std::vector<CudnnGraph::At> at;
            for (std::size_t i = 0; i < plan.operands.size(); ++i) {
                const Plan::Operand& operand = plan.operands[i];
                at.push_back({operand.tensor, static_cast<std::byte*>(operands[i]) + sequence * operand.sequence +
                                                  head * operand.kv_head});
            }
            if (plan.sums) at.push_back({*plan.sums, scratch});
            plan.graph.run(handle_, at, scratch + plan.sums_bytes);
        }
}

}  // namespace orrery::kernels::cuda
