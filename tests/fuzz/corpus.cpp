#include "tests/fuzz/corpus.hpp"

#include <algorithm>
#include <filesystem>

#include "base/read_file.hpp"

namespace orrery::fuzz {

namespace fs = std::filesystem;

namespace {

/// Folders of the project whose files a target reads, and how large they may be.
struct Shipped {
    std::string_view target;
    const char* folder;
    const char* ending;
    std::uintmax_t most_bytes = 20'000;
};
constexpr Shipped shipped[] = {
    {"document", "scenarios", ".json"},
    {"scenario", "scenarios", ".json"},
    {"prediction", "scenarios", ".json", 2'000},
    {"hugging_face", "scenarios/models", ".json"},
    {"import_deepspeed", "doors/examples", ".json"},
    {"import_hf", "scenarios/models", ".json"},
    {"import_megatron", "doors/examples", ".sh"},
    {"import_maxtext", "doors/examples", ".yml"},
    {"import_nemo", "doors/examples", ".yaml"},
    {"import_torchtitan", "doors/examples", ".toml"},
    {"rows", "scenarios/validation", ".json", 30'000},
};

void add(const fs::path& folder, const std::string& ending, std::uintmax_t most_bytes, std::vector<Input>& to) {
    std::error_code missing;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder, missing))
        if (entry.is_regular_file() && entry.file_size() <= most_bytes && entry.path().string().ends_with(ending))
            files.push_back(entry.path());
    std::ranges::sort(files);
    for (const fs::path& file : files) to.push_back({file.string(), read_file(file)});
}

}  // namespace

std::vector<Input> corpus(const Target& target) {
    std::vector<Input> inputs;
    add(fs::path("tests/fuzz/corpus") / target.name, "", 1 << 20, inputs);
    for (const Shipped& each : shipped)
        if (each.target == target.name) add(each.folder, each.ending, each.most_bytes, inputs);
    return inputs;
}

}  // namespace orrery::fuzz
