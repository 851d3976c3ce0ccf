// A scenario in the making: its keys, and where each was said.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/findings.hpp"

namespace orrery::doors {

/// Who said a key: the place, and the flag or key there.
struct Origin {
    Place place;
    std::string name;
};

/// A key that must be stated in the end, by the file or by --set, and what to say when it is not.
struct Wanted {
    std::string pointer;
    Origin origin;
    std::string what, remedy;
};

/// What a launch says of the machines.
struct Machines {
    std::optional<std::uint64_t> nodes, gpus_per_node, gpus;
    Origin origin;
};

class Draft {
public:
    explicit Draft(std::string file) : file_(std::move(file)) {}

    /// pointer: "/strategy/tensor". A later word on the same key replaces an earlier one.
    void set(const std::string& pointer, nlohmann::ordered_json value, const Origin& origin);
    /// Only where nothing has been said.
    void set_default(const std::string& pointer, nlohmann::ordered_json value, const Origin& origin);
    void erase(const std::string& pointer);
    void want(const std::string& pointer, const Origin& origin, std::string what, std::string remedy);

    [[nodiscard]] const nlohmann::ordered_json* find(const std::string& pointer) const;
    /// A whole number there; otherwise the fallback.
    [[nodiscard]] std::uint64_t whole(const std::string& pointer, std::uint64_t fallback) const;
    [[nodiscard]] bool is_true(const std::string& pointer) const;

    /// Who said a key, or an object around it; nullptr for nobody.
    [[nodiscard]] const Origin* origin(std::string pointer) const;
    [[nodiscard]] const std::vector<Wanted>& wanted() const { return wanted_; }
    [[nodiscard]] const std::string& file() const { return file_; }
    /// The file as a whole.
    [[nodiscard]] Origin whole_file() const { return {{file_, ""}, ""}; }

    nlohmann::ordered_json scenario = nlohmann::ordered_json::object();
    Machines machines;
    /// Micro-batches of a rank in a step, where the file says those and not the whole batch.
    std::optional<std::uint64_t> accumulation;
    Findings findings;
    /// Nothing here can become a scenario, whatever else would be said of it.
    bool hopeless = false;

private:
    std::string file_;
    std::map<std::string, Origin, std::less<>> origins_;
    std::vector<Wanted> wanted_;
};

}  // namespace orrery::doors
