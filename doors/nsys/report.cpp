#include "doors/nsys/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "documents/message.hpp"
#include "doors/nsys/annotation.hpp"
#include "doors/nsys/database.hpp"
#include "doors/trace/product.hpp"

namespace orrery::doors::nsys {

namespace {

using trace::Activity;
using trace::DeviceSpan;
using trace::none;
using trace::Trace;

constexpr const char* record = "record it with nsys profile --trace=cuda,nvtx, then export it";
constexpr std::int64_t latest_ns = 4'000'000'000'000'000'000;  ///< two of them are still a number of ns

/// "Serialized process and thread identifiers": 24 bits of the thread, 24 of the process, above them the machine.
std::int64_t process_of(std::int64_t global) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(global) >> 24U);
}
constexpr std::int64_t process_bits = (1 << 24) - 1;

std::uint32_t small(std::int64_t value) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, std::int64_t{none} - 1));
}

/// CUpti_ActivityMemcpyKind, in Kineto's words.
std::string copy_name(std::int64_t kind) {
    constexpr std::array<std::string_view, 11> names{"unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                     "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
    const bool known = kind >= 0 && std::cmp_less(kind, names.size());
    return fmt::format("Memcpy {}", names[known ? static_cast<std::size_t>(kind) : 0]);
}

/// What NCCL's name of a kernel tells: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(...)". A dtype stands behind the
/// operation of those that reduce.
std::optional<trace::Collective> collective_in(std::string_view kernel) {
    for (const std::string_view prefix : {"ncclDevKernel_", "ncclKernel_"}) {
        const std::size_t at = kernel.find(prefix);
        if (at == kernel.npos) continue;
        std::array<std::string_view, 3> words;
        std::string_view rest = kernel.substr(at + prefix.size());
        rest = rest.substr(0, rest.find_first_of("(<"));
        for (std::string_view& word : words) {
            word = rest.substr(0, rest.find('_'));
            rest.remove_prefix(std::min(rest.size(), word.size() + 1));
        }
        trace::Collective asked;
        asked.kind = std::string(words[0]);
        constexpr std::array<std::string_view, 6> reductions{"Sum", "Prod", "Max", "Min", "PreMulSum", "SumPostDiv"};
        if (std::ranges::find(reductions, words[1]) != reductions.end()) asked.dtype = std::string(words[2]);
        if (!asked.kind.empty()) return asked;
    }
    return std::nullopt;
}

class Reader {
public:
    explicit Reader(const Request& request) : request_(request), database_(request.file) {}

    Recording read() && {
        refuse_whole_graphs();
        read_strings();
        kernels();
        others("CUPTI_ACTIVITY_KIND_MEMCPY", Activity::copy);
        others("CUPTI_ACTIVITY_KIND_MEMSET", Activity::fill);
        const std::int64_t process = choose();
        launches(process);
        ranges(process);
        devices(process & process_bits);
        out_.trace.recorder = &trace::nsight_systems;
        out_.trace.rank = request_.rank;
        return std::move(out_);
    }

private:
    /// A graph that was recorded as one event would count as idle.
    void refuse_whole_graphs() const {
        constexpr const char* table = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
        if (database_.columns(table).empty()) return;
        Rows rows(database_, table, {{"start"}}, "");
        if (rows.next())
            throw Error(database_.file(), fmt::format("/{}", table), "holds CUDA graphs without their kernels",
                        "record it with nsys profile --cuda-graph-trace=node");
    }

    void read_strings() {
        Rows rows(database_, "StringIds", {{"id"}, {"value"}}, record);
        while (rows.next()) {
            count(rows);
            strings_.try_emplace(rows.whole(0), rows.text_if_any(1).value_or(""));
        }
    }

    void count(const Rows& rows) {
        if (++events_ > trace::most_events)
            rows.refuse(0, fmt::format("has more than {} names, kernels, calls and ranges before it; record fewer "
                                       "steps (--capture-range=cudaProfilerApi)",
                                       trace::most_events));
    }

    std::uint32_t name(std::string_view text) {
        const auto [found, added] =
            names_.try_emplace(std::string(text), static_cast<std::uint32_t>(out_.trace.names.size()));
        if (added) out_.trace.names.push_back(found->first);
        return found->second;
    }

    const std::string& string(const Rows& rows, int column) {
        const auto found = strings_.find(rows.whole(column));
        if (found == strings_.end()) rows.refuse(column, "names no text of /StringIds");
        return found->second;
    }

    /// Of the row's first two columns.
    static std::pair<std::int64_t, std::int64_t> times(const Rows& rows) {
        const std::int64_t begin = rows.whole(0), end = rows.whole(1);
        if (begin < 0 || begin > latest_ns) rows.refuse(0, fmt::format("{} is no time in nanoseconds", begin));
        if (end < begin || end > latest_ns) rows.refuse(1, fmt::format("{} is no time after its start", end));
        return {begin, end};
    }

    void add(const Rows& rows, DeviceSpan span, std::int64_t process) {
        count(rows);
        // Both 0: CUPTI could not tell the times (CUpti_ActivityKernel9, start).
        if (span.begin == 0 && span.end == 0) return;
        if (span.activity == Activity::kernel) ++kernels_of_[process];
        out_.trace.device.push_back(span);
        process_of_.push_back(process);
    }

    void kernels() {
        Rows rows(database_, "CUPTI_ACTIVITY_KIND_KERNEL",
                  {{"start"}, {"end"}, {"deviceId"}, {"streamId"}, {"correlationId"}, {"globalPid"}, {"demangledName"}},
                  record);
        while (rows.next()) {
            const auto [begin, end] = times(rows);
            const std::string& kernel = string(rows, 6);
            add(rows,
                {begin, end, rows.whole(4), -1, name(kernel), small(rows.whole(2)), small(rows.whole(3)),
                 Activity::kernel, collective(kernel)},
                process_of(rows.whole(5)));
        }
    }

    void others(const char* table, Activity activity) {
        if (database_.columns(table).empty()) return;
        const bool copies = activity == Activity::copy;
        Rows rows(database_, table,
                  {{"start"},
                   {"end"},
                   {"deviceId"},
                   {"streamId"},
                   {"correlationId"},
                   {"globalPid"},
                   {copies ? "copyKind" : "value", copies}},
                  record);
        while (rows.next()) {
            const auto [begin, end] = times(rows);
            const std::string what = copies ? copy_name(rows.whole(6)) : "Memset";
            add(rows,
                {begin, end, rows.whole_if_any(4).value_or(-1), -1, name(what), small(rows.whole(2)),
                 small(rows.whole(3)), activity, none},
                process_of(rows.whole(5)));
        }
    }

    std::uint32_t collective(const std::string& kernel) {
        const auto asked = collective_in(kernel);
        if (!asked) return none;
        const auto number = static_cast<std::uint32_t>(out_.trace.collectives.size());
        const auto [found, added] = collectives_.try_emplace(*asked, number);
        if (added) out_.trace.collectives.push_back(*asked);
        return found->second;
    }

    /// The process that is read, machine included; all that others ran is forgotten.
    std::int64_t choose() {
        if (kernels_of_.empty())
            throw Error(database_.file(), trace::nsight_systems.events, "holds no kernel of a GPU", record);
        const auto most = std::ranges::max_element(kernels_of_, {}, [](const auto& entry) { return entry.second; });
        std::int64_t chosen = most->first;
        for (const auto& [process, kernels] : kernels_of_) {
            out_.processes.push_back(process & process_bits);
            if (request_.process == (process & process_bits)) chosen = process;
        }
        out_.process = chosen & process_bits;
        if (request_.process && *request_.process != out_.process)
            throw Error(database_.file(), trace::nsight_systems.events,
                        fmt::format("holds no kernel of process {}", *request_.process),
                        fmt::format("--process with one of {}", fmt::join(out_.processes, ", ")));
        std::size_t kept = 0;
        for (std::size_t i = 0; i < process_of_.size(); ++i)
            if (process_of_[i] == chosen) out_.trace.device[kept++] = out_.trace.device[i];
        out_.trace.device.resize(kept);
        return chosen;
    }

    std::uint32_t thread(std::int64_t global) {
        return threads_.try_emplace(global, static_cast<std::uint32_t>(threads_.size())).first->second;
    }

    /// Calls of the driver that started something which is kept.
    void launches(std::int64_t process) {
        constexpr const char* table = "CUPTI_ACTIVITY_KIND_RUNTIME";
        if (database_.columns(table).empty()) return;
        std::unordered_set<std::int64_t> started;
        for (const DeviceSpan& span : out_.trace.device) started.insert(span.correlation);
        Rows rows(database_, table, {{"start"}, {"end"}, {"globalTid"}, {"correlationId"}}, record);
        while (rows.next()) {
            const auto correlation = rows.whole_if_any(3);
            const std::int64_t global = rows.whole(2);
            if (!correlation || *correlation < 0 || process_of(global) != process || !started.contains(*correlation))
                continue;
            count(rows);
            out_.trace.launches.push_back({times(rows).first, *correlation, thread(global)});
        }
    }

    /// Ranges that were ended, of NVTX's push and pop (59) and start and end (60): ENUM_NSYS_EVENT_TYPE.
    void ranges(std::int64_t process) {
        constexpr const char* table = "NVTX_EVENTS";
        constexpr std::int64_t pushed = 59, started = 60;
        if (database_.columns(table).empty()) return;
        Rows rows(database_, table, {{"start"}, {"end"}, {"eventType"}, {"globalTid"}, {"text"}, {"textId", false}},
                  record);
        while (rows.next()) {
            const std::int64_t type = rows.whole(2);
            if ((type != pushed && type != started) || !rows.whole_if_any(1)) continue;
            const auto global = rows.whole_if_any(3);
            if (!global || process_of(*global) != process) continue;
            count(rows);
            const auto [begin, end] = times(rows);
            std::string text(rows.text_if_any(4).value_or(""));
            if (text.empty() && rows.whole_if_any(5)) text = string(rows, 5);
            add_range(annotation_in(text), begin, end, thread(*global));
        }
    }

    void add_range(const Annotation& annotation, std::int64_t begin, std::int64_t end, std::uint32_t thread) {
        const std::string called(annotation.name);
        std::uint32_t product = none;
        if (const auto found = trace::product_in({called, annotation.sizes, {}, {}})) {
            auto& products = out_.trace.products;
            if (products.empty() || !(products.back() == *found)) products.push_back(*found);
            product = static_cast<std::uint32_t>(products.size() - 1);
        }
        out_.trace.host.push_back({begin, end, name(called), thread, annotation.sequence, -1, product});
    }

    /// Names of the process's devices: a device of CUDA is a GPU of the machine by TARGET_INFO_CUDA_DEVICE.
    void devices(std::int64_t pid) {
        constexpr std::int64_t most_devices = 1024;
        if (database_.columns("TARGET_INFO_GPU").empty()) return;
        std::map<std::int64_t, std::string> gpus;
        Rows rows(database_, "TARGET_INFO_GPU", {{"id"}, {"name"}}, record);
        while (rows.next() && std::cmp_less(gpus.size(), most_devices))
            gpus.try_emplace(rows.whole(0), documents::printable(rows.text_if_any(1).value_or(""), 100));
        const auto call = [&](std::int64_t device, std::int64_t gpu) {
            const auto found = gpus.find(gpu);
            if (device < 0 || device >= most_devices || found == gpus.end()) return;
            auto& called = out_.trace.devices;
            if (std::cmp_less_equal(called.size(), device)) called.resize(static_cast<std::size_t>(device) + 1);
            called[static_cast<std::size_t>(device)] = found->second;
        };
        for (const auto& [gpu, known] : gpus) call(gpu, gpu);
        if (database_.columns("TARGET_INFO_CUDA_DEVICE").empty()) return;
        Rows links(database_, "TARGET_INFO_CUDA_DEVICE", {{"gpuId"}, {"cudaId"}, {"pid"}}, record);
        while (links.next())
            if (links.whole(2) == pid) call(links.whole(1), links.whole(0));
    }

    const Request& request_;
    Database database_;
    Recording out_;
    std::size_t events_ = 0;
    std::unordered_map<std::int64_t, std::string> strings_;
    std::unordered_map<std::string, std::uint32_t> names_;
    std::unordered_map<std::int64_t, std::uint32_t> threads_;
    std::map<trace::Collective, std::uint32_t> collectives_;
    std::map<std::int64_t, std::uint64_t> kernels_of_;  ///< by process
    std::vector<std::int64_t> process_of_;              ///< of each Trace::device
};

}  // namespace

Recording read_report(const Request& request) { return Reader(request).read(); }

Measured measure(const Request& request) {
    Recording recording = read_report(request);
    return {trace::measure(recording.trace, {request.file, request.step}), recording.process,
            std::move(recording.processes)};
}

}  // namespace orrery::doors::nsys
