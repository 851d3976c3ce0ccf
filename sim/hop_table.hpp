// Hops between GPUs and the links they cross, in flat rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "topology/cluster.hpp"

namespace orrery::sim {

/// Links are numbered densely in the order in which hops first cross them: a step uses few of a large cluster's links.
class HopTable {
public:
    /// Links before `first_link` are left out, as if hops did not cross them.
    explicit HopTable(const topology::Cluster& cluster, topology::LinkId first_link = 0);

    /// So many hops more are to come: their rows take memory once. What is not touched costs nothing.
    void expect(std::size_t hops);
    /// Adds the hop from one GPU to another; inside a node it crosses no link. contends: its traffic is large enough
    /// to count when slack links are looked for. first_link: links before it are left out of this hop. Returns its
    /// number, one more than the hop's before.
    std::uint32_t add(topology::GpuId from, topology::GpuId to, bool contends, topology::LinkId first_link = 0);

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(from_.size()); }
    [[nodiscard]] topology::GpuId from(std::uint32_t hop) const { return from_[hop]; }
    [[nodiscard]] topology::GpuId to(std::uint32_t hop) const { return to_[hop]; }
    [[nodiscard]] bool contends(std::uint32_t hop) const { return contends_[hop]; }
    [[nodiscard]] std::span<const std::uint32_t> links(std::uint32_t hop) const {
        return {links_.data() + first_[hop], links_.data() + first_[hop + 1]};
    }
    /// The part of a message that takes each of links(hop); empty where all of it takes every link.
    [[nodiscard]] std::span<const double> shares(std::uint32_t hop) const {
        if (shares_.empty()) return {};
        return {shares_.data() + first_[hop], shares_.data() + first_[hop + 1]};
    }
    /// fill(link, share) for each link of a hop.
    template <class Fill>
    void each_link(std::uint32_t hop, const Fill& fill) const {
        const auto part = shares(hop);
        for (std::size_t i = 0; const std::uint32_t link : links(hop)) fill(link, part.empty() ? 1.0 : part[i++]);
    }
    /// Links that some hop crosses.
    [[nodiscard]] std::uint32_t used_links() const { return static_cast<std::uint32_t>(link_.size()); }
    [[nodiscard]] topology::LinkId link(std::uint32_t number) const { return link_[number]; }

    /// Takes the links with drop[number] out of every hop and numbers the others anew, in the same order.
    void drop_links(const std::vector<bool>& drop);

private:
    std::uint32_t number_of(topology::LinkId link);
    void add_sprayed(topology::GpuId from, topology::GpuId to, topology::LinkId first_link);

    const topology::Cluster& cluster_;
    topology::LinkId first_link_;
    std::vector<topology::GpuId> from_, to_;
    std::vector<bool> contends_;
    std::vector<std::uint32_t> first_{0}, links_;
    std::vector<double> shares_;  // of links_, where routing splits messages
    std::vector<topology::LinkShare> sprayed_;
    std::vector<topology::LinkId> link_, route_;
    struct Free {
        void operator()(std::uint32_t* numbers) const { std::free(numbers); }
    };
    /// Of a cluster link from first_link_ on, one more; 0 until a hop crosses it. Zeroed by calloc(), which need not
    /// touch fresh memory: a million GPUs have millions of links, and a replica crosses few.
    std::unique_ptr<std::uint32_t, Free> number_;
};

}  // namespace orrery::sim
