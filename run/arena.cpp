#include "run/arena.hpp"

#include <algorithm>
#include <iterator>

namespace orrery::run {

namespace {

constexpr std::uint64_t alignment = 256;

using strategies::Lane;

bool is_receive(Lane lane) { return lane == Lane::recv_forward || lane == Lane::recv_backward; }

bool sent(const Users& users) {
    return users[static_cast<std::size_t>(Lane::send_forward)] != 0 ||
           users[static_cast<std::size_t>(Lane::send_backward)] != 0;
}

void merge(Users& into, const Users& other) {
    for (std::size_t lane = 0; lane < into.size(); ++lane) into[lane] = std::max(into[lane], other[lane]);
}

}  // namespace

void Arena::begin(std::uint32_t item, strategies::Lane lane) {
    item_ = item;
    lane_ = lane;
    waits_.clear();
}

Tensor Arena::take(std::uint64_t bytes) {
    const std::uint64_t rounded = (std::max<std::uint64_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    Block block{.offset = extent_, .bytes = rounded, .users = {}};
    const auto fits = [&](const auto& hole) {
        return hole.second.bytes >= rounded && !(is_receive(lane_) && sent(hole.second.users));
    };
    if (const auto hole = std::find_if(holes_.begin(), holes_.end(), fits); hole != holes_.end()) {
        block.offset = hole->first;
        const Hole rest{hole->second.bytes - rounded, hole->second.users};
        for (std::size_t lane = 0; lane < rest.users.size(); ++lane)
            if (rest.users[lane] != 0 && lane != static_cast<std::size_t>(lane_))
                waits_.push_back(rest.users[lane] - 1);
        holes_.erase(hole);
        if (rest.bytes > 0) holes_.emplace(block.offset + rounded, rest);
    } else {
        extent_ += rounded;
    }
    used_ += rounded;
    peak_ = std::max(peak_, used_);
    return {new Block(block), [this](const Block* gone) {
                give(*gone);
                delete gone;
            }};
}

std::byte* Arena::at(const Tensor& tensor) {
    std::uint32_t& last = tensor->users[static_cast<std::size_t>(lane_)];
    last = std::max(last, item_ + 1);
    return base_ == nullptr ? nullptr : base_ + tensor->offset;
}

void Arena::give(const Block& block) {
    used_ -= block.bytes;
    std::uint64_t offset = block.offset;
    Hole hole{block.bytes, block.users};
    const auto after = holes_.find(offset + block.bytes);
    if (after != holes_.end()) {
        hole.bytes += after->second.bytes;
        merge(hole.users, after->second.users);
        holes_.erase(after);
    }
    const auto next = holes_.lower_bound(offset);
    if (next != holes_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second.bytes == offset) {
            offset = before->first;
            hole.bytes += before->second.bytes;
            merge(hole.users, before->second.users);
            holes_.erase(before);
        }
    }
    holes_[offset] = hole;
}

}  // namespace orrery::run
