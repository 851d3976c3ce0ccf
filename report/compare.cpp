#include "report/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.hpp"
#include "base/statistics.hpp"
#include "documents/message.hpp"
#include "report/breakdown.hpp"
#include "report/compare_trace.hpp"
#include "report/side.hpp"
#include "run/measured.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::json;

void require_equal(const Side& p, const Side& m, const std::string& pointer, const std::string& hint) {
    if (p.at(pointer) != m.at(pointer)) throw Error(m.file, pointer, "differs from " + p.file, hint);
}

/// The degrees that titles of categories follow.
strategies::Strategy degrees_of(const Side& side) {
    const auto degree = [&](const char* key) {
        const std::string pointer = fmt::format("/scenario/strategy/{}", key);
        return side.has(pointer) ? static_cast<std::uint32_t>(side.index(pointer)) : 1;
    };
    strategies::Strategy strategy;
    strategy.tensor = degree("tensor");
    strategy.context = degree("context");
    return strategy;
}

void compare_stages(const Side& p, const Side& m, Comparison& out) {
    const std::size_t stages = p.size("/stages");
    if (stages == 0 || stages != m.size("/stages"))
        throw Error(m.file, "/stages", fmt::format("{} stages against {}", m.size("/stages"), stages),
                    "compare reports of one scenario");
    const strategies::Strategy degrees = degrees_of(p);
    for (const Category& category : categories) {
        Pair pair{std::string(title_of(category, degrees)), 0, 0};
        for (std::size_t s = 0; s < stages; ++s) {
            const std::string pointer = fmt::format("/stages/{}/breakdown_s/{}", s, category.key);
            pair.predicted += p.number(pointer, -1) / static_cast<double>(stages);
            pair.measured += m.number(pointer, -1) / static_cast<double>(stages);
        }
        out.categories.push_back(std::move(pair));
    }
    for (std::size_t s = 0; s < std::min(p.size("/peak_memory_bytes"), m.size("/peak_memory_bytes")); ++s) {
        const std::string pointer = fmt::format("/peak_memory_bytes/{}", s);
        out.memory.push_back({fmt::format("stage {}", s), p.number(pointer, 0), m.number(pointer, 0)});
    }
}

/// The columns of one rank's times.
struct Times {
    std::vector<double> begin, end;
};

std::vector<double> numbers(const Side& side, const std::string& pointer, std::size_t count) {
    if (side.size(pointer) != count)
        throw Error(side.file, pointer, fmt::format("has {} values for {} operations", side.size(pointer), count),
                    "the file is damaged");
    std::vector<double> values;
    for (const Json& value : side.at(pointer)) {
        if (!value.is_number() || !std::isfinite(value.get<double>()))
            throw Error(side.file, fmt::format("{}/{}", pointer, values.size()), "is no finite number",
                        "the file is damaged");
        values.push_back(value.get<double>());
    }
    return values;
}

Times times_of(const Side& side, std::size_t rank, std::size_t count) {
    const std::string at = fmt::format("/operations/ranks/{}", rank);
    return {numbers(side, at + "/begin_s", count), numbers(side, at + "/end_s", count)};
}

/// Joins the operations of all ranks.
class Join {
public:
    Join(const Side& p, const Side& m, Comparison& out) : p_(p), m_(m), out_(out) {
        const std::string hint = "predict and run one scenario with one build of orrery";
        require_equal(p, m, "/operations/names", hint);
        require_equal(p, m, "/operations/roles", hint);
        if (p.size("/operations/ranks") != m.size("/operations/ranks"))
            throw Error(m.file, "/operations/ranks", "has other ranks than " + p.file, hint);
    }

    void run() && {
        const std::size_t ranks = p_.size("/operations/ranks");
        for (std::size_t r = 0; r < ranks; ++r) {
            const std::string at = fmt::format("/operations/ranks/{}", r);
            require_equal(p_, m_, at + "/rank", "compare reports of one scenario");
            require_equal(p_, m_, at + "/role", "compare reports of one scenario");
            add_rank(r, fmt::format("/operations/roles/{}", p_.index(at + "/role")));
        }
        for (auto& [key, members] : groups_) out_.groups.push_back(finished(key, members, static_cast<double>(ranks)));
        std::ranges::stable_sort(out_.groups, std::ranges::greater{},
                                 [](const OpGroup& group) { return std::abs(group.seconds.difference()); });
        out_.median_op_error = median(errors_);
    }

private:
    using Key = std::tuple<std::string, std::string, std::string>;  // kind, phase, name
    struct Members {
        double predicted = 0, measured = 0, count = 0;
        std::vector<double> errors, spreads;
    };

    void add_rank(std::size_t rank, const std::string& role) {
        const std::size_t count = p_.size(role + "/name");
        const Times predicted = times_of(p_, rank, count), measured = times_of(m_, rank, count);
        const std::string spread_at = fmt::format("/measured/ranks/{}/spread_s", rank);
        const bool spreads = m_.document.contains(Json::json_pointer(spread_at));
        const std::vector<double> spread = spreads ? numbers(m_, spread_at, count) : std::vector<double>(count);
        for (std::size_t i = 0; i < count; ++i) {
            const std::string kind = p_.text(fmt::format("{}/kind/{}", role, i));
            if (kind == "host") continue;  // it waits: its span is others' work
            const std::size_t name = p_.index(fmt::format("{}/name/{}", role, i));
            Members& members = groups_[{kind, p_.text(fmt::format("{}/phase/{}", role, i)),
                                        p_.text(fmt::format("/operations/names/{}", name))}];
            const Pair pair{"", predicted.end[i] - predicted.begin[i], measured.end[i] - measured.begin[i]};
            members.predicted += pair.predicted;
            members.measured += pair.measured;
            ++members.count;
            ++out_.joined;
            if (pair.measured <= 0) continue;
            members.errors.push_back(std::abs(pair.error()));
            members.spreads.push_back(spread[i] / pair.measured);
            errors_.push_back(std::abs(pair.error()));
        }
    }

    static OpGroup finished(const Key& key, const Members& members, double ranks) {
        const auto& [kind, phase, name] = key;
        return {{fmt::format("{} ({})", name, phase), members.predicted / ranks, members.measured / ranks},
                kind,
                members.count / ranks,
                median(members.errors),
                median(members.spreads)};
    }

    const Side& p_;
    const Side& m_;
    Comparison& out_;
    std::map<Key, Members> groups_;
    std::vector<double> errors_;
};

/// A run's report says what it measured.
void check_order(const Side& predicted, const Side& measured) {
    if (predicted.has("/measured") && !measured.has("/measured") && !is_traced(measured.document))
        throw Error(predicted.file, "/measured", "is a run, and the other file none: they stand in the other order",
                    "name the prediction first, and the run's report behind it");
}

}  // namespace

Comparison compare(const Json& predicted, const std::string& predicted_file, const Json& measured,
                   const std::string& measured_file) {
    const Side p{predicted, predicted_file}, m{measured, measured_file};
    p.check_version();
    check_order(p, m);
    if (is_traced(measured)) return compare_traced(p, m);
    constexpr double positive = 1e-12;
    Comparison out;
    out.step = {"step", p.number("/step_time_s", positive), m.number("/step_time_s", positive)};
    if (measured.contains(Json::json_pointer("/measured/step_spread_s")))
        out.step_spread = m.number("/measured/step_spread_s", 0) / out.step.measured;
    if (p.has("/scenario") && m.has("/scenario")) out.differs = changed_keys(p, m);
    std::erase_if(out.differs, [](const ChangedKey& key) {
        return !key.pointer.starts_with("/model/") && !key.pointer.starts_with("/strategy/") &&
               !key.pointer.starts_with("/training/");
    });
    compare_stages(p, m, out);
    if (predicted.contains("operations") && measured.contains("operations")) Join(p, m, out).run();
    return out;
}

}  // namespace orrery::report
