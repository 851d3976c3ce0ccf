#include "scenarios/perturbations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace orrery::scenarios {

namespace {

constexpr double most = 1000;  // of a factor: a rank that is a thousand times slower has failed

constexpr const char* straggler_form = "write \"rank 17 x 1.5\" or \"ranks 8-15 x 1.5 from 100 ms to 2 s\"";
constexpr const char* load_form = "write \"expert rank 3 x 1.5\" or \"expert ranks 0-1 x 1.2\"";
constexpr const char* link_form = "write \"leaf 0 - spine 1 x 4 from 1 s to 2 s\" or \"node 4 nic 2 down to 2 s\"";

constexpr const char* background_form =
    "write \"node 4 nic 0 to node 9 nic 0 at 50 Gb/s from 1 s to 2 s\", \"gpus 0-7 to gpus 8-15 at 1 GB/s\" or "
    "\"node 16 to nodes 0-7 at 2 GB/s\"";

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

double cut_factor(std::string_view& text, std::string_view whole, const char* form, double least = 1,
                  std::string_view meaning = "how many times as long it takes") {
    const std::string_view word = cut(text, " x ");
    double factor = 0;
    if (!read(word, factor)) throw Error(fmt::format("\"{}\" names no factor", whole), form);
    if (!(factor >= least && factor <= most))
        throw Error(fmt::format("a factor of {:g}", factor),
                    fmt::format("legal values: {:g} to {:g}, {}", least, most, meaning));
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

/// "rank 17", "ranks 8-15".
void read_ranks(std::string_view rest, std::string_view whole, const char* form, std::uint32_t& first,
                std::uint32_t& last) {
    const auto number = [&](std::string_view word, std::uint32_t& rank) {
        if (!read(trimmed(word), rank)) throw Error(fmt::format("\"{}\" names no rank", whole), form);
    };
    if (rest.starts_with("ranks ")) {
        rest.remove_prefix(6);
        const std::size_t dash = rest.find('-');
        number(rest.substr(0, dash), first);
        number(dash == std::string_view::npos ? "" : rest.substr(dash + 1), last);
    } else {
        number(rest.starts_with("rank ") ? rest.substr(5) : "", first);
        last = first;
    }
    if (last < first) throw Error(fmt::format("ranks {}-{}", first, last), "name the lower rank first");
}

std::string ranks_text(std::uint32_t first, std::uint32_t last) {
    return first == last ? fmt::format("rank {}", first) : fmt::format("ranks {}-{}", first, last);
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
    read_ranks(rest, text, straggler_form, straggler.first_rank, straggler.last_rank);
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

ExpertLoad parse_expert_load(std::string_view text) {
    std::string_view rest = trimmed(text);
    ExpertLoad load;
    load.factor = cut_factor(rest, text, load_form, 0, "how many times its mean share of tokens it receives");
    if (!rest.starts_with("expert ")) throw Error(fmt::format("\"{}\" names no expert rank", text), load_form);
    read_ranks(rest.substr(7), text, load_form, load.first_rank, load.last_rank);
    return load;
}

namespace {

/// Of the k-th expert 1 / k^exponent.
std::vector<double> zipf_loads(double exponent, std::uint32_t ranks, std::uint32_t experts) {
    std::vector<double> loads(ranks, 0);
    double sum = 0;
    for (std::uint32_t expert = 0; expert < experts; ++expert) {
        const double sought = std::pow(expert + 1.0, -exponent);
        loads[expert / (experts / ranks)] += sought;
        sum += sought;
    }
    for (double& load : loads) load *= ranks / sum;
    return loads;
}

}  // namespace

std::vector<double> expert_loads(const Perturbations& table, std::uint32_t ranks, std::uint32_t experts) {
    if (table.expert_zipf > 0) return zipf_loads(table.expert_zipf, ranks, experts);
    std::vector<ExpertLoad> entries = table.expert_loads;
    if (table.expert_imbalance != 1) entries.push_back({0, 0, table.expert_imbalance});
    std::vector<double> loads(ranks, -1);  // -1: not named
    double rest = ranks;
    std::uint32_t unnamed = ranks;
    for (const ExpertLoad& entry : entries) {
        if (entry.last_rank >= ranks)
            throw Error(fmt::format("expert rank {} of {}", entry.last_rank, ranks),
                        fmt::format("expert ranks are 0 to {}: strategy.expert divides the experts", ranks - 1));
        for (std::uint32_t rank = entry.first_rank; rank <= entry.last_rank; ++rank) {
            if (loads[rank] >= 0) throw Error(fmt::format("expert rank {} is named twice", rank), "name it once");
            loads[rank] = entry.factor;
            rest -= entry.factor;
            --unnamed;
        }
    }
    constexpr double rounding = 1e-9;
    if (rest < -rounding * ranks || (unnamed == 0 && rest > rounding * ranks))
        throw Error(
            fmt::format("the expert ranks named receive {:g} times the tokens that there are", (ranks - rest) / ranks),
            ranks == 1 ? "strategy.expert is 1: set it to 2 or more, or leave the imbalance out"
                       : fmt::format("let the factors of all {} expert ranks have the mean 1", ranks));
    for (double& load : loads)
        if (load < 0) load = std::max(0.0, rest) / unnamed;
    return loads;
}

std::string to_text(const Straggler& s) {
    return fmt::format("{} x {}{}", ranks_text(s.first_rank, s.last_rank), s.factor, to_text(s.when));
}

std::string to_text(const ExpertLoad& load) {
    return fmt::format("expert {} x {}", ranks_text(load.first_rank, load.last_rank), load.factor);
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
