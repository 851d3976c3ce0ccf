// The usual keys of a scenario by short names: model, gpus, tensor. Each says the same as its path; together they make
// a scenario without a file.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario.hpp"

namespace orrery::scenarios {

class UsualKeys {
public:
    struct Key {
        std::string_view name;  ///< "global-batch": of the option --global-batch
        const char* path;       ///< "training.global_batch_size"
        const char* help;
    };
    /// In the order of a plan: what is trained, where, and how. `gpus`, which is no key of a scenario, is not among
    /// them.
    static std::span<const Key> all();

    /// name: of a key. Throws Error that names the nearest for what is none.
    void set(std::string_view name, std::string value);
    /// GPUs, in whole nodes, or a part of a single one, which then has so many.
    void set_gpus(std::uint32_t gpus) { gpus_ = gpus; }
    [[nodiscard]] bool given() const { return !values_.empty() || gpus_ > 0; }
    /// 0: not given.
    [[nodiscard]] std::uint32_t gpus() const { return gpus_; }
    /// Those given, `gpus` not among them, by the paths of their keys.
    [[nodiscard]] std::vector<Override> said() const;
    /// What they change in a document. `file`: for messages, and of the document: paths of keys are relative to it,
    /// those of a command line to the current folder. Throws Error for what is no value of its key.
    [[nodiscard]] std::vector<Override> changes(const nlohmann::json& document, const std::string& file) const;
    /// The scenario that they make without a file; of a GPU without a cluster on its usual nodes. `source`: what
    /// messages call it. Throws Error.
    [[nodiscard]] nlohmann::json scenario(const std::string& source) const;
    /// The words of a command line that say the same; each begins with a blank.
    [[nodiscard]] std::string words() const;

private:
    [[nodiscard]] std::string name() const;

    std::map<std::string_view, std::string> values_;  ///< by name
    std::uint32_t gpus_ = 0;
};

}  // namespace orrery::scenarios
