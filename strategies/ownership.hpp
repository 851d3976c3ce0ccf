// Which part of a rank's parameters, their gradients and their optimizer states it owns, along every axis of the mesh.
//
// Everything that moves parameters or gradients follows from here: a collective is the conversion (layout.hpp) of one
// column of the table into another.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "strategies/layout.hpp"
#include "strategies/mesh.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Parameters of one class are held by the same groups of ranks. norm: what every tensor rank holds whole (norms,
/// biases behind a reduction, position tables). embedding: the words, which logits may share.
enum class ParameterClass : std::uint8_t { dense, norm, embedding, expert };
inline constexpr std::array parameter_classes{ParameterClass::dense, ParameterClass::norm, ParameterClass::embedding,
                                              ParameterClass::expert};

/// A placement along each axis.
class Along {
public:
    [[nodiscard]] Placement operator[](Axis axis) const { return at_[static_cast<std::size_t>(axis)]; }
    Placement& operator[](Axis axis) { return at_[static_cast<std::size_t>(axis)]; }
    /// Of some axes, those along which ranks have different parts.
    [[nodiscard]] AxisSet split(AxisSet within) const;
    bool operator==(const Along&) const = default;

private:
    std::array<Placement, all_axes.size()> at_{};
};

/// The columns of the table for one class.
struct Ownership {
    Along used;       ///< weights as kernels read them
    Along weights;    ///< as they are kept in between
    Along formed;     ///< gradients as a backward leaves them
    Along gradients;  ///< as they are summed over micro-batches
    Along states;     ///< of the optimizer, and what it updates
    /// Ranks along these axes use the same parameters on other tokens.
    AxisSet replicas;
};
/// Of a validated plan. A sharding over one rank is none.
Ownership ownership(const Plan& plan, ParameterClass of);

/// The class of most parameters of a gradient bucket; norms and embeddings are reduced with the dense ones, whose
/// replicas they share.
constexpr ParameterClass class_of_bucket(bool experts) {
    return experts ? ParameterClass::expert : ParameterClass::dense;
}

/// One collective of a conversion. `split`: axes along which its tensor is already in parts, so that its size (the
/// whole vector, as for nccl-tests) is that of the parameters over the number of ranks along them.
struct Move {
    kernels::CollectiveKind kind;
    AxisSet group, split;

    [[nodiscard]] std::uint64_t size(const Mesh& mesh, std::uint64_t bytes) const {
        return bytes / mesh.group_size(split);
    }
};
/// What turns one column into another along some axes, in order: axes that need the same collective make one group,
/// parts are scattered before sums of them are formed and gathered after. Axes of one rank move nothing, but are named
/// in a group with others.
std::vector<Move> moves(const Mesh& mesh, const Along& from, const Along& to, AxisSet within);

/// Of what a rank uses (parameters, or bytes of them), its share where `column` splits it among replicas; rounded down.
std::uint64_t share(const Mesh& mesh, const Ownership& of, const Along& column, std::uint64_t amount);

/// Axes along which ranks update different parameters: a number about all gradients is summed over these.
AxisSet updates_differ(const Plan& plan);

}  // namespace orrery::strategies
