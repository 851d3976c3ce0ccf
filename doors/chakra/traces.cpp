#include "doors/chakra/traces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "documents/document.hpp"
#include "documents/message.hpp"
#include "doors/chakra/rank_trace.hpp"

namespace orrery::doors::chakra {

namespace {

namespace fs = std::filesystem;
using strategies::GraphNode;
using strategies::RankGraph;
using strategies::StepGraph;

/// Of all graphs that differ: some gigabytes.
constexpr Room whole_room{std::uint64_t{40} << 20U, std::uint64_t{160} << 20U};
/// Of all ranks together, each of which the replay counts through.
constexpr std::uint64_t most_rank_nodes = std::uint64_t{1} << 29U;
constexpr std::uint32_t most_ranks = 1U << 20U;

/// "step.12.et" -> "step" and 12.
struct RankFile {
    std::string stem;
    std::uint32_t rank;
};

std::optional<RankFile> rank_file(std::string name) {
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    if (!name.ends_with(".et")) return std::nullopt;
    name.resize(name.size() - 3);
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos || dot == 0) return std::nullopt;
    const std::string digits = name.substr(dot + 1);
    std::uint32_t rank = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (error != std::errc{} || end != digits.data() + digits.size() || digits != std::to_string(rank))
        return std::nullopt;
    return RankFile{name.substr(0, dot), rank};
}

/// Names of a folder's files; none where it cannot be read.
std::vector<std::string> names_in(const fs::path& folder) {
    std::error_code failed;
    std::vector<std::string> names;
    fs::directory_iterator at(folder.empty() ? fs::path(".") : folder, failed);
    for (; !failed && at != fs::directory_iterator(); at.increment(failed)) names.push_back(at->path().filename());
    return names;
}

/// What the names of a folder's traces begin with. Throws Error where that is not one thing.
std::string only_stem(const std::string& folder) {
    std::set<std::string> stems;
    for (const std::string& name : names_in(folder))
        if (const auto file = rank_file(name)) stems.insert(file->stem);
    if (stems.size() == 1) return *stems.begin();
    throw Error(folder, "", stems.empty() ? "holds no execution trace (NAME.RANK.et)" : "holds traces of several steps",
                stems.empty() ? "give what the names of a step's files begin with"
                              : fmt::format("name one: {}/{}", folder, *stems.begin()));
}

std::string prefix_of(const std::string& given) {
    std::error_code failed;
    if (fs::is_directory(given, failed)) return (fs::path(given) / only_stem(given)).string();
    const fs::path path(given);
    if (const auto file = rank_file(path.filename()); file && fs::exists(path, failed))
        return (path.parent_path() / file->stem).string();
    return given;
}

/// Files by rank; all that there must be.
std::vector<std::string> files_of(const std::string& prefix) {
    const fs::path path(prefix);
    std::map<std::uint32_t, std::string> files;
    for (const std::string& name : names_in(path.parent_path())) {
        const auto file = rank_file(name);
        if (file && file->stem == path.filename() && file->rank < most_ranks)
            files.emplace(file->rank, (path.parent_path() / name).string());
    }
    if (files.empty())
        throw Error(prefix, "", fmt::format("there is no {}.0.et", prefix),
                    "give what the names of a step's files begin with, as ASTRA-sim takes it: DIR/NAME of "
                    "DIR/NAME.0.et, DIR/NAME.1.et, ...");
    std::vector<std::string> list;
    for (const auto& [rank, file] : files) {
        if (rank != list.size())
            throw Error(fmt::format("{}.{}.et", prefix, list.size()), "",
                        fmt::format("is missing: there is {}", files.rbegin()->second),
                        "a step needs the file of every rank from 0 on; `orrery export chakra` writes all without "
                        "--rank");
        list.push_back(file);
    }
    return list;
}

/// Groups by name, from a file.
std::map<std::string, std::vector<std::uint32_t>> read_groups(const std::string& file, std::size_t ranks) {
    constexpr const char* remedy = "as in {\"1\": [0, 1], \"2\": [2, 3]}: ASTRA-sim's --comm-group-configuration";
    const documents::Wanted wanted{.example = "groups by name with their ranks, " + std::string(remedy),
                                   .most_bytes = std::size_t{256} << 20U};
    const nlohmann::json all = documents::read_document(file, wanted);
    if (!all.is_object()) throw Error(file, "", "is no object of groups", remedy);
    std::map<std::string, std::vector<std::uint32_t>> groups;
    for (const auto& [name, members] : all.items()) {
        const std::string pointer = documents::child_pointer("", name);
        if (!members.is_array() || members.empty()) throw Error(file, pointer, "is no list of ranks", remedy);
        std::vector<std::uint32_t>& own = groups[name];
        for (std::size_t i = 0; i < members.size(); ++i) {
            if (!members[i].is_number_unsigned() || members[i].get<std::uint64_t>() >= ranks)
                throw Error(
                    file, documents::child_pointer(pointer, i),
                    fmt::format("{} is no rank: there are traces of 0 to {}", documents::shown(members[i]), ranks - 1),
                    "give the traces of all ranks, and the groups that were written with them");
            own.push_back(members[i].get<std::uint32_t>());
        }
        std::ranges::sort(own);
        if (std::ranges::adjacent_find(own) != own.end())
            throw Error(file, pointer, "names a rank twice", "each rank of a group once");
    }
    return groups;
}

/// Finds the graph that two ranks share, by what it holds.
class Shared {
public:
    explicit Shared(std::vector<RankGraph>& graphs) : graphs_(graphs) {}

    std::uint32_t number(RankGraph graph) {
        auto& alike = by_hash_[hash(graph)];
        for (const std::uint32_t number : alike)
            if (graphs_[number] == graph) return number;
        nodes_ += graph.nodes.size();
        waits_ += graph.waits.size();
        alike.push_back(static_cast<std::uint32_t>(graphs_.size()));
        graphs_.push_back(std::move(graph));
        return alike.back();
    }
    /// Whatever graphs there are, one more may have half of what is left: it may turn out to be one of them.
    [[nodiscard]] Room room() const { return {whole_room.nodes - nodes_, whole_room.waits - waits_}; }

private:
    static std::uint64_t hash(const RankGraph& graph) {
        std::uint64_t value = graph.nodes.size();
        const auto mix = [&](std::uint64_t more) { value = (value ^ more) * 0x9e3779b97f4a7c15U + (value >> 29U); };
        for (const GraphNode& node : graph.nodes) {
            mix(node.id);
            mix(node.bytes);
            mix(std::uint64_t{static_cast<std::uint32_t>(node.peer)} << 32U | node.channel);
        }
        return value;
    }

    std::vector<RankGraph>& graphs_;
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_hash_;
    std::uint64_t nodes_ = 0, waits_ = 0;
};

/// Numbers groups by name and ranks: two groups of the same ranks have their own order of collectives.
class Groups {
public:
    Groups(std::size_t ranks, std::map<std::string, std::vector<std::uint32_t>> named) : named_(std::move(named)) {
        all_.resize(ranks);
        std::iota(all_.begin(), all_.end(), 0U);
    }

    /// Of a rank's file, by the numbers of its graph.
    std::vector<std::uint32_t> of(const RankTrace& trace, const std::string& file, const RankGraph& graph) {
        std::vector<std::uint32_t> numbers;
        for (std::size_t i = 0; i < trace.groups.size(); ++i) {
            const std::string& name = trace.groups[i];
            const std::vector<std::uint32_t>* const members = find(name, trace);
            if (members == nullptr) refuse(name, file, graph, static_cast<std::uint32_t>(i));
            const auto fresh = static_cast<std::uint32_t>(list_.size());
            const auto [place, made] = number_.try_emplace({name, *members}, fresh);
            if (made) list_.push_back(*members);
            numbers.push_back(place->second);
        }
        return numbers;
    }
    [[nodiscard]] std::vector<std::vector<std::uint32_t>> list() && { return std::move(list_); }

private:
    /// ASTRA-sim's rules: none and "0" are all ranks, the file's own groups come first.
    const std::vector<std::uint32_t>* find(const std::string& name, const RankTrace& trace) const {
        if (name.empty() || name == "0") return &all_;
        if (const auto own = trace.defined.find(name); own != trace.defined.end())
            return own->second.empty() ? &all_ : &own->second;
        const auto known = named_.find(name);
        return known == named_.end() ? nullptr : &known->second;
    }
    [[noreturn]] void refuse(const std::string& name, const std::string& file, const RankGraph& graph,
                             std::uint32_t number) const {
        const auto first = std::ranges::find_if(graph.nodes, [&](const GraphNode& node) {
            return node.kind == GraphNode::Kind::collective && node.channel == number;
        });
        throw Error(file, "",
                    fmt::format("node {} is a collective of group \"{}\", whose ranks are not known",
                                first == graph.nodes.end() ? 0 : first->id, documents::printable(name)),
                    "--groups FILE, ASTRA-sim's --comm-group-configuration, names the ranks of each group");
    }

    std::map<std::string, std::vector<std::uint32_t>> named_;
    std::vector<std::uint32_t> all_;
    std::map<std::pair<std::string, std::vector<std::uint32_t>>, std::uint32_t> number_;
    std::vector<std::vector<std::uint32_t>> list_;
};

std::vector<std::string> notes_of(const Liberties& taken) {
    std::vector<std::string> notes;
    const auto say = [&](std::uint64_t count, const char* what) {
        if (count > 0) notes.push_back(fmt::format("{} {}", format_grouped(count), what));
    };
    say(taken.reduces, "REDUCEs are timed as broadcasts, which move as many bytes the other way");
    say(taken.barriers, "BARRIERs are timed as all_reduces of four bytes");
    say(taken.workless, "COMP_NODEs have neither a duration nor work (num_ops, tensor_size): they take no time");
    say(taken.undated,
        "nodes of the host have work and no duration: they are timed by the bytes that its memory moves");
    return notes;
}

}  // namespace

Traces read_traces(const Request& request) {
    Traces out;
    out.prefix = prefix_of(request.prefix);
    const std::vector<std::string> files = files_of(out.prefix);
    const fs::path beside = fs::path(out.prefix).parent_path() / "groups.json";
    std::error_code failed;
    out.groups = !request.groups.empty() ? request.groups : fs::exists(beside, failed) ? beside.string() : "";
    Groups groups(files.size(), out.groups.empty() ? std::map<std::string, std::vector<std::uint32_t>>{}
                                                   : read_groups(out.groups, files.size()));
    Shared graphs(out.step.graphs);
    Liberties taken;
    std::uint64_t nodes = 0;
    for (std::uint32_t rank = 0; rank < files.size(); ++rank) {
        RankTrace trace = read_rank(files[rank], rank, static_cast<std::uint32_t>(files.size()), graphs.room());
        nodes += trace.graph.nodes.size();
        if (nodes > most_rank_nodes)
            throw Error(files[rank], "", fmt::format("the ranks up to it have more than {} nodes", most_rank_nodes),
                        "record one step, or fewer micro-batches");
        taken += trace.liberties;
        std::vector<std::uint32_t> own = groups.of(trace, files[rank], trace.graph);
        out.step.ranks.push_back({files[rank], graphs.number(std::move(trace.graph)), std::move(own)});
    }
    out.step.groups = std::move(groups).list();
    strategies::check(out.step);
    out.notes = notes_of(taken);
    return out;
}

}  // namespace orrery::doors::chakra
