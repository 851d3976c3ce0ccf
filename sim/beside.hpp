// What kernels run beside: collectives and copies of other lanes, and how much longer the kernels take for it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/contention.hpp"
#include "strategies/step_program.hpp"

namespace orrery::sim {

/// Seconds that a kernel takes longer, by what it runs beside.
struct Slowed {
    double tensor = 0;   ///< collectives of its own layer, on the lane `tensor`
    double experts = 0;  ///< exchanges of another micro-batch's tokens
    double data = 0;     ///< gradients and parameters
    double copies = 0;   ///< to and from the host, where a core makes them
    [[nodiscard]] double total() const { return tensor + experts + data + copies; }
};

/// A collective among data ranks, by its number in a program, and the number of the first operation that it can run
/// beside: what it reads has been written by those before, what it overwrites has been read, the lane (that of sums
/// among groups and this taken as one) has begun all that comes before it there, and the host, which is ahead, has come
/// so far.
struct Beginning {
    std::uint32_t op = 0, at = 0;
};
/// In the order of the program, which is that of `at` too. What is asked for late begins before its place: gathers that
/// the host asks for as their turn comes run beside the layer before.
std::vector<Beginning> beginnings_among_data_ranks(const strategies::Program& program);

/// Goes through a role's operations in the order of its program, blocks included: told operation by operation, a call
/// and its operations one by one come to the same. What another lane does lasts as long as it takes alone, counted in
/// seconds of the compute lane after the operation behind which it begins, and at most until that lane waits for it.
/// Kernels within take longer by what it costs them; a collective on the compute lane lets the time pass. Waiting for
/// other ranks does not: when they come is not known here.
class Beside {
public:
    /// Another lane begins an operation of `program`, which must stay where it is, and each second of which kernels
    /// lose so much beside.
    void begin(const strategies::Program& program, const strategies::Op& op, double seconds, Contention lost);
    /// The compute lane or the host is about to begin one: what it waits for has ended.
    void wait(const strategies::Program& program, const strategies::Op& op);

    /// The compute lane runs a kernel of so many seconds. spares: it leaves multiprocessors to what is beside it.
    [[nodiscard]] Slowed kernel(double seconds, bool spares) {
        return share(seconds, spares ? &Contention::traffic : &Contention::whole);
    }
    /// The compute lane runs something that nothing slows.
    void pass(double seconds) { (void)share(seconds, &Contention::whole); }

    [[nodiscard]] bool nothing() const { return running_.empty(); }
    /// Seconds of all that runs, in the order in which it began.
    [[nodiscard]] std::vector<double> left() const;

private:
    struct Running {
        const strategies::Program* program;
        const strategies::Op* op;
        double left;  // seconds
        Contention lost;
    };
    Slowed share(double seconds, double Contention::*lost);

    std::vector<Running> running_;  // in the order in which they began
};

}  // namespace orrery::sim
