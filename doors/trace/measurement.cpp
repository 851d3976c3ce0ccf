#include "doors/trace/measurement.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/statistics.hpp"
#include "documents/message.hpp"
#include "doors/trace/product_times.hpp"
#include "doors/trace/steps.hpp"

namespace orrery::doors::trace {

namespace {

using Json = nlohmann::ordered_json;

double seconds_of(const DeviceSpan& span) { return static_cast<double>(span.end - span.begin) * 1e-9; }

/// Adds the kernels of all steps up.
class Sums {
public:
    Sums(const Trace& trace, const std::vector<Origin>& origins, const std::vector<Step>& steps)
        : steps_(static_cast<double>(steps.size())) {
        for (const Step& step : steps)
            for (const std::uint32_t i : step.device) add(trace, trace.device[i], origins[i]);
    }

    void put_into(Measurement& out) const {
        for (const auto& [key, sum] : groups_) {
            const auto& [layer, phase, kind] = key;
            out.groups.push_back({layer < 0 ? std::nullopt : std::optional(layer), phase, kind, sum.seconds / steps_,
                                  sum.count / steps_});
        }
        for (const auto& [asked, sum] : collectives_)
            out.collectives.push_back({documents::printable(asked.kind), documents::printable(asked.dtype),
                                       asked.elements_in, asked.elements_out, asked.ranks, sum.seconds / steps_,
                                       sum.count / steps_});
        out.kernels = kernels_;
        out.in_layers = work_ > 0 ? work_in_layers_ / work_ : 0;
    }

private:
    struct Sum {
        double seconds = 0, count = 0;
        void add(double more) {
            seconds += more;
            ++count;
        }
    };

    void add(const Trace& trace, const DeviceSpan& span, const Origin& origin) {
        const Kind kind = kind_of(span, trace.names[span.name], origin);
        const bool travels = kind == Kind::communication || kind == Kind::copy;
        const std::string phase(travels ? "" : name(origin.phase));
        groups_[{travels ? -1 : origin.layer, phase, std::string(name(kind))}].add(seconds_of(span));
        if (span.collective != none) collectives_[trace.collectives[span.collective]].add(seconds_of(span));
        if (kind == Kind::gemm || kind == Kind::attention) {
            work_ += seconds_of(span);
            if (origin.layer >= 0) work_in_layers_ += seconds_of(span);
        }
        ++kernels_;
    }

    double steps_, work_ = 0, work_in_layers_ = 0;
    std::uint64_t kernels_ = 0;
    std::map<std::tuple<std::int32_t, std::string, std::string>, Sum> groups_;
    std::map<Collective, Sum> collectives_;
};

Json json_of(const Group& group) {
    return {{"layer", group.layer ? Json(*group.layer) : Json()},
            {"phase", group.phase},
            {"kind", group.kind},
            {"count", group.count},
            {"seconds", group.seconds}};
}

Json json_of(const CollectiveUse& use) {
    const bool told = use.ranks > 0 || use.elements_in > 0 || use.elements_out > 0;
    return {{"name", use.kind},
            {"dtype", use.dtype.empty() ? Json() : Json(use.dtype)},
            {"elements_in", told ? Json(use.elements_in) : Json()},
            {"elements_out", told ? Json(use.elements_out) : Json()},
            {"ranks", told ? Json(use.ranks) : Json()},
            {"count", use.count},
            {"seconds", use.seconds}};
}

Json json_of(const TimedProduct& p) {
    return {{"kernel", kernels::to_text(p.gemm)}, {"times", p.times}, {"seconds", p.seconds}, {"spread_s", p.spread}};
}

template <class Item>
Json list_of(const std::vector<Item>& items) {
    Json list = Json::array();
    for (const Item& item : items) list.push_back(json_of(item));
    return list;
}

}  // namespace

std::string_view Measurement::use_name(std::size_t use) { return name(static_cast<Use>(use)); }

Json Measurement::json() const {
    Json taken = Json::array(), seconds = Json::object(), lanes = Json::array();
    for (std::size_t s = 0; s < step_names.size(); ++s)
        taken.push_back({{"name", step_names[s]}, {"seconds", step_seconds[s]}});
    for (std::size_t use = 0; use < breakdown.size(); ++use) seconds[std::string(use_name(use))] = breakdown[use];
    for (const StreamUse& s : streams)
        lanes.push_back({{"stream", s.stream},
                         {"kernels", s.kernels},
                         {"busy_s", s.busy},
                         {"gaps", s.gaps},
                         {"gap_s", s.idle},
                         {"median_gap_s", s.median_gap}});
    return {{"schema_version", 1},
            {"step_time_s", median(step_seconds)},
            {"trace",
             {{"of", recorder->name},
              {"file", documents::printable(std::filesystem::path(file).filename().string(), 200)},
              {"device", device},
              {"rank", rank ? Json(*rank) : Json()},
              {"ranks", ranks ? Json(*ranks) : Json()},
              {"steps", taken},
              {"step_spread_s", half_quartile_range(step_seconds)},
              {"breakdown_s", seconds},
              {"streams", lanes},
              {"in_layers", in_layers},
              {"groups", list_of(groups)},
              {"collectives", list_of(collectives)},
              {"products", list_of(products)}}}};
}

Measurement measure(const Request& request) { return measure(read_trace(request.file), request); }

Measurement measure(const Trace& trace, const Request& request) {
    const std::vector<Origin> from = origins(trace);
    const std::vector<Step> taken = steps(trace, from, request.step, request.file);
    Measurement out;
    out.recorder = trace.recorder;
    out.file = request.file;
    out.rank = trace.rank;
    out.ranks = trace.ranks;
    const std::uint32_t device = trace.device[taken.front().device.front()].device;
    if (device < trace.devices.size()) out.device = trace.devices[device];
    const auto count = static_cast<double>(taken.size());
    out.breakdown.assign(uses, 0);
    for (const Step& step : taken) {
        out.step_names.push_back(documents::printable(step.name));
        out.step_seconds.push_back(step.length());
        for (std::size_t use = 0; use < uses; ++use) out.breakdown[use] += step.seconds[use] / count;
    }
    for (const Stream& s : streams(trace, taken))
        out.streams.push_back({s.stream, s.kernels, s.gaps, s.busy / count, s.idle / count, s.median_gap});
    Sums(trace, from, taken).put_into(out);
    ProductTimes products = product_times(trace, from, taken);
    out.products = std::move(products.products);
    out.products_left_out = products.left_out;
    return out;
}

}  // namespace orrery::doors::trace
