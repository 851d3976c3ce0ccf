// The rounds of a steady pipeline in a program that is written.
#pragma once

#include <cstdint>
#include <span>

#include "strategies/schedule/slot.hpp"
#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// The slots of a stage, and the operation with which each begins.
struct WrittenSlots {
    std::span<const Slot> slots;
    std::span<const std::uint32_t> begins;
};

/// The longest run of rounds of `slots` slots each: those of two rounds do the same works in the same chunks, and the
/// operations of two rounds differ in their micro-batches and buffers alone, these being alike. No rounds (ops 0) where
/// there are not two of them.
Rounds steady_rounds(const Program& program, const WrittenSlots& written, std::uint32_t slots, std::uint32_t left_out);

}  // namespace orrery::strategies
