// Memory of parameters that comes and goes where ranks keep shares of them.
#pragma once

#include <map>
#include <vector>

#include "run/arena.hpp"
#include "run/parameters.hpp"

namespace orrery::run {

/// Weights that are gathered for a call, and gradients of one micro-batch as its backward forms them, each in a buffer
/// of the program: from the collective that gathers, or the first call that writes it, to the last operation that reads
/// it. What it refers to must outlive it.
class Transients {
public:
    Transients(const strategies::Program& program, const Parameters& parameters, Arena& arena);

    /// Before a call's first operation. Returns gradients that must be zeros before it.
    std::vector<Stretch> enter(const strategies::Op& call);
    /// Of a parameter's element and those behind it in its layer, for the call that was entered: where its weight lies,
    /// and where its gradient is formed. Where a rank keeps all of them, that is where it does.
    [[nodiscard]] void* weight(std::uint64_t element);
    [[nodiscard]] void* gradient(std::uint64_t element);

    /// For a collective on the stage's parameters: where it gathers the weights of its layers, and the gradients that
    /// it scatters, unit by unit (Parameters::units).
    [[nodiscard]] std::vector<Stretch> gathered(const strategies::Op& op, const strategies::StateView& view);
    /// Portion::updated: the parts of these that a scatter leaves this rank, where it writes or is the next to read.
    [[nodiscard]] std::vector<Stretch> formed(const strategies::Op& op, strategies::Portion portion);

    /// The program uses the buffer no more.
    void gone(strategies::BufferId buffer);

private:
    std::vector<Stretch> parts_of_formed(const strategies::Op& op);

    const strategies::Program& program_;
    const Parameters& parameters_;
    Arena& arena_;
    std::map<strategies::BufferId, std::uint32_t> forms_;  ///< bucket whose gradients are formed there
    std::map<strategies::BufferId, std::map<std::uint32_t, Tensor>> gathered_;  ///< by buffer, then by unit
    std::map<strategies::BufferId, Tensor> formed_;
    std::map<strategies::BufferId, std::vector<Tensor>> parts_;  ///< of formed gradients that were scattered, by unit
    std::map<std::uint32_t, Tensor> weights_, gradients_;        ///< of the call at hand, by unit and by bucket
    std::uint32_t version_ = 0;                                  ///< of the weights that it reads
};

}  // namespace orrery::run
