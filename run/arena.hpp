// Device memory of activations and scratch, planned while a program is bound: every tensor gets its place once, before
// the first step runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "strategies/step_program.hpp"

namespace orrery::run {

/// The last item of each lane that touched a piece of memory, plus one; 0: none.
using Users = std::array<std::uint32_t, strategies::lanes>;

/// Memory of one tensor.
struct Block {
    std::uint64_t offset = 0, bytes = 0;
    Users users{};
};
/// Its memory is free for others when the last copy is gone.
using Tensor = std::shared_ptr<Block>;

/// First-fit placement in program order. Memory that is used again makes its new owner's first item wait for the items
/// that touched it last, as far as they run on other lanes. A receive never takes what a send used last: it would wait
/// for the send, and where two stages send to each other each send would wait for the other's. The arena must outlive
/// its tensors.
class Arena {
public:
    /// base: null for a first pass that only finds peak().
    explicit Arena(std::byte* base = nullptr) : base_(base) {}
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    /// From now on tensors are taken and used by this item.
    void begin(std::uint32_t item, strategies::Lane lane);
    /// Items of other lanes that the current item must wait for, because it took memory that they used.
    [[nodiscard]] const std::vector<std::uint32_t>& waits() const { return waits_; }

    [[nodiscard]] Tensor take(std::uint64_t bytes);
    /// The tensor's address, for use by the current item.
    [[nodiscard]] std::byte* at(const Tensor& tensor);

    /// The most bytes that were in use at once, and up to where they reached (with holes).
    [[nodiscard]] std::uint64_t peak() const { return peak_; }
    [[nodiscard]] std::uint64_t extent() const { return extent_; }

private:
    struct Hole {
        std::uint64_t bytes = 0;
        Users users{};
    };
    void give(const Block& block);

    std::byte* base_;
    std::map<std::uint64_t, Hole> holes_;  ///< by offset, never adjacent
    std::vector<std::uint32_t> waits_;
    std::uint32_t item_ = 0;
    strategies::Lane lane_ = strategies::Lane::compute;
    std::uint64_t used_ = 0, peak_ = 0, extent_ = 0;
};

}  // namespace orrery::run
