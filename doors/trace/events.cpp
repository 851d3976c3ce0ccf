#include "doors/trace/events.hpp"

#include <fmt/format.h>

#include <istream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "documents/message.hpp"
#include "doors/trace/event_fields.hpp"
#include "doors/trace/text_stream.hpp"

namespace orrery::doors::trace {

namespace {

using Json = nlohmann::json;

constexpr TextStream::Remedies remedies{
    "give the file that torch.profiler's export_chrome_trace or tensorboard_trace_handler wrote",
    "profile fewer steps (torch.profiler.schedule(active=2)), or without with_stack"};

/// Follows the text of a trace: {..., "traceEvents": [{...}, ...]}, or the list of events alone.
class Reader : public nlohmann::json_sax<Json> {
public:
    explicit Reader(std::string file) : file_(std::move(file)), collector_(file_, trace_) {}

    Trace finished() && {
        if (!seen_events_)
            throw Error(file_, "/traceEvents", "is missing: this is no trace of torch.profiler",
                        "give the file that export_chrome_trace or tensorboard_trace_handler wrote");
        return std::move(trace_);
    }

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(std::int64_t value) override {
        return scalar({.kind = Scalar::Kind::whole, .whole = value, .text = {}});
    }
    bool number_unsigned(std::uint64_t value) override {
        const bool fits = value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        return scalar({.kind = fits ? Scalar::Kind::whole : Scalar::Kind::other,
                       .whole = fits ? static_cast<std::int64_t>(value) : 0,
                       .text = {}});
    }
    bool number_float(double, const std::string& text) override {
        return scalar({.kind = Scalar::Kind::real, .text = text});
    }
    bool string(std::string& value) override { return scalar({.kind = Scalar::Kind::text, .text = value}); }
    bool binary(Json::binary_t&) override { return true; }

    bool key(std::string& name) override {
        if (level_ == 1) root_key_ = name;
        if (in_facts() && level_ <= 3) fact_key_ = name;
        if (events_level_ == 0) return true;
        if (level_ == events_level_ + 1) event_.key = field_of(name);
        if (level_ == events_level_ + 2 && event_.key == Field::arguments) event_.argument = argument_of(name);
        return true;
    }

    bool start_object(std::size_t) override {
        ++level_;
        if (events_level_ > 0 && level_ == events_level_ + 1) event_ = {};
        if (in_facts() && root_key_ == "deviceProperties" && level_ == 3) fact_id_ = 0;
        return true;
    }
    bool end_object() override {
        if (events_level_ > 0 && level_ == events_level_ + 1) {
            collector_.add(event_, index_++);
            event_ = {};
        }
        if (events_level_ > 0 && level_ == events_level_ + 2) event_.argument = Argument::other;
        --level_;
        return true;
    }
    bool start_array(std::size_t) override {
        ++level_;
        if (level_ == 1 || (level_ == 2 && root_key_ == "traceEvents" && events_level_ == 0)) {
            events_level_ = level_;
            seen_events_ = true;
        } else if (in_arguments() && level_ == events_level_ + 4) {
            event_.begin_operand();
        }
        return true;
    }
    bool end_array() override {
        if (events_level_ > 0 && level_ == events_level_) events_level_ = 0;
        --level_;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
        throw Error(file_, index_ > 0 ? fmt::format("/traceEvents/{}", index_) : "",
                    fmt::format("is no JSON from byte {} on", position),
                    seen_events_ ? "was the program ended before it had written the whole trace? Record it anew"
                                 : "take what torch.profiler exports (.json, .json.gz); a report of Nsight Systems, "
                                   "exported to SQLite, is read by orrery import nsys");
    }

private:
    [[nodiscard]] bool in_facts() const {
        return events_level_ == 0 && (root_key_ == "distributedInfo" || root_key_ == "deviceProperties");
    }
    [[nodiscard]] bool in_arguments() const {
        return events_level_ > 0 && event_.key == Field::arguments && level_ >= events_level_ + 2;
    }

    bool scalar(const Scalar& value) {
        if (in_facts()) fact(value);
        if (events_level_ == 0) return true;
        if (level_ == events_level_ + 1 && event_.key != Field::arguments) event_.set(value);
        if (!in_arguments()) return true;
        if (level_ == events_level_ + 2) event_.set_argument(value);
        if (level_ == events_level_ + 3) event_.add_type(value);
        if (level_ == events_level_ + 4) event_.add_extent(value);
        return true;
    }

    /// "distributedInfo": {"rank": 0, "world_size": 8}, "deviceProperties": [{"id": 0, "name": "NVIDIA ..."}].
    void fact(const Scalar& value) {
        constexpr std::int64_t most_devices = 1024, most_ranks = 1 << 27;
        const bool whole = value.kind == Scalar::Kind::whole && value.whole >= 0;
        if (root_key_ == "distributedInfo") {
            if (level_ != 2 || !whole || value.whole > most_ranks) return;
            if (fact_key_ == "rank") trace_.rank = static_cast<std::uint32_t>(value.whole);
            if (fact_key_ == "world_size") trace_.ranks = static_cast<std::uint32_t>(value.whole);
        } else if (level_ == 3) {
            if (fact_key_ == "id" && whole && value.whole < most_devices)
                fact_id_ = static_cast<std::size_t>(value.whole);
            if (fact_key_ != "name" || value.kind != Scalar::Kind::text) return;
            if (trace_.devices.size() <= fact_id_) trace_.devices.resize(fact_id_ + 1);
            trace_.devices[fact_id_] = documents::printable(value.text, 100);
        }
    }

    std::string file_;
    Trace trace_;
    Collector collector_;
    Event event_;
    std::string root_key_, fact_key_;
    std::size_t fact_id_ = 0, index_ = 0, level_ = 0;
    std::size_t events_level_ = 0;  ///< of the list of events; 0: outside it
    bool seen_events_ = false;
};

}  // namespace

Trace read_trace(const std::string& file) {
    TextStream text(file, most_bytes, remedies);
    std::istream in(&text);
    Reader reader(file);
    Json::sax_parse(in, &reader);
    return std::move(reader).finished();
}

}  // namespace orrery::doors::trace
