// The parts of a linear layer: its products, casts and collectives, forward and backward. For linear.cpp and
// linear_overlapped.cpp alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/compiled.hpp"
#include "strategies/partition/autocast.hpp"
#include "strategies/partition/linear_parts.hpp"
#include "strategies/partition/narrow_products.hpp"
#include "strategies/partition/separate_products.hpp"
#include "strategies/partition/sharder.hpp"
#include "strategies/pytorch_tensor.hpp"
#include "strategies/tensor_overlap.hpp"

namespace orrery::strategies {

/// A product that leaves all outputs, or one part of them.
struct Launched {
    std::uint64_t first;  ///< of its outputs, on this rank
    std::uint32_t outputs;
    ValueId y;
};

/// Writes a linear layer's piece, and hands its output on.
class LinearSharder {
public:
    LinearSharder(LayerStream& stream, const models::Linear& op);
    void shard() &&;

private:
    void parameters();
    void find_products();
    void forward();
    void hand_on();
    void backward();
    /// Both in parts, beside what tensor ranks exchange.
    void overlapped_forward();
    void overlapped_backward();
    void gathered_backward(const kernels::Gemm& dgrad);
    void bulk_backward(const kernels::Gemm& dgrad);
    void pulled_backward(const kernels::Gemm& dgrad);
    void begin_branch();
    [[nodiscard]] Detail forward_detail(const Launched& product, ValueId read) const;
    [[nodiscard]] Detail input_gradient_detail(const Launched& product, ValueId dy, ValueId dx);
    void input_gradient(bool asynchronous, ValueId dy);
    void reduce_input_gradients(bool asynchronous, ValueId dx, ValueId dx_here);
    void weight_gradients(ValueId dy, ValueId dy_rows, ValueId x);
    void cast_input_again(ValueId x);
    void sum_input_gradients();
    [[nodiscard]] std::uint64_t input_bytes() const;
    void account();
    void sum_products(std::vector<Work>& list, const Cells& gradient, std::uint8_t needs = 0) const {
        add_gradient_sums(stream_, list, piece_.results.products.size(), gradient, needs);
    }
    [[nodiscard]] CastLayer cast_layer() const {
        return {op_, gemm_.k, gemm_.n, column_ ? stream_.residual_tokens : rows_, piece_.results.products.size()};
    }
    /// Whether its products in fp8 read casts that are tensors, and so are executed.
    [[nodiscard]] bool reads_casts() const {
        const bool whole = !overlapped_ && !apart() && !op_.again && piece_.results.products.size() == 1;
        return whole && !gathers_narrow() && casts_are_tensors(stream_.plan);
    }
    /// Whether its input is kept in 16 bits and cast again for the weight gradient: attention's results, but where both
    /// are kept (keeps_casts_of_results; TransformerEngine, save_original_input), and a part of a sequence that is
    /// gathered before it is cast.
    [[nodiscard]] bool casts_again() const {
        const bool results = op_.in == models::Dim::attention && keeps_casts(stream_.plan);
        const bool gathers = column_ && stream_.tensor > 1 && stream_.residual == Placement::sharded_sequence;
        return (is_narrow(compute_) && results && !keeps_casts_of_results(stream_.plan)) ||
               (reads_casts() && gathers && gathers_again());
    }
    void quantise(std::vector<Work>& list, std::uint64_t rows, std::uint64_t cols) const {
        if (is_narrow(compute_)) add_quantisation(stream_.plan, list, rows, cols);
    }
    /// Of the layer's input: each product casts it for itself, unless torch.compile finds that they are the same.
    void quantise_input(std::vector<Work>& list, std::uint64_t rows, ValueId x) {
        if (reads_casts()) {
            narrow_.x = add_cast_operand(stream_, list, x, rows, gemm_.k);
            return;
        }
        const std::size_t casts = is_compiled(stream_.plan.training) ? 1 : piece_.results.products.size();
        for (std::size_t i = 0; i < casts; ++i) quantise(list, rows, gemm_.k);
    }
    [[nodiscard]] bool gathers_narrow() const {
        return is_narrow(compute_) && stream_.tensor > 1 && stream_.residual == Placement::sharded_sequence &&
               casts_before_gather(stream_.plan.training);
    }
    /// Its norms write what a product behind them reads, where the scale is known before (LayerNormLinear).
    [[nodiscard]] bool cast_by_norm() const {
        return compute_ == kernels::Dtype::fp8 && column_ && stream_.value == stream_.normed &&
               stream_.plan.training.fp8_recipe == Fp8Recipe::delayed &&
               stream_.plan.training.software == hardware::Software::transformer_engine;
    }
    ValueId gather(std::vector<Work>& list, const std::string& name, std::uint64_t width, ValueId moved,
                   std::uint8_t raises = 0, bool of_weights = false) const;
    [[nodiscard]] bool gathers_again() const { return stream_.plan.strategy.recompute_allgather; }
    /// How often its input is exchanged among tensor ranks: once, or for each of its products by itself.
    [[nodiscard]] std::size_t exchanges() const {
        return column_ && exchanges_inputs_apart(stream_.plan) ? piece_.results.products.size() : 1;
    }
    /// Of them those that gather: graphs of torch.compile have what is the same once (functorch, fx_graph_cse).
    [[nodiscard]] std::size_t gathers() const { return is_compiled(stream_.plan.training) ? 1 : exchanges(); }
    [[nodiscard]] const models::ModelSpec& spec() const { return stream_.plan.model; }
    /// With a parallel residual the ranks' terms of attention and MLP are added first and reduced once, and the
    /// gradient of the sum is gathered once (GPT-NeoX, megatron/model/transformer.py, gpt_j_residual).
    [[nodiscard]] bool summed_with_mlp() const { return spec().parallel_residual && op_.in == models::Dim::attention; }
    [[nodiscard]] bool reduces() const { return row_ && !summed_with_mlp(); }
    /// By its gradients, which run beside whole collectives.
    [[nodiscard]] std::uint32_t spared() const {
        return overlapped_ && column_ && !pulls_parts(stream_.plan) ? spared_multiprocessors : 0;
    }
    /// Whether a product of its own leaves each part of the outputs, where what takes them wants them contiguous:
    /// normed queries and keys, latent attention, keys and values of another sequence.
    [[nodiscard]] bool apart() const {
        const bool normed = op_.out == models::Dim::qkv && spec().qk_norm && spec().kv_lora_rank == 0;
        return op_.second_input || normed || is_latent(op_) || makes_keys(op_);
    }
    [[nodiscard]] ValueId input() const;
    /// Another linear layer behind this one takes the same input, and leaves its gradient first.
    [[nodiscard]] bool joins_gradient() const {
        return op_.out == models::Dim::qkv && op_.in == models::Dim::hidden &&
               (spec().shared_norm || (spec().kv_lora_rank > 0 && spec().q_lora_rank == 0));
    }
    /// One launch for each product, of a kernel of as many outputs.
    void add(std::vector<Work>& list, Work priced, const auto& detail_of);

    /// Raised behind the exchange of a backward that its weights', or its input's, gradient has to wait for.
    static constexpr std::uint8_t gathered_flag = 1, reduced_flag = 2;

    LayerStream& stream_;
    const models::Linear& op_;
    bool column_, row_;
    kernels::Dtype compute_;
    std::uint64_t rows_;
    bool overlapped_;
    kernels::Gemm gemm_;
    Piece piece_;
    FlowBuilder::Weights weight_, bias_;
    struct {
        NarrowOperand x, weight, dy;
    } narrow_;  ///< where products are on tensors in fp8
    std::vector<Launched> products_;
    bool bias_later_ = false;          ///< the kernel behind it adds the bias
    bool cast_by_norm_ = false;        ///< the norm before it writes its input in fp8
    bool begins_branch_ = false;       ///< no norm stands before it
    ValueId added_to_ = no_value;      ///< what another product left, to which this one's is added
    ValueId x_ = no_value;             ///< its input, as the residual stream holds it where that is split
    ValueId whole_ = no_value;         ///< its input, of all tokens
    ValueId y_ = no_value;             ///< its output, likewise; of several products the first one's
    ValueId own_gradient_ = no_value;  ///< of its input, where another's is added
};

}  // namespace orrery::strategies
