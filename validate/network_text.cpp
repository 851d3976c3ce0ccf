#include "validate/network_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <vector>

#include "base/text.hpp"
#include "validate/row.hpp"

namespace orrery::validate {

namespace {

constexpr double gigabit = 1e9 / 8, gigabyte = 1e9, widest_port = 400 * gigabit;

/// A number and its unit. The unit's letters are the row's own: GB/s is eight times Gb/s, and "80GB" is no rate.
constexpr const char* rate_text = R"((\d{1,5}(?:\.\d{1,4})?)\s*(GB/s|GBps|GByte/s|[Gg]b/s|[Gg]bps|[Gg]bits?/s|)"
                                  R"([Gg]bit|GbE|[Gg]be|Gb|[Gg])(?![A-Za-z0-9]))";

double rate(const std::string& digits, const std::string& unit) {
    const bool bytes = unit == "GB/s" || unit == "GBps" || unit == "GByte/s";
    return std::stod(digits) * (bytes ? gigabyte : gigabit);
}

/// Too many digits are no count, and read as not stated.
std::uint32_t count(const std::string& digits) {
    return digits.size() > 4 ? 0U : static_cast<std::uint32_t>(std::stoul(digits));
}

bool any_of(const std::string& words, std::initializer_list<const char*> candidates) {
    return std::ranges::any_of(candidates, [&](const char* word) { return contains(words, word); });
}

/// Clauses stand between ";", ",", "+", "and" and brackets; a bracket goes with the clause that it stands in.
std::vector<std::string> clauses(const std::string& text) {
    static const std::regex separator(R"(\s*;\s*|,\s+|\s[+/]\s|\s+and\s+|\s+plus\s+)");
    // A bracket that says what was measured is a clause of its own.
    static const std::regex measured(R"(\(([^()]*measured[^()]*)\))", std::regex::icase);
    std::string plain = std::regex_replace(text, measured, " ; $1 ; ");
    std::ranges::replace_if(
        plain, [](char c) { return c == '(' || c == ')' || c == '[' || c == ']'; }, ' ');
    static const std::regex times(R"(\s*(?:\*|\xC3\x97)\s*)");  // "4 * 100Gb", "4×100Gb"
    plain = std::regex_replace(plain, times, " x ");
    return {std::sregex_token_iterator(plain.begin(), plain.end(), separator, -1), std::sregex_token_iterator()};
}

/// NICs that carry both belong to the compute network ("Storage&Compute: 4x ...").
bool of_the_host(const std::string& words) {
    if (contains(words, "&compute") || contains(words, "+compute")) return false;
    return any_of(words, {"management", "storage", "frontend", "front-end", "in-band", "out-of-band", "north-south"});
}

bool inside_nodes(const std::string& words) {
    return any_of(words, {"nvlink", "nvswitch", "pcie", "ici torus", "per direction"});
}

Nics nics_in(const std::string& clause) {
    const std::string unit = rate_text;
    static const std::regex doubled(R"((\d+)\s*x\s*(\d{1,4})\s*x\s*)" + unit),
        counted(R"((\d+)\s*x\s*(?:[A-Za-z][\w./-]*\s+){0,4})" + unit), alone(unit),
        of_gpus(unit + R"(\s*(?:[A-Za-z][\w-]*\s+){0,3}(?:per|a|each|/)\s*gpu)", std::regex::icase);
    std::smatch m;
    if (std::regex_search(clause, m, doubled))
        return {.count = count(m[1]), .bytes_per_second = std::stod(m[2]) * rate(m[3], m[4])};
    if (std::regex_search(clause, m, counted)) return {.count = count(m[1]), .bytes_per_second = rate(m[2], m[3])};
    if (const Nics nics = nics_of_generation(clause); nics.count != 0) return nics;
    if (!std::regex_search(clause, m, alone)) return {};
    const double speed = rate(m[1], m[2]);
    if (std::regex_search(clause, of_gpus)) return {.bytes_per_second = speed, .per_gpu = true};
    if (contains(clause, "x?")) return {.bytes_per_second = speed};
    // A rate that one port has is one NIC; more than that is the sum over the node's NICs.
    return {.count = speed <= widest_port ? 1U : 0U,
            .bytes_per_second = speed,
            .total = speed > widest_port,
            .bare = speed <= widest_port};
}

/// Of several networks whose NICs are counted, the one that carries most is between GPUs: a node has a port of 100 Gb/s
/// for its host beside eight of 400 for them. Where a count is missing, the first that is named.
bool carries_more(const Nics& nics, const Nics& than) {
    const bool counted = nics.count > 0 && than.count > 0 && !nics.bare;
    if (!counted) return !than.stated();
    return nics.count * nics.bytes_per_second > than.count * than.bytes_per_second;
}

/// "all-reduce 16 nodes 23-55 Gb/s measured": the middle of the range.
double measured_in(const std::string& clause) {
    static const std::regex range(R"((\d{1,5}(?:\.\d{1,4})?)\s*(?:-|to)\s*)" + std::string(rate_text)),
        single{std::string(rate_text)};
    std::smatch m;
    if (std::regex_search(clause, m, range)) return (rate(m[1], m[3]) + rate(m[2], m[3])) / 2;
    return std::regex_search(clause, m, single) ? rate(m[1], m[2]) : 0.0;
}

/// "aws-ofi-nccl 1.7.3, NCCL 2.18.5".
void read_versions(const std::string& words, NetworkText& network) {
    static const std::string version = R"((?:\s+|-)v?(\d{1,4}\.\d{1,4}(?:\.\d{1,4})?))";
    static const std::regex nccl("(?:^|[^-a-z])nccl" + version), plugin("(?:^|[^-a-z])aws-ofi-nccl" + version);
    std::smatch m;
    if (std::regex_search(words, m, nccl)) network.nccl = m[1];
    if (std::regex_search(words, m, plugin)) network.aws_ofi_nccl = m[1];
}

/// InfiniBand goes before Ethernet: the compute network of nodes that have both.
Fabric fabric_in(const std::string& words) {
    static const std::regex infiniband(R"(\bib\b|infiniband|\d\s*x?\s*(fdr|edr|hdr|ndr|xdr)\d*\b)"),
        opa(R"(\bopa\b|omni-?\s?path)");
    if (std::regex_search(words, opa)) return Fabric::omni_path;
    if (contains(words, "efa")) return Fabric::efa;
    if (std::regex_search(words, infiniband)) return Fabric::infiniband;
    return any_of(words, {"ethernet", "roce", "tcp", "gbe"}) ? Fabric::ethernet : Fabric::not_stated;
}

bool says_nothing(const std::string& words) {
    return words.empty() || any_of(words, {"not stated", "not published", "unknown", "n/a"});
}

/// Digits before a G, or a word that names no network: something was printed that nothing above read.
bool understood(const std::string& text, const NetworkText& network, bool only_other_networks) {
    if (network.nics.stated() || network.fabric != Fabric::not_stated) return true;
    const std::string words = lower(text);
    if (says_nothing(words)) return true;
    return !only_other_networks && any_of(words, {"nvlink", "nvswitch", "pcie", "selene", "superpod", "nic", "dcn"});
}

}  // namespace

Nics nics_of_generation(const std::string& text) {
    static const std::regex generation(R"((\d+)\s*x\s*(fdr|edr|hdr|ndr|xdr))", std::regex::icase);
    std::smatch m;
    if (!std::regex_search(text, m, generation)) return {};
    const std::string name = lower(m[2].str());
    const double speed = name == "fdr" ? 56 : name == "edr" ? 100 : name == "hdr" ? 200 : name == "ndr" ? 400 : 800;
    return {.count = count(m[1]), .bytes_per_second = speed * gigabit};
}

NetworkText read_network(const std::string& text) {
    constexpr std::size_t longest = 400;
    NetworkText network;
    std::string kept;
    bool others = false;
    for (const std::string& clause : clauses(text.substr(0, longest))) {
        const std::string words = lower(clause);
        others = others || of_the_host(words);
        if (of_the_host(words) || inside_nodes(words)) continue;
        if (contains(words, "measured")) {
            network.measured_bytes_per_second = measured_in(clause);
            continue;
        }
        kept += words + " ; ";
        if (const Nics nics = nics_in(clause); carries_more(nics, network.nics)) network.nics = nics;
    }
    network.fabric = fabric_in(kept);
    read_versions(lower(text.substr(0, longest)), network);
    // "InfiniBand, 200 Gb/s" names a generation: nodes that came with it have several, the vendor's number.
    constexpr double of_several = 200 * gigabit;
    if (network.nics.bare && network.fabric == Fabric::infiniband && network.nics.bytes_per_second >= of_several)
        network.nics.count = 0;
    if (!understood(text, network, others)) throw Skip(fmt::format("network not understood: {}", label(text)));
    return network;
}

}  // namespace orrery::validate
