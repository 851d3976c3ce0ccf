#include "scenarios/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "documents/document.hpp"
#include "documents/message.hpp"

namespace orrery::scenarios {

namespace {

using documents::printable;
using documents::shown;

constexpr std::string_view blanks = " \t\r\n,";

/// A list as it grows.
class GpuList {
public:
    explicit GpuList(const GpuRange& range) : range_(range) { gpus_.reserve(range.ranks); }

    void add(std::uint64_t gpu) {
        if (gpu >= range_.gpus)
            throw Error(fmt::format("GPU {} of {}", gpu, range_.gpus),
                        fmt::format("GPUs are 0 to {}", range_.gpus - 1));
        if (gpus_.size() == range_.ranks)
            throw Error(fmt::format("more than {} GPUs for {} ranks", range_.ranks, range_.ranks),
                        "name one GPU for each rank; the others stay idle");
        gpus_.push_back(static_cast<std::uint32_t>(gpu));
    }
    /// "7" or "0-3".
    void add(std::string_view word) {
        const std::size_t dash = std::min(word.find('-'), word.size());
        const std::uint64_t first = number(word.substr(0, dash), word);
        const std::uint64_t last = dash == word.size() ? first : number(word.substr(dash + 1), word);
        if (last < first) throw Error(fmt::format("\"{}\" falls", word), "write the lower GPU first");
        if (last >= range_.gpus) add(last);  // says so, however long the range is
        for (std::uint64_t gpu = first; gpu <= last; ++gpu) add(gpu);
    }
    [[nodiscard]] std::vector<std::uint32_t> finish() && {
        if (gpus_.size() < range_.ranks)
            throw Error(fmt::format("{} GPUs for {} ranks", gpus_.size(), range_.ranks),
                        "name one GPU for each rank, in the order of ranks");
        return std::move(gpus_);
    }

private:
    static std::uint64_t number(std::string_view digits, std::string_view word) {
        std::uint64_t value = 0;
        const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (problem == std::errc() && end == digits.data() + digits.size()) return value;
        throw Error(fmt::format("\"{}\" is no GPU number", printable(word)), "write numbers and ranges: \"0-3,8-11\"");
    }

    GpuRange range_;
    std::vector<std::uint32_t> gpus_;
};

std::vector<std::uint32_t> from_json(const nlohmann::json& list, const GpuRange& range) {
    GpuList gpus(range);
    for (std::size_t i = 0; i < list.size(); ++i) try {
            if (!list[i].is_number_unsigned())
                throw Error(fmt::format("{} is no GPU number", shown(list[i])), "write whole numbers: [0, 1, 4, 5]");
            gpus.add(list[i].get<std::uint64_t>());
        } catch (const Error& error) {
            throw Error("", fmt::format("/{}", i), error.message(), error.hint());
        }
    return std::move(gpus).finish();
}

}  // namespace

std::vector<std::uint32_t> parse_gpus(std::string_view text, const GpuRange& range) {
    GpuList gpus(range);
    while (!text.empty()) {
        const std::size_t remark = text.front() == '#' ? text.find('\n') : 0;
        text.remove_prefix(std::min(remark, text.size()));
        const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
        text.remove_prefix(begin);
        const std::size_t end = std::min(text.find_first_of(" \t\r\n,#"), text.size());
        if (end > 0) gpus.add(text.substr(0, end));
        text.remove_prefix(end);
    }
    return std::move(gpus).finish();
}

std::vector<std::uint32_t> read_gpus(const std::string& file, const GpuRange& range) {
    const std::string text = read_file(file, "name a list of GPUs, one for each rank: \"0-3,8-11\" or a JSON list",
                                       documents::max_document_bytes);
    try {
        const std::size_t first = text.find_first_not_of(" \t\r\n");
        const bool is_json = first != std::string::npos && text[first] == '[';
        return is_json ? from_json(documents::parse_document(text, file), range) : parse_gpus(text, range);
    } catch (const Error& error) {
        throw error.in_file(file);
    }
}

strategies::RankPlacement resolve_placement(const strategies::Plan& plan, const topology::Cluster& cluster) {
    const std::string &name = plan.strategy.placement, &file = plan.strategy.placement_file;
    const GpuRange range{plan.ranks(), cluster.gpus()};
    if (!file.empty() && !name.empty())
        throw Error("", "/strategy/placement_file", fmt::format("stands beside placement \"{}\"", name),
                    "keep one of the two");
    try {
        if (!file.empty()) return strategies::RankPlacement(read_gpus(file, range));
        if (name.empty()) return {};
        if (std::isdigit(static_cast<unsigned char>(name.front())) != 0)
            return strategies::RankPlacement(parse_gpus(name, range));
        return strategies::named_placement(name, plan.mesh(), {cluster.nodes(), cluster.gpus_per_node()});
    } catch (const Error& error) {
        if (!error.file().empty() || !error.pointer().empty()) throw;
        throw Error(file, file.empty() ? "/strategy/placement" : "", error.message(), error.hint());
    }
}

}  // namespace orrery::scenarios
