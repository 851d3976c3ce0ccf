// Scenarios from what users of other programs already have: launch scripts and configuration files.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doors/findings.hpp"
#include "scenarios/scenario.hpp"

namespace orrery::doors {

class Draft;

/// What is asked for: the file, and what the user says that files of its kind do not.
struct Request {
    std::string file;                            ///< "": the arguments alone
    std::vector<std::string> arguments;          ///< words of a command line, behind those of the file
    std::map<std::string, std::string> defines;  ///< variables that a script takes from its environment
    std::string cluster, gpu;                    ///< a preset; a GPU of the preset, or in place of one
    std::uint64_t gpus = 0;                      ///< 0: as the file says
    std::string model;                           ///< a Hugging Face config.json
    std::string name;                            ///< title of the scenario; the file's stem when empty
    std::vector<scenarios::Override> changes;    ///< --set, laid over what was read
};

struct Imported {
    std::string scenario;           ///< a JSON document; one that `orrery simulate` takes where nothing is refused
    std::vector<Finding> findings;  ///< in the order of the file
    [[nodiscard]] bool refused() const;
};

/// A kind of file.
struct Importer {
    std::string_view name;     ///< "megatron"
    std::string_view what;     ///< "Megatron-LM"
    std::string_view summary;  ///< one line for the help text
    bool takes_arguments;      ///< also reads bare arguments
    void (*read)(const Request&, Draft&);
};
std::span<const Importer> importers();
/// Throws std::logic_error for a name that none has.
const Importer& find_importer(std::string_view name);

/// Reads the file and all that is wrong with it. Throws Error only for what cannot be read at all.
Imported import_scenario(const Importer& importer, const Request& request);

}  // namespace orrery::doors
