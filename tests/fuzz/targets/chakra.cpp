// Chakra execution traces: one rank's file, or several with a line "RANK" between them. A step that is accepted can be
// replayed or is refused as a deadlock, and each moment of each rank is accounted for once.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/temporary_folder.hpp"
#include "calibrate/profile_store.hpp"
#include "doors/chakra/traces.hpp"
#include "sim/graph_replay.hpp"
#include "tests/fuzz/mutate_messages.hpp"
#include "tests/fuzz/target.hpp"
#include "topology/catalog.hpp"

namespace orrery::fuzz {

namespace {

/// The files of the ranks; those of the input before are gone.
std::string written(std::string_view input) {
    static const TemporaryFolder folder("fuzz");
    for (const auto& old : std::filesystem::directory_iterator(folder.path()))
        if (old.path().extension() == ".et") std::filesystem::remove(old.path());
    for (std::size_t rank = 0, from = 0; from != std::string_view::npos; ++rank) {
        const std::size_t end = input.find(between_ranks, from);
        std::ofstream(folder.path() / ("step." + std::to_string(rank) + ".et"), std::ios::binary)
            << input.substr(from, end == std::string_view::npos ? end : end - from);
        from = end == std::string_view::npos ? end : end + between_ranks.size();
    }
    return (folder.path() / "step").string();
}

/// Whether it ended without an Error, which must help.
template <class Do>
bool accepted(const std::string& prefix, Do what) {
    try {
        what();
        return true;
    } catch (const Error& error) {
        require(error.file().starts_with(prefix), std::string("an error names the file: ") + error.what());
        require(!error.message().empty() && !error.hint().empty(), "an error says what is wrong, and the remedy");
        return false;
    }
}

const topology::Cluster& cluster() {
    static const topology::Cluster two_nodes = [] {
        topology::ClusterSpec spec;
        spec.preset = "superpod-a100";
        spec.nodes = 2;
        return topology::build(spec);
    }();
    return two_nodes;
}

}  // namespace

bool chakra(const std::string& input) {
    const std::string prefix = written(input);
    doors::chakra::Traces traces;
    if (!accepted(prefix, [&] { traces = doors::chakra::read_traces({prefix, ""}); })) return false;
    static calibrate::ProfileStore profiles;
    static const calibrate::Predictor& predictor = profiles.find("a100");
    return accepted(prefix, [&] {
        const sim::GraphReplayed ran = sim::replay_graph(traces.step, cluster(), predictor);
        require(std::isfinite(ran.seconds) && ran.seconds >= 0, "a step takes a time");
        for (const sim::RankUse& rank : ran.ranks) {
            const double all = std::accumulate(rank.seconds.begin(), rank.seconds.end(), 0.0);
            require(std::abs(all - ran.seconds) <= 1e-9 * ran.seconds, "each moment counts once");
        }
    });
}

}  // namespace orrery::fuzz
