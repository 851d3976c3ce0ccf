#include "scenarios/stage_layers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/error.hpp"
#include "documents/message.hpp"
#include "models/limits.hpp"

namespace orrery::scenarios {

namespace {

using models::most_layers;

std::optional<std::uint32_t> layer_number(std::string_view digits) {
    std::uint32_t value = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (status != std::errc{} || end != digits.data() + digits.size() || value > most_layers) return std::nullopt;
    return value;
}

std::optional<std::uint32_t> count_of(std::string_view text) {
    for (const std::string_view unit : {" layers", " layer"})
        if (text.ends_with(unit)) return layer_number(text.substr(0, text.size() - unit.size()));
    return std::nullopt;
}

}  // namespace

std::uint32_t stage_layers(std::string_view text, std::uint32_t next) {
    if (const auto count = count_of(text)) return *count;
    const std::size_t dash = text.find('-');
    const auto first = layer_number(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? std::nullopt : layer_number(text.substr(dash + 1));
    if (!first || !last)
        throw Error(fmt::format("\"{}\" names no layers", documents::printable(text)),
                    "write the first and the last, \"0-7\", or how many, \"8 layers\"");
    if (*last < *first) throw Error(fmt::format("\"{}\" falls", text), "write the lower layer first");
    if (*first != next)
        throw Error(*first > next ? fmt::format("\"{}\", but layer {} is in no stage before it", text, next)
                                  : fmt::format("\"{}\", but layer {} is in a stage before it", text, *first),
                    fmt::format("stages follow each other: begin with layer {}", next));
    return *last - *first + 1;
}

std::vector<std::uint32_t> even_layers(std::uint32_t layers, std::uint32_t chunks) {
    const std::uint32_t each = layers / chunks, more = layers % chunks, begin = (chunks - more) / 2;
    if (more == 0) return {};
    std::vector<std::uint32_t> list(chunks, each);
    for (std::uint32_t i = begin; i < begin + more; ++i) ++list[i];
    return list;
}

}  // namespace orrery::scenarios
