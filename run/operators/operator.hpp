// One operator of a layer on one rank: its parameters, and the activations that wait for its backward.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/device.hpp"
#include "models/operators.hpp"
#include "run/bind.hpp"

namespace orrery::run {

class Operator {
public:
    virtual ~Operator() = default;
    /// The action of one of its operations. Throws Error for an operation that it does not know.
    virtual Action bind(Bind& bind, const Site& site) = 0;
    /// All its operations of this phase and micro-batch have been bound.
    virtual void finished(const Site& last) { (void)last; }
    /// Backward passes it without an operation.
    virtual void passed(Bind& bind) { (void)bind; }
    /// Adds what waits for the backward of a micro-batch, so that it can wait elsewhere: between its forward and its
    /// backward others may empty these tensors and put new ones there. Empty ones may be among them.
    virtual void kept(std::int32_t micro_batch, std::vector<Tensor*>& tensors) {
        (void)micro_batch;
        (void)tensors;
    }

protected:
    /// What to throw for an operation that the operator does not know.
    [[noreturn]] static void unknown(const Site& site);
};

/// Token ids and targets of a step in device memory, and where the loss goes; one row of each a micro-batch.
struct StepData {
    std::int32_t* ids = nullptr;      ///< relative to the rank's part of the vocabulary, [micro-batch][token]
    std::int32_t* targets = nullptr;  ///< the same
    float* loss = nullptr;            ///< [micro-batch][token], or maximum, sum and target's logit of each: [3][...]
    const float *cos = nullptr, *sin = nullptr;  ///< [seq, head_dim / 2]
};

/// An operator's maker adds its parameters. prefix: "layer.3."; next: the operator behind it in its layer, or null.
using Made = std::unique_ptr<Operator>;
Made make_linear(const models::Linear& op, const models::Operator* next, const std::string& prefix, const Place& place,
                 Parameters& parameters);
Made make_embedding(const models::Embedding& op, const Place& place, Parameters& parameters, const StepData& data);
/// shared: its output goes to a shared expert and to the router of others.
Made make_norm(const models::Norm& op, bool shared, const std::string& prefix, Parameters& parameters);
Made make_rope(const models::Rope& op, const Place& place, const StepData& data);
Made make_attention(const models::AttentionCore& op, const Place& place);
/// bias: the name of the bias that GELU adds; empty: none, and it adds zeros, which are zero in any format.
Made make_activation(const models::Activation& op, const std::string& bias, void* zeros);
/// Router, dispatch, first product, activation, second product, combination: the pieces that a program has of it.
std::vector<Made> make_experts(const models::Experts& op, const std::string& prefix, const Place& place,
                               Parameters& parameters, kernels::Device& device, void* zeros);
Made make_residual();
Made make_loss(const Place& place, const StepData& data);

}  // namespace orrery::run
