#include "calibrate/measure/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/error.hpp"
#include "calibrate/measure/block.hpp"
#include "calibrate/measure/training_launch.hpp"
#include "kernels/operand_memory.hpp"

namespace orrery::calibrate {

namespace {

using kernels::CopyKind;
using kernels::Device;

constexpr std::uint64_t alignment = 256;
constexpr std::size_t most_sets = 2048;
/// Same operands on every device.
constexpr std::uint64_t fill_seed = 1;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// Elements of random values made for one operand; a larger one holds them over and over: speed does not depend on
/// which numbers they are, and making 10^7 of them takes longer than timing the kernel.
constexpr std::uint64_t random_elements = 1U << 17U;

/// Fills the operands with what the kernel expects. Values that depend on each other are made in full.
void fill(Device& device, const kernels::Kernel& kernel, kernels::OperandMemory& memory) {
    const auto& operands = memory.operands();
    const bool whole = kernels::forward_of(kernel).has_value() || std::ranges::any_of(operands, [](const auto& o) {
                           return o.fill == kernels::Fill::permutation;
                       });
    if (whole) {
        (void)memory.fill(fill_seed);
        return;
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
        kernels::Operand piece = operands[i];
        piece.elements = std::min(piece.elements, random_elements);
        const std::vector<std::byte> values = kernels::host_values(piece, fill_seed, i);
        auto* const at = static_cast<std::byte*>(memory.pointers()[i]);
        for (std::uint64_t offset = 0; offset < operands[i].bytes(); offset += values.size())
            device.copy(CopyKind::host_to_device, at + offset, values.data(),
                        std::min<std::uint64_t>(values.size(), operands[i].bytes() - offset), 0);
        device.synchronize();
    }
}

std::uint64_t bytes_of(const TrainingLaunch& launch) {
    std::uint64_t bytes = 0;
    for (const kernels::Operand& operand : kernels::operands(launch.kernel, launch.settings)) bytes += operand.bytes();
    return bytes;
}

class KernelWorkload final : public Workload {
public:
    KernelWorkload(Device& device, const TrainingLaunch& launch, std::size_t sets)
        : Workload(sets), device_(&device), launch_(launch), first_(device, launch.kernel, launch.settings) {
        fill(device, launch.kernel, first_);
        std::uint64_t stride = 0;
        for (const auto& operand : first_.operands()) stride += aligned(operand.bytes());
        pointers_.assign(first_.pointers().begin(), first_.pointers().end());
        if (sets > 1) others_ = std::make_unique<Block>(device, stride * (sets - 1));
        for (std::size_t set = 1; set < sets; ++set) {
            std::uint64_t offset = stride * (set - 1);
            for (std::size_t i = 0; i < first_.operands().size(); ++i) {
                const std::uint64_t bytes = first_.operands()[i].bytes();
                pointers_.push_back(others_->at(offset));
                device.copy(CopyKind::device_to_device, pointers_.back(), first_.pointers()[i], bytes, 0);
                offset += aligned(bytes);
            }
        }
        device.synchronize();
    }
    void run(std::size_t set, kernels::Stream stream) override {
        const std::size_t operands = first_.operands().size();
        device_->launch(launch_.kernel, std::span(pointers_).subspan(set * operands, operands), stream,
                        launch_.settings);
    }

private:
    Device* device_;
    TrainingLaunch launch_;
    kernels::OperandMemory first_;
    std::unique_ptr<Block> others_;
    std::vector<void*> pointers_;  // operands of the first set, of the second, ...
};

/// From one block to another, both cut into sets.
class TransferWorkload final : public Workload {
public:
    using Run = std::function<void(const void* from, void* to, kernels::Stream stream)>;
    struct Side {
        std::uint64_t bytes;
        bool host;
    };
    TransferWorkload(Device& device, Side from, Side to, std::size_t sets, Run run)
        : Workload(sets),
          from_(device, aligned(from.bytes) * sets, from.host),
          to_(device, aligned(to.bytes) * sets, to.host),
          from_stride_(aligned(from.bytes)),
          to_stride_(aligned(to.bytes)),
          run_(std::move(run)) {
        zero(device, from_, from_stride_ * sets, from.host);
        zero(device, to_, to_stride_ * sets, to.host);
    }
    void run(std::size_t set, kernels::Stream stream) override {
        run_(from_.at(from_stride_ * set), to_.at(to_stride_ * set), stream);
    }

private:
    /// Touches every page: memory that was never written may have no place yet.
    static void zero(Device& device, const Block& block, std::uint64_t bytes, bool host) {
        constexpr std::uint64_t piece = 1U << 20U;
        if (host) {
            std::fill_n(block.at(0), bytes, std::byte{0});
            return;
        }
        const std::uint64_t most = std::min(bytes, piece);
        const Block zeros(device, most, true);
        std::fill_n(zeros.at(0), most, std::byte{0});
        for (std::uint64_t offset = 0; offset < bytes; offset += most)
            device.copy(CopyKind::host_to_device, block.at(offset), zeros.at(0), std::min(most, bytes - offset), 0);
        device.synchronize();
    }

    Block from_, to_;
    std::uint64_t from_stride_, to_stride_;
    Run run_;
};

}  // namespace

std::size_t sets_for(std::uint64_t footprint, const kernels::DeviceFacts& facts) {
    if (footprint == 0 || facts.cache_bytes == 0) return 1;
    const std::uint64_t wanted = 2 * facts.cache_bytes / footprint + 1;
    const std::uint64_t room = facts.memory_bytes == 0 ? wanted : facts.memory_bytes / 4 / footprint;
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(std::min(wanted, room), 1, most_sets));
}

std::unique_ptr<Workload> kernel_workload(Device& device, const kernels::Kernel& kernel) {
    const TrainingLaunch launch = training_launch(kernel);
    return std::make_unique<KernelWorkload>(device, launch, sets_for(bytes_of(launch), device.facts()));
}

std::unique_ptr<Workload> copy_workload(Device& device, const CopyShape& copy) {
    if (copy.bytes == 0) throw Error("a copy of 0 bytes", "give it a size");
    const TransferWorkload::Side from{copy.bytes, copy.kind == CopyKind::host_to_device},
        to{copy.bytes, copy.kind == CopyKind::device_to_host};
    return std::make_unique<TransferWorkload>(
        device, from, to, sets_for(2 * copy.bytes, device.facts()),
        [&device, copy](const void* source, void* target, kernels::Stream stream) {
            device.copy(copy.kind, target, source, copy.bytes, stream);
        });
}

std::unique_ptr<Workload> collective_workload(Device& device, kernels::Communicator* communicator,
                                              const CollectiveShape& c) {
    if (communicator == nullptr || communicator->ranks() != c.ranks)
        throw Error(fmt::format("{} needs {} ranks; {} run", to_text(Subject(c)), c.ranks,
                                communicator == nullptr ? 1 : communicator->ranks()),
                    "start that many: --ranks, or mpirun -n");
    const std::uint64_t send = kernels::send_bytes(c.kind, c.bytes, c.ranks),
                        receive = kernels::receive_bytes(c.kind, c.bytes, c.ranks);
    return std::make_unique<TransferWorkload>(
        device, TransferWorkload::Side{send, false}, TransferWorkload::Side{receive, false},
        sets_for(send + receive, device.facts()),
        [communicator, c](const void* source, void* target, kernels::Stream stream) {
            communicator->run(c.kind, source, target, c.bytes, kernels::Dtype::fp32, stream);
        });
}

std::unique_ptr<Workload> beside_workload(Device& device, kernels::Communicator* communicator, const Beside& beside) {
    if (const auto* copy = std::get_if<CopyShape>(&beside)) return copy_workload(device, *copy);
    return collective_workload(device, communicator, std::get<CollectiveShape>(beside));
}

}  // namespace orrery::calibrate
