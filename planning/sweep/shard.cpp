#include "planning/sweep/shard.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "base/text.hpp"
#include "documents/document.hpp"
#include "documents/message.hpp"
#include "documents/value.hpp"
#include "sim/version.hpp"

namespace orrery::planning {

namespace {

using Json = nlohmann::ordered_json;
using documents::Value;

constexpr const char* remedy = "name the files that `orrery sweep --shard` wrote";
constexpr std::size_t most_named = 8;

/// Of one file, but for its answers.
struct Head {
    std::string file, fingerprint;
    Shard shard;
    Points points;
};

Head head_of(const Value& document, const std::string& file) {
    document.only({"shard", "of", "question", "scenario", "orrery", "axes", "points"});
    if (const std::string version = document.at("orrery").text(); version != sim::version())
        throw Error(file, "/orrery", fmt::format("was written by version {}", documents::printable(version)),
                    fmt::format("merge it with that version; this is {}", sim::version()));
    std::vector<Axis> axes;
    for (const Value& entry : document.at("axes").list()) {
        Axis& axis = axes.emplace_back(Axis{entry.at("key").text(), {}});
        for (const Value& value : entry.at("values").list()) axis.values.push_back(value.text());
        if (axis.values.empty()) entry.at("values").fail("is empty");
    }
    const std::uint64_t of = document.at("of").count(most_points);
    const std::uint64_t number = document.at("shard").count(of);
    if (number == 0) document.at("shard").fail("shards are numbered from 1");
    return {
        file, document.at("question").text(), {number, of}, Points(document.at("scenario").text(), std::move(axes))};
}

/// Those of one part go to their places.
void take_answers(const Value& list, const Head& head, std::vector<Answer>& answers) {
    const std::uint64_t wanted = head.shard.points(head.points.points());
    if (list.size() != wanted)
        list.fail(fmt::format("there are {} points, and not the {} of this part", list.size(), wanted));
    for (std::uint64_t i = 0; i < wanted; ++i) {
        const Value line = list.at(i);
        auto [point, answer] = read_answer(line);
        if (point != head.shard.point(i))
            line.at("point").fail(fmt::format("is {}, and not {}", point, head.shard.point(i)));
        answers[point] = std::move(answer);
    }
}

void require_same(const Head& first, const Head& other) {
    const bool same = first.fingerprint == other.fingerprint && first.points.axes() == other.points.axes() &&
                      first.points.name() == other.points.name();
    if (!same)
        throw Error(other.file, "", fmt::format("is a part of another sweep than {}", first.file),
                    "merge the parts of one sweep: the same scenario, files that it names, --set and --vary");
    if (first.shard.of != other.shard.of)
        throw Error(other.file, "",
                    fmt::format("is one of {} parts, {} is one of {}", other.shard.of, first.file, first.shard.of),
                    "merge parts that were cut alike");
}

void require_all(const std::vector<const Head*>& by_number) {
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < by_number.size(); ++i)
        if (by_number[i] == nullptr) missing.push_back(fmt::format("{}/{}", i + 1, by_number.size()));
    if (missing.empty()) return;
    const std::size_t more = missing.size() > most_named ? missing.size() - most_named : 0;
    missing.resize(missing.size() - more);
    throw Error(fmt::format("of this sweep the parts {}{} are not here", join(missing),
                            more > 0 ? fmt::format(" and {} more", more) : ""),
                fmt::format("run them, with --shard {}, and name their files too", missing.front()));
}

}  // namespace

std::string Shard::text() const { return fmt::format("{}/{}", number, of); }

Shard parse_shard(const std::string& text) {
    Shard shard{0, 0};
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, shard.number);
    const bool slash = first.ec == std::errc{} && first.ptr != end && *first.ptr == '/';
    const auto second = slash ? std::from_chars(first.ptr + 1, end, shard.of) : first;
    if (!slash || second.ec != std::errc{} || second.ptr != end || shard.number == 0 || shard.number > shard.of ||
        shard.of > most_points)
        throw Error(fmt::format("--shard {}", documents::printable(text)), "", "is no part",
                    fmt::format("write NUMBER/PARTS, from 1/PARTS to PARTS/PARTS, at most {}", most_points));
    return shard;
}

std::string shard_json(const Points& points, const Shard& shard, const std::string& fingerprint,
                       const std::vector<Answer>& answers) {
    Json axes = Json::array();
    for (const Axis& axis : points.axes()) axes.push_back({{"key", axis.key}, {"values", axis.values}});
    const Json head{{"shard", shard.number},     {"of", shard.of},           {"question", fingerprint},
                    {"scenario", points.name()}, {"orrery", sim::version()}, {"axes", std::move(axes)}};
    std::string text = head.dump(-1, ' ', false, Json::error_handler_t::replace);
    text.pop_back();
    text += ",\n\"points\":[";
    for (std::size_t i = 0; i < answers.size(); ++i)
        text += (i > 0 ? ",\n" : "\n") + to_line(shard.point(i), answers[i]);
    return text + "]}\n";
}

Merged merge(const std::vector<std::string>& files) {
    std::vector<Head> heads;
    heads.reserve(files.size());  // pointers to them stay
    std::vector<const Head*> by_number;
    std::vector<Answer> answers;
    for (const std::string& file : files) {
        const nlohmann::json json = documents::read_document(file, {remedy, most_file_bytes});
        const Value document(json, file, remedy);
        const Head& head = heads.emplace_back(head_of(document, file));
        require_same(heads.front(), head);
        if (by_number.empty()) {
            by_number.resize(head.shard.of);
            answers.resize(head.points.points());
        }
        const Head*& place = by_number[head.shard.number - 1];
        if (place != nullptr)
            throw Error(file, "", fmt::format("is part {}, as {} is", head.shard.text(), place->file),
                        "name each part once");
        place = &head;
        take_answers(document.at("points"), head, answers);
    }
    require_all(by_number);
    return {heads.front().points, std::move(answers)};
}

}  // namespace orrery::planning
