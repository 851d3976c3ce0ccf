// Whether two questions are the same one: a number of all that decides their answers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace orrery::planning {

class Fingerprint {
public:
    /// A text, and where it ends.
    void add(std::string_view text);
    /// A scenario's document, and what is in the files that its texts name, relative to its folder: profiles,
    /// configurations, fabrics, other scenarios. A file that cannot be read counts as its name.
    void add(const nlohmann::json& document, const std::filesystem::path& folder);

    /// 16 digits.
    [[nodiscard]] std::string text() const;

private:
    void add_named(const std::string& name, const std::filesystem::path& folder);

    std::uint64_t hash_ = 0xcbf29ce484222325;  // FNV-1a
};

}  // namespace orrery::planning
