#include "tests/fuzz/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "base/temporary_folder.hpp"

namespace orrery::fuzz {

namespace {

constexpr std::array table{
    Target{"cables", Form::lines, cables},
    Target{"chakra", Form::messages, chakra},
    Target{"comparison", Form::json, comparison},
    Target{"csv", Form::lines, csv},
    Target{"document", Form::json, document},
    Target{"gpu_list", Form::lines, gpu_list},
    Target{"host_file", Form::lines, host_file},
    Target{"hugging_face", Form::json, hugging_face},
    Target{"import_deepspeed", Form::json, import_deepspeed},
    Target{"import_hf", Form::json, import_hf},
    Target{"import_megatron", Form::lines, import_megatron},
    Target{"import_maxtext", Form::lines, import_maxtext},
    Target{"import_nemo", Form::lines, import_nemo},
    Target{"import_torchtitan", Form::lines, import_torchtitan},
    Target{"measured_run", Form::json, measured_run},
    Target{"measurement_log", Form::lines, measurement_log},
    Target{"nccl_tests", Form::lines, nccl_tests},
    Target{"nccl_xml", Form::lines, nccl_xml},
    Target{"nsys", Form::lines, nsys},
    Target{"override_list", Form::lines, override_list},
    Target{"prediction", Form::json, prediction},
    Target{"profile", Form::json, profile},
    Target{"rows", Form::json, rows},
    Target{"run_plan", Form::json, run_plan},
    Target{"scenario", Form::json, scenario},
    Target{"simgrid_xml", Form::lines, simgrid_xml},
    Target{"subject", Form::json, subject},
    Target{"torch_trace", Form::json, torch_trace},
};

/// The beginning of what is there, in one line.
std::string glimpse(std::string_view text, std::size_t from) {
    return fmt::format("{:?}", text.substr(std::min(from, text.size()), 60));
}

}  // namespace

std::span<const Target> targets() { return table; }

const Target* find_target(std::string_view name) {
    const auto found = std::ranges::find(table, name, &Target::name);
    return found == table.end() ? nullptr : &*found;
}

void require(bool kept, const std::string& promise) {
    if (!kept) throw Broken("broken: " + promise);
}

void require_same(std::string_view one, std::string_view other, const std::string& promise) {
    if (one == other) return;
    const auto at = static_cast<std::size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
    const std::size_t from = at < 20 ? 0 : at - 20;
    throw Broken(fmt::format("broken: {}: {} and {}", promise, glimpse(one, from), glimpse(other, from)));
}

void require_helpful(const Error& error, std::string_view file) {
    require(error.file() == file, fmt::format("an error names {}: {}", file, error.what()));
    require(!error.message().empty(), fmt::format("an error says what is wrong: {}", error.what()));
    require(!error.hint().empty(), fmt::format("an error says how to mend it: {}", error.what()));
}

InputFile::InputFile(std::string_view bytes) {
    std::ofstream(path(), std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

const std::string& InputFile::path() {
    static const TemporaryFolder folder("fuzz");
    static const std::string path = (folder.path() / "input").string();
    return path;
}

}  // namespace orrery::fuzz
