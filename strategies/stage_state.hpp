// What a rank holds of its stage's parameters as a whole, and which of it the operations between the last backward and
// the next forward take: gradients are summed, their norm is found, the optimizer steps, new weights are gathered.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "kernels/number_format.hpp"
#include "kernels/settings.hpp"

namespace orrery::strategies {

/// Arrays with one number for each parameter, and some that stand beside them. The masters and moments of what the host
/// updates lie in its memory.
enum class State : std::uint8_t {
    weights,         ///< as products read them
    gradients,       ///< summed over micro-batches, in the format of these sums
    main_gradients,  ///< the same as the optimizer takes them, fp32; where sums are fp32 it is the same memory
    masters,         ///< fp32; where products read fp32 it is the weights' memory
    first_moments,   ///< fp32
    second_moments,  ///< fp32
    overflow,        ///< fp32 [1]: a number where gradients are, none where some are not. The host sees it likewise
    norm,            ///< fp32 [1]: the sum of squares of gradients. The host sees what a collective makes of it
    received_words,  ///< the other stage's gradient of the word embedding, in the format of sums
    gathered,        ///< where ranks keep shares of weights: those of one layer as its kernels read them
    /// Where ranks keep shares of gradients: those of one micro-batch and one bucket, as its backward forms them. They
    /// are zeros when the first call that writes their buffer begins.
    formed,
    arrived_gradients,  ///< in host memory: those that the host updates with, in the format of sums
    leaving_weights,    ///< in host memory: those that it has updated, as products read them
    // Of one weight that products read in fp8 (StateView::parameter): fp32 [1], its largest element; its matrix, and
    // the same turned; fp32 [1], what their elements are multiplied by
    largest,
    cast_weights,
    turned_weights,
    weight_scales,
};
inline constexpr std::size_t all_states = 17;
std::string_view name(State state);

/// Where an optimizer in host memory (optimizer_offload.hpp) leaves the update of a parameter.
enum class Holder : std::uint8_t { either, device, host };

/// Of such an array. A rank updates what the ownership table says (ownership.hpp); the parts of a program are the same
/// for all ranks of its stage, the elements that they name are each rank's own.
enum class Portion : std::uint8_t {
    kept,        ///< all that the rank has of it
    updated,     ///< what this rank updates
    counted,     ///< of that, what this rank adds to the norm: no second copy of what others add as well
    replicated,  ///< what every tensor rank holds whole
    words,       ///< the word embedding
};
std::string_view name(Portion portion);

/// An operand. bucket: one bucket of gradients (gradient_buckets.hpp) alone; or one of the three below. layer: of
/// StageState::layers some alone.
struct StateView {
    static constexpr std::uint32_t all = ~std::uint32_t{0}, of_experts = all - 1, not_of_experts = all - 2;

    State state = State::gradients;
    Portion portion = Portion::kept;
    std::uint32_t bucket = all;
    static constexpr std::int32_t all_layers = std::numeric_limits<std::int32_t>::min();
    std::int32_t layer = all_layers;
    std::uint32_t layers = 1;        ///< from `layer` on
    Holder holder = Holder::either;  ///< of updated and counted ones
    /// Of weights that steps without a flush between them read: how often they have been updated since the program
    /// began.
    std::uint32_t version = 0;
    /// One parameter of `layer` alone, by its index in LayerFlow::parameters.
    static constexpr std::uint32_t all_parameters = ~std::uint32_t{0};
    std::uint32_t parameter = all_parameters;

    /// Whether it takes of a bucket.
    [[nodiscard]] bool holds(std::uint32_t number, bool experts) const;
    [[nodiscard]] bool holds_layer(std::int32_t number) const;
    bool operator==(const StateView&) const = default;
};

/// The operands of one operation, and how it is launched. A kernel's operands are those of its contract, in order; it
/// is launched once for each stretch of memory in which they all lie. A collective's are what it sends and what it
/// receives, bucket by bucket, and where it accumulates is added to what lies there; a send's what it sends, a
/// receive's what it receives; a copy's what it copies, and where to. A sum of squares is of scale_factor times its
/// operand, where that is given. The host's Adam takes gradients as they have arrived, and brings them to fp32, scaled
/// and clipped, before it. Empty: the operation is priced, and cannot be executed.
struct StateDetail {
    std::vector<StateView> operands{};
    kernels::Settings settings{};  ///< its pointers are null; Adam's are the run's
    double most_norm = 0;          ///< above 0: the factor is one more, which brings the norm down to it, or 1
    bool unscales = false;         ///< the factor is one over the loss's scale; State::overflow is written beside it
};

/// Parameters of one bucket.
struct BucketState {
    std::uint64_t parameters = 0;              ///< as they are used
    std::uint64_t gradients = 0, weights = 0;  ///< kept of their gradients, and of themselves
    bool experts = false;
    std::uint64_t on_host = 0;  ///< of those that a rank updates
};

/// Parameters of one layer, whose weights are gathered together.
struct LayerState {
    std::int32_t layer = 0;
    std::uint64_t parameters = 0;  ///< without those of experts
    std::uint64_t experts = 0;
};

/// A weight that products read in fp8, by its index in LayerFlow::parameters.
struct NarrowState {
    std::int32_t layer = 0;
    std::uint32_t parameter = 0;
    std::uint64_t elements = 0;
};

/// How much there is of everything.
struct StageState {
    kernels::Format weight = kernels::Format::fp32, gradient = kernels::Format::fp32;
    std::vector<BucketState> buckets{};
    std::vector<LayerState> layers{};
    std::vector<NarrowState> narrow{};
    /// Ranks among which the update of a bucket is divided: of experts, and of all others.
    std::uint32_t sharing_experts = 1, sharing = 1;
    std::uint64_t replicated = 0, words = 0;
    std::uint32_t versions =
        1;  ///< of weights that are there at once: a version takes the place of the one so many before

    [[nodiscard]] kernels::Format format_of(State state) const;
    /// Of a view; of Portion::counted at most so many.
    [[nodiscard]] std::uint64_t elements(const StateView& view) const;

private:
    [[nodiscard]] std::uint64_t elements_of_layer(const StateView& view) const;
    [[nodiscard]] std::uint64_t elements_of_parameter(const StateView& view) const;
};

}  // namespace orrery::strategies
