// How messages choose among the minimal routes of a fabric, and how they avoid what is broken.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/fabric.hpp"

namespace orrery::topology {

enum class RoutingPolicy : std::uint8_t {
    minimal,   ///< deterministic: Fabric::usual_path (d-mod-k on trees, dimension order on tori)
    ecmp,      ///< a hash of sender, receiver and seed picks the path, as Ethernet switches do with flows (RFC 2992)
    spray,     ///< every packet takes another path: all paths, in equal shares
    adaptive,  ///< the path least used when a pair of ports first sends (adaptive.hpp)
    rails,     ///< minimal, but another rail is reached over NVLink in the sending node (NCCL's PXN, version 2.12)
};
std::span<const std::string_view> routing_policies();
/// "": minimal. Throws Error at /cluster/routing.
RoutingPolicy routing_policy(const std::string& name);

struct Routing {
    RoutingPolicy policy = RoutingPolicy::minimal;
    std::uint64_t seed = 1;  ///< of the hash
    bool stated = true;      ///< false: the policy is what such a fabric usually has
};

/// A path out of `paths` by a hash: the same for the same ports and seed.
std::uint32_t hashed_path(const Fabric& fabric, Port from, Port to, std::uint32_t paths, std::uint64_t seed);

/// Links and routers that do not work.
class Failures {
public:
    /// names: "leaf 3", "spine 0", "core 2", "router 7" (a router with all its links), "leaf 3 - spine 1" (all cables
    /// between two), "node 4 nic 2" (its cable), "link 17" (a link of the fabric and the one back). Throws Error at
    /// /cluster/failed/i for a name that does not exist.
    Failures(std::shared_ptr<const Fabric> fabric, const std::vector<std::string>& names);

    [[nodiscard]] std::uint32_t failed_links() const { return count_; }
    [[nodiscard]] bool blocks(std::span<const std::uint32_t> route) const;
    /// Appends the first working one of the fabric's minimal routes, beginning with `path`; where none works, the
    /// shortest way round.
    void route(Port from, Port to, std::uint32_t path, std::vector<std::uint32_t>& out) const;
    /// Ports that most others cannot reach, in order.
    [[nodiscard]] std::vector<Port> cut_off() const;

private:
    void fail(std::uint32_t link);
    void read(const std::string& name, const std::string& pointer);
    [[nodiscard]] std::uint32_t vertex(std::string_view name, const std::string& pointer) const;
    void search(Port from, Port to, std::vector<std::uint32_t>& out) const;
    [[nodiscard]] std::span<const std::uint32_t> links_of(std::uint32_t vertex) const {
        return {out_.data() + first_[vertex], first_[vertex + 1] - first_[vertex]};
    }

    std::shared_ptr<const Fabric> fabric_;
    std::vector<bool> failed_;  // by link
    std::uint32_t count_ = 0;
    std::vector<std::uint32_t> first_;  // by vertex, into out_
    std::vector<std::uint32_t> out_;    // links that leave a vertex
};

}  // namespace orrery::topology
