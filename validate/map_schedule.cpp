#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "strategies/schedule/schedule.hpp"
#include "validate/map_row.hpp"

namespace orrery::validate {

namespace {

using strategies::ScheduleKind;

/// Without case and what stands between words: "ZB-H1" and "zb_h1" are one name.
std::string bare(std::string_view text) {
    std::string out = lower(text);
    std::erase_if(out, [](char c) { return c == '-' || c == '_' || c == ' '; });
    return out;
}

struct Alias {
    std::string_view text;
    ScheduleKind kind;
};
/// Schedules by other names than ours. What Qi et al. search (arXiv 2401.10241, section 3) within the memory of 1F1B
/// and within twice of it is here the schedules that they made by hand for just as much.
constexpr Alias aliases[] = {{"zb1p", ScheduleKind::zb_h1},
                             {"zb2p", ScheduleKind::zb_h2},
                             {"pipedreamflush", ScheduleKind::one_f_one_b},
                             {"dapple", ScheduleKind::one_f_one_b}};

/// The longest name that the words hold, so that PipeDream-2BW is no PipeDream.
const Alias* named(const std::string& words) {
    static const auto all = [] {
        std::vector<std::pair<std::string, Alias>> names;
        for (const strategies::Schedule& one : strategies::schedules)
            names.emplace_back(bare(one.name), Alias{one.name, one.kind});
        for (const Alias& alias : aliases) names.emplace_back(alias.text, alias);
        std::ranges::sort(names, std::greater{}, [](const auto& name) { return name.first.size(); });
        return names;
    }();
    const auto found = std::ranges::find_if(all, [&](const auto& name) { return contains(words, name.first.c_str()); });
    return found == all.end() ? nullptr : &found->second;
}

}  // namespace

void map_schedule(const Row& row, strategies::Strategy& strategy) {
    strategy.schedule = strategy.virtual_pipeline > 1 ? ScheduleKind::interleaved : ScheduleKind::one_f_one_b;
    const std::string words = row.words("switches.schedule");
    if (words.empty() || words == "none" || strategy.pipeline == 1) return;
    const Alias* const found = named(bare(words));
    if (found == nullptr) throw Skip(fmt::format("schedule not understood: {}", label(words)));
    if (found->kind == ScheduleKind::one_f_one_b || found->kind == ScheduleKind::interleaved) return;
    const strategies::Schedule& schedule = strategies::schedule_of(found->kind);
    strategy.schedule = found->kind;
    if (!schedule.chunked) strategy.virtual_pipeline = 1;
    if (schedule.chunked && schedule.chunks > 0) strategy.virtual_pipeline = schedule.chunks;
}

}  // namespace orrery::validate
