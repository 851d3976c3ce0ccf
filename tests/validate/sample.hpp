// Rows and a stand-in for the simulator, for the tests of validation.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "validate/map_row.hpp"
#include "validate/run.hpp"

namespace orrery::validate::test {

/// A plain Megatron-LM row of 2021 on two DGX A100, complete: 4 layers of 1,024, tensor 2, data 8, 4 s a step.
nlohmann::json megatron();

/// base with other fields, objects member by member: {"model": {"layers": 2}, "tp": null}. {} changes nothing.
nlohmann::json with(nlohmann::json base, const nlohmann::json& patch);

/// megatron() with other fields.
Row row_with(const nlohmann::json& patch);
Row row_of(const nlohmann::json& fields);

scenarios::Scenario mapped(const nlohmann::json& patch);

/// The reason a row is skipped with, "" when it is mapped.
std::string reason(const nlohmann::json& patch);
std::string reason_of(const std::function<void()>& work);

bool any_profile(const std::string& profile);

/// Predicts `seconds` for every step and 1 GiB on every stage (2 GiB on the last); collectives at 100 GB/s.
Predictor constant(double seconds);

/// A row of the carried set.
Row carried_row(const std::string& file, const std::string& id);

/// A folder that is removed at the end of a test.
class Folder {
public:
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    std::filesystem::path write(const std::string& name, const std::string& text) const;

private:
    std::filesystem::path path_;
};

}  // namespace orrery::validate::test
