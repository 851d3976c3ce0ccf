#include "validate/collectives.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

namespace orrery::validate {

namespace {

using kernels::CollectiveKind;
using nlohmann::json;

struct Operation {
    std::string_view text;
    CollectiveKind kind;
};
constexpr Operation operations[] = {
    {"all_reduce", CollectiveKind::all_reduce},
    {"allreduce", CollectiveKind::all_reduce},
    {"all_gather", CollectiveKind::all_gather},
    {"allgather", CollectiveKind::all_gather},
    {"reduce_scatter", CollectiveKind::reduce_scatter},
    {"reducescatter", CollectiveKind::reduce_scatter},
    {"alltoall", CollectiveKind::all_to_all},
    {"all_to_all", CollectiveKind::all_to_all},
    {"all2all", CollectiveKind::all_to_all},
    {"broadcast", CollectiveKind::broadcast},
    {"sendrecv", CollectiveKind::send_recv},
    {"send_recv", CollectiveKind::send_recv},
};

CollectiveKind kind_of(const Row& row) {
    const std::string op = row.words("switches.op");
    if (op.empty()) throw Skip("collective not published");
    for (const Operation& operation : operations)
        if (op == operation.text) return operation.kind;
    throw Skip("collective not supported");
}

/// bus bandwidth = (bytes / seconds) x bus_factor. Below 1 GB/s nccl-tests prints too few digits.
double from_bus_bandwidth(CollectiveKind kind, std::uint32_t ranks, double bytes, double gigabytes_per_second) {
    if (!(gigabytes_per_second >= 1)) return 0;
    return bytes * kernels::bus_factor(kind, ranks) / (gigabytes_per_second * 1e9);
}

double number_in(const json& point, const char* key) {
    const auto value = point.find(key);
    if (value == point.end() || value->is_null()) return 0;
    if (!value->is_number()) throw Skip(fmt::format("field of a wrong type: {}", key));
    return value->get<double>();
}

void add(std::vector<CollectivePoint>& points, double bytes, double seconds) {
    if (std::isfinite(bytes) && std::isfinite(seconds) && bytes > 0 && seconds > 0) points.push_back({bytes, seconds});
}

std::vector<CollectivePoint> sweep(const json& list, const char* path, CollectiveKind kind, std::uint32_t ranks) {
    if (!list.is_array()) throw Skip(fmt::format("field of a wrong type: {}", path));
    std::vector<CollectivePoint> points;
    for (const json& point : list) {
        if (!point.is_object()) throw Skip(fmt::format("field of a wrong type: {}", path));
        const double bytes = number_in(point, "bytes"), microseconds = number_in(point, "time_us");
        const double seconds = microseconds > 0
                                   ? microseconds * 1e-6
                                   : from_bus_bandwidth(kind, ranks, bytes, number_in(point, "busbw_GBps"));
        add(points, bytes, seconds);
    }
    return points;
}

/// 4000000000, or "4G" with a power of 1024; 0 when one size is not stated ("8B-128M linear sweep").
double payload(const Row& row) {
    const json* value = row.find("switches.payload_bytes");
    if (value == nullptr) return 0;
    if (!value->is_string()) return row.number("switches.payload_bytes").value_or(0);
    static const std::regex one_size(R"(^(\d{1,12})\s*([kmg]?)b?$)");
    std::smatch found;
    const std::string words = row.words("switches.payload_bytes");
    if (!std::regex_match(words, found, one_size)) return 0;
    const std::string prefix = found[2];
    const int power = prefix == "k" ? 1 : prefix == "m" ? 2 : prefix == "g" ? 3 : 0;
    return std::stod(found[1].str()) * std::pow(1024.0, power);
}

std::vector<CollectivePoint> single(const Row& row, CollectiveKind kind, std::uint32_t ranks) {
    std::vector<CollectivePoint> points;
    const double bytes = payload(row);
    if (!(bytes > 0)) throw Skip("message size not published");
    if (const auto seconds = row.number("measured.time_s_median")) {
        add(points, bytes, *seconds);
    } else if (const auto gigabits = row.number("measured.busbw_Gbps_median")) {
        add(points, bytes, from_bus_bandwidth(kind, ranks, bytes, *gigabits / 8));
    } else if (const auto gigabytes = row.number("measured.busbw_GBps")) {
        add(points, bytes, from_bus_bandwidth(kind, ranks, bytes, *gigabytes));
    }
    return points;
}

std::vector<CollectivePoint> points_of(const Row& row, CollectiveKind kind, std::uint32_t ranks) {
    if (!row.has("measured")) throw Skip("nothing measured");
    for (const char* path : {"measured.sweep_out_of_place", "measured.sweep", "measured.sweep_in_place"})
        if (const json* list = row.find(path)) return sweep(*list, path, kind, ranks);
    return single(row, kind, ranks);
}

}  // namespace

MappedCollective map_collective(const Row& row, const HasProfile& has_profile) {
    if (const json* flags = row.find("flags"); flags != nullptr && !flags->empty())
        throw Skip("row contradicts itself (flags)");
    MappedCollective result;
    result.kind = kind_of(row);
    const topology::Gpu& gpu = map_gpu(row, has_profile);
    if (!row.has("gpus")) throw Skip("GPU count not published");
    result.ranks = *row.count("gpus");
    if (result.ranks < 2) throw Skip("collective of a single GPU");
    if (contains(row.words("switches.group"), "strided")) throw Skip("strided groups are not supported");
    const bool reduces = result.kind == CollectiveKind::all_reduce || result.kind == CollectiveKind::reduce_scatter;
    if (reduces && row.words("precision").starts_with("int")) throw Skip("integer reductions are not modelled");
    result.points = points_of(row, result.kind, result.ranks);
    if (result.points.empty()) throw Skip("no time at any size");
    result.cluster = map_cluster(row, gpu, result.ranks);
    result.profile = gpu.profile;
    // Between nodes the network is what is measured: without one, or a product whose network is known, no prediction.
    const bool product = contains(row.words("node"), "dgx") || contains(row.words("node"), "superpod");
    const bool stated = !row.words("network").empty() && !row.words("network").starts_with("not stated");
    if (result.cluster.nodes > 1 && !stated && !product) throw Skip("network between nodes not published");
    return result;
}

}  // namespace orrery::validate
