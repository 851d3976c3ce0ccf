#include "calibrate/import_nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "calibrate/gpu_constants.hpp"
#include "calibrate/gpu_facts.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/scatter_settings.hpp"
#include "documents/message.hpp"

namespace orrery::calibrate {

namespace {

using Words = std::vector<std::string>;

/// Columns: size count type redop root, then time algbw busbw #wrong, out-of-place and in-place.
constexpr std::size_t columns = 13, out_of_place = 5, in_place = 9;
/// Bandwidths are printed with two digits after the point: below this they are too coarse to check.
constexpr double checkable_gbytes = 5;
/// A published row repeats within a few percent; 1% covers what rounding of algbw and busbw leaves.
constexpr double factor_tolerance = 0.02;

Words words_of(const std::string& line) {
    std::istringstream in(line);
    Words words;
    for (std::string word; in >> word;) words.push_back(std::move(word));
    return words;
}

class Reader {
public:
    Reader(const std::filesystem::path& file, std::optional<kernels::CollectiveKind> kind)
        : file_(file.string()), kind_(kind) {
        std::istringstream in(read_file(file, "give the file that nccl-tests' output went to"));
        for (std::string line; std::getline(in, line);) {
            ++line_;
            if (line.starts_with('#'))
                header(line);
            else if (const Words words = words_of(line); is_row(words))
                row(words);
        }
        line_ = 0;
    }

    NcclTests result() {
        if (ranks_ == 0 && rows_.empty())
            fail("is not what nccl-tests prints: no line \"#  Rank  0 ...\", and no row of measurements",
                 "give the output of all_reduce_perf or its kin");
        if (!kind_) kind_ = kind_in(std::filesystem::path(file_).filename().string());
        if (!kind_) fail("does not say which collective it is", "--kind all_reduce, ...");
        if (ranks_ < 2) fail(fmt::format("lists {} ranks", ranks_), "the lines \"#  Rank  0 ...\" tell the ranks");
        const auto nodes = static_cast<std::uint32_t>(std::max<std::size_t>(1, hosts_.size()));
        if (ranks_ % nodes != 0)
            fail(fmt::format("{} ranks are spread unevenly over {} nodes", ranks_, nodes),
                 "run nccl-tests with as many ranks on every node");
        if (rows_.empty()) fail("has no row of measurements", "the text of one of nccl-tests' *_perf programs");
        const double factor = kernels::bus_factor(*kind_, ranks_);
        NcclTests out{{*kind_, ranks_, provenance(), {}, nodes}, documents::printable(device_)};
        for (const Row& r : rows_) {
            line_ = r.line;
            if (r.algbw >= checkable_gbytes && std::abs(r.busbw / r.algbw / factor - 1) > factor_tolerance)
                fail(fmt::format("busbw/algbw is {:.3f}; {} among {} has {:.3f}", r.busbw / r.algbw,
                                 kernels::name(*kind_), ranks_, factor),
                     "another kind of collective, or another number of ranks");
            const double apart = std::abs(r.inside - r.seconds) / (r.inside + r.seconds);
            out.table.points.push_back({r.bytes, r.seconds, std::max(apart, 1e-4)});
        }
        std::ranges::sort(out.table.points, {}, &CollectivePoint::bytes);
        return out;
    }

private:
    struct Row {
        double bytes, seconds, inside, algbw, busbw;
        std::size_t line;
    };

    [[noreturn]] void fail(const std::string& message, const std::string& hint) const {
        throw Error(file_, "", line_ > 0 ? fmt::format("line {}: {}", line_, message) : message, hint);
    }

    /// As many columns as nccl-tests has, of which size and count are whole numbers.
    static bool is_row(const Words& words) {
        const auto whole = [](const std::string& word) {
            return std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
        };
        return words.size() == columns && whole(words[0]) && whole(words[1]);
    }

    /// "all_reduce_perf", "alltoall_perf", ... anywhere in a text.
    static std::optional<kernels::CollectiveKind> kind_in(const std::string& text) {
        for (const char* name : {"all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "sendrecv"})
            if (text.find(name) != std::string::npos) return kernels::collective_from(name);
        return std::nullopt;
    }

    void header(const std::string& line) {
        const Words words = words_of(line);
        // "#  Rank  0 Group  0 Pid  1234 on   node1 device  0 [0x07] NVIDIA H100 80GB HBM3"
        if (words.size() > 3 && words[1] == "Rank") {
            ++ranks_;
            if (const auto on = std::ranges::find(words, "on"); on != words.end() && on + 1 != words.end())
                hosts_.insert(*(on + 1));
            const auto bus = std::ranges::find_if(words, [](const std::string& w) { return w.starts_with('['); });
            if (device_.empty() && bus != words.end())
                for (auto word = bus + 1; word != words.end(); ++word) device_ += (device_.empty() ? "" : " ") + *word;
        }
        if (!kind_ && line.find("_perf") != std::string::npos) kind_ = kind_in(line);
        if (const auto at = line.find("NCCL version"); at != std::string::npos) software_ = line.substr(at);
        if (const auto at = line.find("nccl-library="); at != std::string::npos && software_.empty())
            if (const Words version = words_of(line.substr(at + 13)); !version.empty())
                software_ = "NCCL " + version.front();
    }

    [[nodiscard]] double number(const std::string& word) const {
        double value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value) || value < 0)
            fail(fmt::format("\"{}\" is no number of at least 0", word), "is the file cut off?");
        return value;
    }

    void row(const Words& words) {
        for (const std::size_t side : {out_of_place, in_place}) {
            const std::string& wrong = words[side + 3];
            if (wrong == "N/A") checked_ = false;
            if (wrong != "0" && wrong != "N/A")
                fail(fmt::format("{} wrong results (#wrong)", wrong),
                     "measure again: nccl-tests found errors in what this run computed");
        }
        const double bytes = number(words[0]), seconds = number(words[out_of_place]) * 1e-6;
        if (bytes == 0) return;  // a run of nothing, before the sizes
        const double inside = number(words[in_place]) * 1e-6;
        if (seconds == 0 || inside == 0) fail("no collective takes 0 us", "is the file as nccl-tests printed it?");
        rows_.push_back(
            {bytes, seconds, inside, number(words[out_of_place + 1]), number(words[out_of_place + 2]), line_});
    }

    [[nodiscard]] Provenance provenance() const {
        return {device_.empty() ? "not told" : documents::printable(device_),
                "not told",
                "not told",
                software_.empty() ? "NCCL, version not told" : documents::printable(software_),
                fmt::format("nccl-tests, {}{}", std::filesystem::path(file_).filename().string(),
                            checked_ ? "" : ", results not validated"),
                "the owner of the measurement decides"};
    }

    std::string file_;
    std::optional<kernels::CollectiveKind> kind_;
    std::size_t line_ = 0;
    std::uint32_t ranks_ = 0;
    std::set<std::string> hosts_;
    std::string device_, software_;
    bool checked_ = true;
    std::vector<Row> rows_;
};

}  // namespace

NcclTests import_nccl_tests(const std::filesystem::path& file, std::optional<kernels::CollectiveKind> kind) {
    return Reader(file, kind).result();
}

Merged put_table(Profile& profile, CollectiveTable table) {
    const auto key = [](const CollectiveTable& t) { return std::tuple(t.kind, t.nodes, t.ranks); };
    const auto same = [&](const CollectiveTable& t) { return key(t) == key(table); };
    Merged merged;
    if (const auto old = std::ranges::find_if(profile.collectives, same); old != profile.collectives.end()) {
        const auto has = [&](double bytes) {
            return std::ranges::find(table.points, bytes, &CollectivePoint::bytes) != table.points.end();
        };
        for (const CollectivePoint& point : old->points) {
            if (has(point.bytes)) {
                merged.replaced.push_back(point.bytes);
                continue;
            }
            table.points.push_back(point);
            ++merged.kept;
        }
        merged.older = old->provenance.origin;
        if (merged.kept > 0 && table.provenance.origin.find(merged.older) == std::string::npos)
            table.provenance.origin += fmt::format("; sizes that it lacks: {}", merged.older);
        std::ranges::sort(table.points, {}, &CollectivePoint::bytes);
        profile.collectives.erase(old);
    }
    profile.collectives.push_back(std::move(table));
    std::ranges::stable_sort(profile.collectives, {}, key);
    profile.held_out = held_out_errors(profile);
    choose_settings(profile);
    return merged;
}

Profile profile_of(const NcclTests& tests, const std::string& name) {
    const GpuFacts* const facts = facts_of_device(tests.device);
    if (facts == nullptr)
        throw Error(fmt::format("\"{}\" is no GPU whose constants are known", tests.device),
                    "--into adds the collectives to a profile of this device");
    Profile profile;
    profile.name = name;
    profile.device = tests.device;
    profile.made_by = "orrery calibrate import nccl-tests";
    profile.constants = constants_of(*facts);
    put_table(profile, tests.table);
    return profile;
}

}  // namespace orrery::calibrate
