// A rank's shares of weights in host memory or on its node's drives, from where they come for each use.
//
// ZeRO-Infinity (Rajbhandari et al. 2021, arXiv:2104.07857; DeepSpeed's offload_param of ZeRO-3): a device holds of
// weights what is gathered for the calls at hand and what is on its way. The paper's prefetcher (section 6.2) begins,
// when a layer's call does, to read the shares of the third call behind it from the drives, to copy those of the
// second to the device, and to gather the next one's. What the host updates stays there, or is written to the drives;
// what the device updates is copied back.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "strategies/intern.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Throws Error where weights in host memory, or anything on drives, do not go with the rest of the plan.
void check_weight_offload(const Plan& plan);

/// Writes how the shares of each use of a layer come to the device. Uses are numbered in program order.
class ArrivingShares {
public:
    ArrivingShares(const Plan& plan, Builder& builder, Intern& intern)
        : plan_(plan), builder_(builder), intern_(intern) {}

    /// Calls before a use at which its shares are read from drives, copied to the device, and gathered.
    static constexpr std::size_t reads_ahead = 3, copies_ahead = 2;

    /// Does nothing where shares lie in host memory.
    void read(std::size_t use, const Label& label, std::uint64_t bytes, std::span<const BufferId> waits);
    void copy(std::size_t use, const Label& label, std::uint64_t bytes, std::span<const BufferId> waits);
    /// The use's shares on the device.
    BufferId take(std::size_t use) { return on_device_.extract(use).mapped(); }

private:
    const Plan& plan_;
    Builder& builder_;
    Intern& intern_;
    std::map<std::size_t, BufferId> read_, on_device_;  // by use
};

/// So many bytes, there once `from` is written, go from host memory to the node's drives; what says that they are
/// there.
BufferId to_drives(Builder& builder, const Label& label, std::uint64_t bytes, BufferId from);

/// So many new weights, `updated` by the device, go back to where they lie; to drives through two buffers in host
/// memory.
void updated_weights_leave(const Plan& plan, std::uint64_t weights, BufferId updated, Builder& builder, Intern& intern);

}  // namespace orrery::strategies
