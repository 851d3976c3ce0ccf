// What a capacity answer needs of a prediction, and where predictions are kept between questions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/append_log.hpp"
#include "reliability/bill.hpp"
#include "reliability/training_run.hpp"
#include "scenarios/scenario.hpp"
#include "sim/session.hpp"

namespace orrery::capacity {

/// Of one plan on one cluster; nothing of prices, failures, checkpoints or storage.
struct Facts {
    reliability::Job job;
    hardware::Power watts;  ///< of a GPU, the mean
    std::uint32_t cluster_gpus = 0;
    bool fits = true;
    double headroom_bytes = 0;  ///< of the fullest GPU; below 0 where it does not fit
    double mfu = 0;
    double network_share = 0;  ///< of the step: exposed communication
    std::string bottleneck;
};

/// What the facts of a scenario depend on, as text: the document without failures, checkpoints, storage and seed, the
/// contents of the files that it names, and the program's version.
std::string facts_key(const nlohmann::json& scenario, const std::filesystem::path& folder);

/// Predicts it. session: what many predictions share, with that store. Throws Error.
Facts facts_of(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles, sim::Session& session);

/// Facts by key in a file of JSON lines, which one process at a time has. Killed in writing it loses its last line at
/// most; a line that is none is left out.
class FactsFile {
public:
    /// "": nothing is kept. Throws Error where the file cannot be read or written, is no such file, or another process
    /// has it.
    explicit FactsFile(const std::filesystem::path& file);
    /// Takes a file away in which nothing was kept.
    ~FactsFile();
    FactsFile(const FactsFile&) = delete;
    FactsFile& operator=(const FactsFile&) = delete;

    [[nodiscard]] const std::filesystem::path& file() const { return file_; }
    [[nodiscard]] const Facts* find(const std::string& key) const;
    /// Appended at once. Throws Error on a full disk.
    const Facts& add(const std::string& key, Facts facts);
    /// The same of plans that were searched for: "strategy" and "training" as a scenario has them.
    [[nodiscard]] const nlohmann::json* find_plan(const std::string& key) const;
    void add_plan(const std::string& key, const nlohmann::json& plan);
    [[nodiscard]] std::size_t found() const { return found_; }

private:
    void read(const std::string& text);
    void append(const nlohmann::json& line);

    std::filesystem::path file_;
    std::unique_ptr<AppendLog> log_;  // null: nothing is kept
    std::map<std::string, Facts> facts_;
    std::map<std::string, nlohmann::json> plans_;
    std::size_t found_ = 0;
};

}  // namespace orrery::capacity
