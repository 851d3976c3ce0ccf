#include "calibrate/measure/log.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "base/today.hpp"
#include "calibrate/measure/host.hpp"
#include "documents/document.hpp"
#include "documents/value.hpp"

namespace orrery::calibrate {

namespace {

using documents::Value;
using nlohmann::json;

json to_json(const Fingerprint& f) {
    return {{"measurement_log", log_version},
            {"kind", f.kind},
            {"device", f.device},
            {"software", f.software},
            {"communicator", f.communicator},
            {"memory_bytes", f.memory_bytes},
            {"cache_bytes", f.cache_bytes},
            {"multiprocessors", f.multiprocessors},
            {"ranks", f.ranks},
            {"nodes", f.nodes},
            {"core_hertz", f.core_hertz},
            {"date", f.date},
            {"load_before", f.load_before}};
}

Fingerprint fingerprint_from(const Value& line) {
    if (const std::uint64_t version = line.at("measurement_log").count(); version != log_version)
        throw Error(fmt::format("is a measurement log of version {}; this program reads {}", version, log_version),
                    "measure anew: --fresh, or another --out");
    line.only({"measurement_log", "kind", "device", "software", "communicator", "memory_bytes", "cache_bytes",
               "multiprocessors", "ranks", "nodes", "core_hertz", "date", "load_before"});
    Fingerprint out;
    out.kind = line.at("kind").text();
    out.device = line.at("device").text();
    out.software = line.at("software").text();
    out.communicator = line.at("communicator").text();
    out.memory_bytes = line.at("memory_bytes").count();
    out.cache_bytes = line.at("cache_bytes").count();
    out.multiprocessors = line.at("multiprocessors").count32();
    out.ranks = line.at("ranks").count32();
    out.nodes = line.at("nodes").count32();
    out.core_hertz = line.at("core_hertz").number(0);
    out.date = line.at("date").text();
    out.load_before = line.at("load_before").number(0);
    return out;
}

json to_json(const Record& r) {
    json out{{"suite", r.suite}, {"subject", to_json(r.subject)}};
    if (!r.failure.empty()) {
        out["failure"] = r.failure;
        return out;
    }
    out.update({{"seconds", r.seconds},
                {"half_width", r.half_width},
                {"noise", r.noise},
                {"samples", r.samples},
                {"throttled", r.throttled},
                {"disturbed", r.disturbed},
                {"settled", r.settled},
                {"core_hertz", r.core_hertz}});
    if (r.capped > 0) out["capped"] = r.capped;
    if (r.kernel_slowdown > 0) {
        out["kernel_slowdown"] = r.kernel_slowdown;
        out["beside_slowdown"] = r.beside_slowdown;
    }
    return out;
}

Record record_from(const Value& line) {
    Record r;
    r.suite = line.at("suite").text();
    r.subject = subject_from(line.at("subject").json());
    if (line.has("failure")) {
        line.only({"suite", "subject", "failure"});
        r.failure = line.at("failure").text();
        return r;
    }
    line.only({"suite", "subject", "seconds", "half_width", "noise", "samples", "throttled", "disturbed", "settled",
               "core_hertz", "capped", "kernel_slowdown", "beside_slowdown"});
    r.seconds = line.at("seconds").number();
    r.half_width = line.at("half_width").number();
    r.noise = line.at("noise").number();
    r.samples = line.at("samples").count32();
    r.throttled = line.at("throttled").count32();
    r.disturbed = line.at("disturbed").count32();
    r.settled = line.at("settled").boolean();
    r.core_hertz = line.at("core_hertz").number();
    if (line.has("capped")) r.capped = line.at("capped").count32();
    if (line.has("kernel_slowdown")) r.kernel_slowdown = line.at("kernel_slowdown").number();
    if (line.has("beside_slowdown")) r.beside_slowdown = line.at("beside_slowdown").number();
    return r;
}

/// Throws Error unless measurements of both belong together.
void require_same(const std::string& file, const Fingerprint& then, const Fingerprint& now) {
    const auto same = [&](const auto& before, const auto& today_, const char* what) {
        if (before == today_) return;
        throw Error(file, "", fmt::format("was measured with another {}: {} then, {} now", what, before, today_),
                    "measure anew with --fresh, or give another --out");
    };
    same(then.kind, now.kind, "kind of device");
    same(then.device, now.device, "device");
    same(then.software, now.software, "software");
    same(then.multiprocessors, now.multiprocessors, "number of threads or multiprocessors");
    same(then.memory_bytes, now.memory_bytes, "memory size");
    same(then.ranks, now.ranks, "number of ranks");
    same(then.nodes, now.nodes, "number of nodes");
    same(then.communicator, now.communicator, "communication library");
}

/// Whether this can be what a log begins with, however short it was cut.
bool begins_a_log(const std::string& text) {
    const std::string line = to_json(Fingerprint{}).dump(), first_key = line.substr(0, line.find(':') + 1);
    return text.starts_with(first_key) || first_key.starts_with(text);
}

LogContent parse_log(const std::string& text, const std::string& file) {
    LogContent out;
    std::size_t line = 0, begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
        ++line;
        try {
            const json parsed = documents::parse_document(std::string_view(text).substr(begin, end - begin), "");
            const Value content(parsed, "", "measure anew: --fresh, or another --out");
            if (line == 1)
                out.fingerprint = fingerprint_from(content);
            else
                out.records.push_back(record_from(content));
        } catch (const Error& error) {
            throw Error(file, error.pointer(), fmt::format("line {}: {}", line, error.message()), error.hint());
        }
    }
    if (line == 0) throw Error(file, "", "is no measurement log: it has no whole line", "measure anew: --fresh");
    out.whole_bytes = begin;
    return out;
}

}  // namespace

Fingerprint fingerprint(kernels::Device& device, const kernels::Communicator* communicator) {
    const kernels::DeviceFacts& facts = device.facts();
    Fingerprint out;
    out.kind = facts.kind;
    out.device = facts.name;
    out.software = facts.software;
    out.memory_bytes = facts.memory_bytes;
    out.cache_bytes = facts.cache_bytes;
    out.multiprocessors = facts.multiprocessors;
    out.core_hertz = device.clocks().core_hertz;
    out.date = today();
    if (communicator == nullptr) return out;
    out.communicator = communicator->software();
    out.ranks = communicator->ranks();
    out.nodes = communicator->nodes();
    return out;
}

LogContent read_log(const std::filesystem::path& file) { return parse_log(read_file(file), file.string()); }

LogWriter::LogWriter(const std::filesystem::path& file, const Fingerprint& now, Start start)
    : file_(file.string()), log_(file, "another calibration", "give another --out") {
    read(now, start);
    log_.keep(found_.whole_bytes);
    if (found_.whole_bytes == 0) write(to_json(now).dump());
}

LogContent read_logs(const std::vector<std::filesystem::path>& files) {
    LogContent all = read_log(files.front());
    for (std::size_t i = 1; i < files.size(); ++i) {
        const LogContent next = read_log(files[i]);
        require_same(files[i].string(), next.fingerprint, all.fingerprint);
        all.records.insert(all.records.end(), next.records.begin(), next.records.end());
    }
    return all;
}

void LogWriter::read(const Fingerprint& now, Start start) {
    const std::string& text = log_.text();
    const bool cut = begins_a_log(text) && text.find('\n') == std::string::npos;
    if (start == Start::afresh && !begins_a_log(text))
        throw Error(file_, "", "is no measurement log and is not overwritten", "remove it, or give another --out");
    found_.fingerprint = now;
    began_again_ = cut && !text.empty() && start == Start::go_on;
    if (start == Start::afresh || cut) return;
    found_ = parse_log(text, file_);
    require_same(file_, found_.fingerprint, now);
}

void LogWriter::append(const Record& record) { write(to_json(record).dump()); }

void LogWriter::write(const std::string& line) {
    log_.append(line + '\n');
    log_.flush();
}

}  // namespace orrery::calibrate
