// What flows through one layer on one rank: its tensors, its parameters, and which of them every operation takes, in
// the order of its kernel's contract (kernels/operands.hpp).
//
// A layer's forward and its backward block share one LayerFlow. A tensor that backward reads before it writes it is
// carried from one to the other, once for every micro-batch under way; all others live within their block. So what a
// mode of recomputation keeps follows from the two lists of operations alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/collective.hpp"
#include "kernels/number_format.hpp"
#include "kernels/settings.hpp"
#include "models/model_spec.hpp"

namespace orrery::strategies {

/// What a tensor of a layer is.
enum class Role : std::uint8_t {
    activation,       ///< of one micro-batch: results, statistics, what backward needs of them
    gradient,         ///< of an activation
    weight,           ///< a parameter, in the format that products read
    weight_gradient,  ///< its sum over micro-batches
    table,            ///< given with the step or with the model's shape
    // Of a parameter that products read in fp8: its matrix, the same turned, and fp32 [1] (narrow_products.hpp)
    cast_weight,
    turned_weight,
    weight_scale,
};
std::string_view name(Role role);

/// Tensors that no operation writes, or that outlive the layers.
enum class Table : std::uint8_t {
    ids,          ///< int32 [tokens]: of the micro-batch, relative to the rank's part of the vocabulary
    targets,      ///< the same, of the next tokens
    loss,         ///< fp32 [tokens]: the loss of each token, or its largest logit where the vocabulary is split
    loss_sum,     ///< fp32 [tokens]: the sum of exponentials, where the vocabulary is split
    loss_picked,  ///< fp32 [tokens]: the target's logit, likewise
    rope_cos,     ///< fp32 [seq, head_dim / 2]
    rope_sin,     ///< the same
    zeros,        ///< zero in any format, as wide as a layer's widest bias
    copy_expert,  ///< int32 [copies]: the expert of each copy of a token
    copy_source,  ///< int32 [copies]: the copy that lies in a row, rows ordered by expert
    copy_row,     ///< int32 [copies]: the row of each copy
    arrived_row,  ///< int32 [rows]: by expert, where the row lies as it arrived
    sorted_row,   ///< int32 [rows]: the inverse
    ones,         ///< fp32 [copies]
    // int32, where context ranks exchange heads (partition/context.cpp): of each row of one head in a new order, its
    // place in the old one. Rows lie by token and head (packed: queries, keys, values of a token), by rank, token and
    // head as they are exchanged, or by position, in what the ranks that exchange hold of a sequence, and head.
    spread_queries,  ///< packed -> exchanged
    spread_keys,     ///< the same; values too, whose rows lie as many further
    spread_results,  ///< by token -> exchanged
    order_packed,    ///< exchanged queries, then keys, then values -> by position, packed
    order_results,   ///< exchanged -> by position
    return_queries,  ///< by position, packed -> exchanged
    return_keys,     ///< the same; values too
    return_results,  ///< by position -> exchanged
    join_results,    ///< exchanged -> by token
    join_packed,     ///< exchanged queries, then keys, then values -> packed
    // int32, where context ranks gather keys and values: of each token's row in a new order, its place in the old one.
    by_position,  ///< by rank and token -> by position in the whole sequence
    by_rank,      ///< the inverse
    decoded_ids,  ///< as ids, of the sequence that is decoded; targets are of that one too
    images,       ///< of the micro-batch, in the format of activations
    // Of an encoder, and of the decoder beside it: int32 [seq, seq], the bucket of the distance of each pair of
    // positions; biases of the pairs' scores, [seq, seq, heads], and the sum of their gradients over a stack's layers
    encoded_distances,
    decoded_distances,
    encoded_biases,
    decoded_biases,
    encoded_bias_gradients,
    decoded_bias_gradients,
};

using ValueId = std::uint32_t;
inline constexpr ValueId no_value = ~ValueId{0};

/// tf32 numbers lie in memory as fp32.
constexpr kernels::Dtype in_memory(kernels::Dtype dtype) {
    return dtype == kernels::Dtype::tf32 ? kernels::Dtype::fp32 : dtype;
}

/// A tensor of one layer on one rank.
struct Value {
    Role role = Role::activation;
    kernels::Format format = kernels::Format::fp32;
    std::uint64_t elements = 0;
    std::uint32_t of = 0;  ///< of a parameter: index into LayerFlow::parameters; table: the Table
};

/// An operand: a tensor from one of its elements on, or columns of its rows.
struct View {
    ValueId value = no_value;
    std::uint64_t offset = 0;               ///< elements
    std::uint64_t columns = 0, stride = 0;  ///< of each row, and elements from one to the next; 0: all there is
    [[nodiscard]] bool given() const { return value != no_value; }
};

/// The name under which first and last stage hold the word embedding.
inline constexpr const char* word_embedding = "embedding.words";

/// How the values of a parameter begin (GPT-2: normal with deviation 0.02, norms one, biases zero).
enum class Initial : std::uint8_t { normal, zeros, ones };

/// A parameter of one layer. Globally it is a matrix [rows, cols] (a vector where cols is 1); a rank holds some of its
/// rows or columns.
struct Parameter {
    std::string name;                  ///< within its layer; the word embedding's is that of all who share it
    std::vector<std::uint64_t> parts;  ///< its rows, in parts of which every rank holds a share (q, k, v; gate, up)
    std::uint64_t cols = 1;
    enum class Split : std::uint8_t { none, rows, cols } split = Split::none;  ///< over the tensor axis
    Initial initial = Initial::normal;
    std::uint64_t real_rows = ~std::uint64_t{0};  ///< rows from here on are padding
    std::uint32_t experts = 0;  ///< the parts repeat for every expert of the model; 0: no parameter of experts
    bool replicated = false;  ///< every tensor rank holds all of it, and sees its own tokens under sequence parallelism
    bool alike = false;       ///< split experts' last bias: held by all tensor ranks, which see the same tokens
    bool shared_words = false;  ///< the word embedding, counted where it is looked up
    bool held = true;           ///< false: another layer of this rank holds it
    bool trained = true;        ///< false: frozen
};

/// A kernel over tokens of sequences that context ranks share, as far as they take part: the rank's place says which
/// (shared_sequences.hpp).
struct SharedSequences {
    enum class Step : std::uint8_t {
        none,      ///< no such kernel: over all its rows
        ring,      ///< a rank's queries and the keys of the rank `number` before it
        gathered,  ///< part `number` (0 or 1) of a rank's queries, and all keys
    };
    Step step = Step::none;
    std::uint32_t number = 0;
    bool of_keys = false;  ///< its rows are keys, not queries
    bool causal = true;
    std::uint32_t ranks = 1, batch = 1;
    std::uint32_t seq = 0;     ///< tokens of a sequence that a rank holds
    std::uint32_t window = 0;  ///< tokens that a query sees of gathered keys; 0: all
};

/// The dropout that a launch draws the mask of, or whose backward it is: the rank's place, the micro-batch and the step
/// say which part of the mask is the launch's.
struct DropoutSite {
    enum class Of : std::uint8_t {
        nothing,   ///< no dropout
        residual,  ///< the kernel's rows are tokens of the residual stream
        scores,    ///< of attention's probabilities [batch, heads, seq, keys]
    };
    Of of = Of::nothing;
    std::uint32_t number = 0;  ///< among the layer's dropouts
};

/// What a launch is told beyond its kernel and operands.
struct Launch {
    kernels::Settings settings{};  ///< its pointers are null: the views below stand for them
    View bias{}, experts{}, unpermuted{}, unpermuted_weight{}, unpermuted_dweight{};
    View position_bias{}, position_gradient{};  ///< the members of Settings::position_bias
    /// What is launched instead of the kernel that is priced, where operands lie in another order: the gradient of a
    /// weight that lies as [outputs, inputs], or copies of tokens that are moved by a table.
    std::optional<kernels::Kernel> kernel{};
    std::uint32_t parts = 1;   ///< launched once for each of as many equal parts of its rows, one result for each
    bool by_position = false;  ///< weights are indexed by position in the sequence, the rest by row
    models::Sequence sequence = models::Sequence::only;  ///< by_position: whose tokens the rows are
    bool first_bias = false;    ///< the first tensor rank alone adds the bias: the ranks' results are summed
    bool real_classes = false;  ///< of the rank's part of the vocabulary, padding is no class
    bool loss_scaled = false;   ///< what it casts is scaled as the loss is (LossScaling)
    bool narrowed = false;      ///< the last operand takes the result rounded to its format
    kernels::Reduction reduction = kernels::Reduction::sum;  ///< of a collective
    SharedSequences shared{};
    DropoutSite dropout{};
    std::uint32_t zeroed =
        0;          ///< bit i: operand i begins as zeros, of which a shared kernel may leave rows as they are
    View begins{};  ///< what the last operand begins as a copy of, likewise
};

/// The operands of one operation, and how it is launched. A kernel's operands are those of its contract, in order; a
/// collective's are what it sends and what it receives. Empty: the operation is priced, and cannot be executed.
struct Detail {
    std::vector<View> operands{};
    Launch launch{};
    std::vector<Detail> also{};  ///< launched behind it at no further price: each names its kernel
};

struct LayerFlow {
    std::vector<Value> values;
    std::vector<Parameter> parameters;
    ValueId input = no_value, output = no_value;  ///< none: an embedding has no input, a head no output
    ValueId input_gradient = no_value, output_gradient = no_value;  ///< what backward leaves and takes
    ValueId second_input = no_value, second_gradient = no_value;    ///< of a layer of two inputs
    /// What layers behind have left of the gradient of the same input, where backward adds to it: of the first, and of
    /// the second.
    ValueId gradient_before = no_value, second_gradient_before = no_value;
    bool complete = true;  ///< false: some operation has no operands, and the layer cannot be executed
};

/// Builds a LayerFlow.
class FlowBuilder {
public:
    explicit FlowBuilder(LayerFlow& flow) : flow_(flow) {}

    ValueId activation(kernels::Format format, std::uint64_t elements) {
        return add({Role::activation, format, elements});
    }
    ValueId gradient(kernels::Format format, std::uint64_t elements) { return add({Role::gradient, format, elements}); }
    /// The gradient of an activation, in its format: made when it is first asked for.
    ValueId gradient_of(ValueId activation);
    /// The gradient of `activation` is that tensor, also where it was asked for before.
    void set_gradient(ValueId activation, ValueId gradient);
    /// The tensor that an id stands for since set_gradient().
    [[nodiscard]] ValueId resolved(ValueId id) const;
    ValueId table(Table which, kernels::Format format, std::uint64_t elements);
    /// The two tensors of a new parameter, of which this rank holds `elements`.
    struct Weights {
        ValueId weight = no_value, gradient = no_value;
    };
    Weights parameter(Parameter parameter, std::uint64_t elements, kernels::Format weight, kernels::Format gradient);
    /// What is made of a weight for products in fp8: Role::cast_weight, turned_weight or weight_scale.
    ValueId cast_of(ValueId weight, Role role);

    [[nodiscard]] const Value& value(ValueId id) const { return flow_.values[id]; }

private:
    ValueId add(Value value);

    LayerFlow& flow_;
    std::map<ValueId, ValueId> gradients_;
    std::map<ValueId, ValueId> instead_;
    std::map<Table, ValueId> tables_;
};

}  // namespace orrery::strategies
