#include "hardware/caching_allocator.hpp"

#include <algorithm>
#include <iterator>

namespace orrery::hardware {

namespace {

// Names and values of c10/cuda/CUDACachingAllocator.cpp.
constexpr std::uint64_t min_block_size = 512;
constexpr std::uint64_t small_size = std::uint64_t{1} << 20;
constexpr std::uint64_t small_buffer = std::uint64_t{2} << 20;
constexpr std::uint64_t large_buffer = std::uint64_t{20} << 20;
constexpr std::uint64_t min_large_alloc = std::uint64_t{10} << 20;
constexpr std::uint64_t round_large = std::uint64_t{2} << 20;

constexpr std::uint64_t rounded(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

constexpr std::uint64_t segment_for(std::uint64_t bytes, bool small) {
    if (small) return small_buffer;
    return bytes < min_large_alloc ? large_buffer : rounded(bytes, round_large);
}

}  // namespace

std::optional<CachingAllocator::Address> CachingAllocator::take(std::uint64_t bytes) {
    const std::uint64_t wanted = rounded(std::max(bytes, min_block_size), min_block_size);
    const bool small = wanted <= small_size;
    Free& free = small ? free_small_ : free_large_;
    auto found = free.lower_bound({wanted, 0});
    if (found == free.end()) {
        if (!reserve(wanted, small)) return std::nullopt;
        found = free.lower_bound({wanted, 0});
    }
    const Address address = found->second;
    free.erase(found);
    Block& block = blocks_.at(address);
    block.free = false;
    const std::uint64_t rest = block.bytes - wanted;
    if (small ? rest >= min_block_size : rest > small_size) {
        block.bytes = wanted;
        blocks_.emplace(address + wanted, Block{rest, block.segment, small, true});
        free.emplace(rest, address + wanted);
    }
    most_allocated_ = std::max(most_allocated_, allocated_ += block.bytes);
    return address;
}

void CachingAllocator::give(Address address) {
    auto block = blocks_.find(address);
    allocated_ -= block->second.bytes;
    block->second.free = true;
    Free& free = free_of(block->second);
    const auto joins = [&](Blocks::iterator other) {
        return other->second.free && other->second.segment == block->second.segment;
    };
    if (const auto next = std::next(block); next != blocks_.end() && joins(next)) {
        free.erase({next->second.bytes, next->first});
        block->second.bytes += next->second.bytes;
        blocks_.erase(next);
    }
    if (block != blocks_.begin())
        if (const auto before = std::prev(block); joins(before)) {
            free.erase({before->second.bytes, before->first});
            before->second.bytes += block->second.bytes;
            blocks_.erase(block);
            block = before;
        }
    free.emplace(block->second.bytes, block->first);
}

/// A free block that holds so many bytes: a segment of its own.
bool CachingAllocator::reserve(std::uint64_t bytes, bool small) {
    const std::uint64_t segment = segment_for(bytes, small);
    if (segment > capacity_ - reserved_) {
        ++retries_;
        release_unused();
        if (segment > capacity_ - reserved_) return false;
    }
    blocks_.emplace(next_, Block{segment, next_, small, true});
    (small ? free_small_ : free_large_).emplace(segment, next_);
    next_ += segment;
    most_reserved_ = std::max(most_reserved_, reserved_ += segment);
    return true;
}

void CachingAllocator::release_unused() {
    for (auto block = blocks_.begin(); block != blocks_.end();) {
        if (!block->second.free || !whole_segment(block)) {
            ++block;
            continue;
        }
        free_of(block->second).erase({block->second.bytes, block->first});
        reserved_ -= block->second.bytes;
        block = blocks_.erase(block);
    }
}

bool CachingAllocator::whole_segment(Blocks::const_iterator block) const {
    const auto next = std::next(block);
    return block->first == block->second.segment &&
           (next == blocks_.end() || next->second.segment != block->second.segment);
}

}  // namespace orrery::hardware
