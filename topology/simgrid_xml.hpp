// SimGrid's platform description (version 4.1, simgrid.org/doc: "Platform reference"), read as a fabric and written.
//
//   <platform version="4.1">
//     <zone id="site" routing="Full">
//       <cluster id="rack" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="25GBps" lat="1us"/>     hosts n0 .. n3
//       <host id="a" speed="1Gf"/>  <link id="l" bandwidth="25GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
//       <route src="a" dst="b"><link_ctn id="l" direction="UP"/> ..</route>  <zoneRoute src=".." gw_src=".." ..>
//
// Read: what stands above; zones (or AS) inside each other with routing "Full"; flat clusters with or without a
// backbone; a route in both directions unless symmetrical="NO". Hosts become nodes in the order of the file; their
// speed is left to the profile. A SHARED link is one capacity for both directions, as SimGrid means it.
#pragma once

#include <memory>
#include <string>

#include "topology/cluster.hpp"
#include "topology/fabric.hpp"

namespace orrery::topology {

/// parts: nodes 0, or as many as the file has hosts; nics_per_node 1; rates are the file's. Throws Error with file,
/// line, what is wrong and how to mend it: an element or attribute beyond those above, a name given twice or unknown,
/// two hosts without a route.
std::shared_ptr<const Fabric> read_simgrid_xml(const std::string& file, const FabricParts& parts);
/// The same from text; `file` is for messages.
std::shared_ptr<const Fabric> parse_simgrid_xml(const std::string& text, const std::string& file,
                                                const FabricParts& parts);

/// The cluster as a platform: a host for every GPU (its speed: the datasheet's dense 16-bit peak), a link for every
/// directed link, a route for every ordered pair of GPUs. Throws Error for more than 256 GPUs, and for packet spraying
/// that the scenario states, which no list of links describes; where a fabric sprays because nothing is stated, each
/// pair has its deterministic route, and a comment says so.
std::string to_simgrid_xml(const Cluster& cluster);

}  // namespace orrery::topology
