#include "scenarios/perturbations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/units.hpp"

namespace orrery::scenarios {

namespace {

constexpr double most = 1000;  // of a factor: a rank that is a thousand times slower has failed

constexpr const char* straggler_form = "write \"rank 17 x 1.5\" or \"ranks 8-15 x 1.5 from 100 ms to 2 s\"";
constexpr const char* link_form = "write \"leaf 0 - spine 1 x 4 from 1 s to 2 s\" or \"node 4 nic 2 down to 2 s\"";

constexpr const char* background_form =
    "write \"node 4 nic 0 to node 9 nic 0 at 50 Gb/s from 1 s to 2 s\", \"gpus 0-7 to gpus 8-15 at 1 GB/s\" or "
    "\"node 16 to nodes 0-7 at 2 GB/s\"";

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

/// Cuts what follows the last " word " off the text; empty when the word is not there.
std::string_view cut(std::string_view& text, std::string_view word) {
    const std::size_t at = text.rfind(word);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = trimmed(text.substr(at + word.size()));
    text = trimmed(text.substr(0, at));
    return rest;
}

Window cut_window(std::string_view& text) {
    Window window;
    if (const auto to = cut(text, " to "); !to.empty()) window.to = parse_seconds(to);
    if (const auto from = cut(text, " from "); !from.empty()) window.from = parse_seconds(from);
    if (!(window.from < window.to))
        throw Error(fmt::format("a window from {} to {}", format_seconds(window.from), format_seconds(window.to)),
                    "let it end after it begins");
    return window;
}

template <class Number>
bool read(std::string_view text, Number& number) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc() && end == text.data() + text.size();
}

double cut_factor(std::string_view& text, std::string_view whole, const char* form) {
    const std::string_view word = cut(text, " x ");
    double factor = 0;
    if (!read(word, factor)) throw Error(fmt::format("\"{}\" names no factor", whole), form);
    if (!(factor >= 1 && factor <= most))
        throw Error(fmt::format("a factor of {:g}", factor),
                    fmt::format("legal values: 1 to {:g}, how many times as long it takes", most));
    return factor;
}

/// "4" or "0-7".
bool read_range(std::string_view text, std::uint32_t& first, std::uint32_t& last) {
    const std::size_t dash = std::min(text.find('-'), text.size());
    if (!read(trimmed(text.substr(0, dash)), first)) return false;
    last = first;
    return dash == text.size() || read(trimmed(text.substr(dash + 1)), last);
}

TrafficEnd traffic_end(std::string_view text, std::string_view whole) {
    using enum TrafficEnd::Kind;
    TrafficEnd end;
    std::string_view rest = text;
    const auto begins = [&](std::string_view word) {
        if (!rest.starts_with(word)) return false;
        rest.remove_prefix(word.size());
        return true;
    };
    bool known = begins("gpus ") || begins("gpu ");
    if (!known) {
        known = begins("nodes ") || begins("node ");
        end.kind = nodes;
        if (const std::string_view nic = cut(rest, " nic "); !nic.empty()) {
            end.kind = nics;
            known = known && read(nic, end.nic);
        }
    }
    if (!known || !read_range(rest, end.first, end.last))
        throw Error(fmt::format("\"{}\" names no GPU, node or NIC with \"{}\"", whole, text), background_form);
    if (end.last < end.first) throw Error(fmt::format("\"{}\" falls", text), "name the lower number first");
    return end;
}

std::string to_text(const TrafficEnd& end) {
    const std::string word = end.kind == TrafficEnd::Kind::gpus ? "gpu" : "node";
    const std::string which = end.first == end.last ? fmt::format("{} {}", word, end.first)
                                                    : fmt::format("{}s {}-{}", word, end.first, end.last);
    return end.kind == TrafficEnd::Kind::nics ? fmt::format("{} nic {}", which, end.nic) : which;
}

/// In Gb/s where that is the same number.
std::string rate_text(double bytes_per_second) {
    const std::string bits = fmt::format("{} Gb/s", bytes_per_second * 8 / 1e9);
    return parse_bytes_per_second(bits) == bytes_per_second ? bits : fmt::format("{} B/s", bytes_per_second);
}

std::string to_text(const Window& window) {
    std::string text;
    if (window.from > 0) text += fmt::format(" from {} s", window.from);
    if (std::isfinite(window.to)) text += fmt::format(" to {} s", window.to);
    return text;
}

}  // namespace

Straggler parse_straggler(std::string_view text) {
    std::string_view rest = trimmed(text);
    Straggler straggler;
    straggler.when = cut_window(rest);
    straggler.factor = cut_factor(rest, text, straggler_form);
    const auto number = [&](std::string_view word, std::uint32_t& rank) {
        if (!read(trimmed(word), rank)) throw Error(fmt::format("\"{}\" names no rank", text), straggler_form);
    };
    if (rest.starts_with("ranks ")) {
        rest.remove_prefix(6);
        const std::size_t dash = rest.find('-');
        number(rest.substr(0, dash), straggler.first_rank);
        number(dash == std::string_view::npos ? "" : rest.substr(dash + 1), straggler.last_rank);
    } else {
        number(rest.starts_with("rank ") ? rest.substr(5) : "", straggler.first_rank);
        straggler.last_rank = straggler.first_rank;
    }
    if (straggler.last_rank < straggler.first_rank)
        throw Error(fmt::format("ranks {}-{}", straggler.first_rank, straggler.last_rank), "name the lower rank first");
    return straggler;
}

SlowLink parse_slow_link(std::string_view text) {
    std::string_view rest = trimmed(text);
    SlowLink link;
    link.when = cut_window(rest);
    if (rest.ends_with(" down")) {
        rest.remove_suffix(5);
        link.factor = std::numeric_limits<double>::infinity();
        if (!std::isfinite(link.when.to))
            throw Error(fmt::format("\"{}\" is down for ever", text),
                        "say when it works again (\"to 2 s\"), or name it in /cluster/failed: routes go round it then");
    } else {
        link.factor = cut_factor(rest, text, link_form);
    }
    link.links = trimmed(rest);
    if (link.links.empty()) throw Error(fmt::format("\"{}\" names no link", text), link_form);
    return link;
}

Background parse_background(std::string_view text) {
    const std::size_t at = text.find(" at ");
    if (at == std::string_view::npos) throw Error(fmt::format("\"{}\" names no rate", text), background_form);
    std::string_view from = trimmed(text.substr(0, at)), rate = trimmed(text.substr(at + 4));
    const std::string_view to = cut(from, " to ");
    if (to.empty()) throw Error(fmt::format("\"{}\" does not say where to", text), background_form);
    Background background;
    background.from = traffic_end(from, text);
    background.to = traffic_end(to, text);
    background.when = cut_window(rate);
    background.bytes_per_second = parse_bytes_per_second(rate);
    return background;
}

std::string to_text(const Straggler& s) {
    const std::string who = s.first_rank == s.last_rank ? fmt::format("rank {}", s.first_rank)
                                                        : fmt::format("ranks {}-{}", s.first_rank, s.last_rank);
    return fmt::format("{} x {}{}", who, s.factor, to_text(s.when));
}

std::string to_text(const SlowLink& link) {
    const std::string how = std::isfinite(link.factor) ? fmt::format("x {}", link.factor) : "down";
    return fmt::format("{} {}{}", link.links, how, to_text(link.when));
}

std::string to_text(const Background& b) {
    return fmt::format("{} to {} at {}{}", to_text(b.from), to_text(b.to), rate_text(b.bytes_per_second),
                       to_text(b.when));
}

}  // namespace orrery::scenarios
