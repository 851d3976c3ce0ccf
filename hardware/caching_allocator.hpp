// The allocator that PyTorch's tensors on a GPU come from: how much it takes from the driver for what is asked of it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace orrery::hardware {

/// c10/cuda/CUDACachingAllocator.cpp with its default settings, for one stream. A request is rounded up to 512 bytes
/// and takes the smallest free block that holds it, of those for requests up to 1 MiB or of those for larger ones; what
/// the block has more is split off, from 512 bytes on or from more than 1 MiB. Where none holds it, the driver is asked
/// for a segment: 2 MiB, 20 MiB for requests below 10 MiB, beyond them the request in multiples of 2 MiB. Freed
/// neighbours of a segment join; segments stay reserved until the driver has no more.
class CachingAllocator {
public:
    /// capacity: bytes that the driver has in all.
    explicit CachingAllocator(std::uint64_t capacity = std::numeric_limits<std::uint64_t>::max())
        : capacity_(capacity) {}

    /// Of a block that was taken; every one is another.
    using Address = std::uint64_t;

    /// A block for so many bytes. When the driver has no more, segments that nobody uses go back to it first. Nothing:
    /// it has not so much even then (torch.OutOfMemoryError).
    std::optional<Address> take(std::uint64_t bytes);
    /// The block must have been taken, and not been given back since.
    void give(Address block);

    [[nodiscard]] std::uint64_t allocated() const { return allocated_; }  ///< bytes of blocks in use
    [[nodiscard]] std::uint64_t reserved() const { return reserved_; }    ///< bytes of segments
    [[nodiscard]] std::uint64_t most_allocated() const { return most_allocated_; }
    [[nodiscard]] std::uint64_t most_reserved() const { return most_reserved_; }
    [[nodiscard]] std::uint32_t retries() const { return retries_; }  ///< requests for which segments went back

private:
    struct Block {
        std::uint64_t bytes = 0;
        std::uint64_t segment = 0;  ///< address of its first block
        bool small = false, free = false;
    };
    using Blocks = std::map<Address, Block>;
    using Free = std::set<std::pair<std::uint64_t, Address>>;  ///< by size, then by address

    bool reserve(std::uint64_t bytes, bool small);
    void release_unused();
    [[nodiscard]] bool whole_segment(Blocks::const_iterator block) const;
    Free& free_of(const Block& block) { return block.small ? free_small_ : free_large_; }

    std::uint64_t capacity_;
    Blocks blocks_;
    Free free_small_, free_large_;
    Address next_ = 0;
    std::uint64_t allocated_ = 0, reserved_ = 0, most_allocated_ = 0, most_reserved_ = 0;
    std::uint32_t retries_ = 0;
};

}  // namespace orrery::hardware
