#include "doors/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>

#include "doors/draft.hpp"
#include "doors/finish.hpp"
#include "doors/model.hpp"
#include "doors/readers.hpp"

namespace orrery::doors {

namespace {

constexpr std::array table{
    Importer{"megatron", "Megatron-LM",
             "a launch script of Megatron-LM or Megatron-DeepSpeed, or its arguments behind --", true, read_megatron},
    Importer{"deepspeed", "DeepSpeed", "DeepSpeed's ds_config.json; the model comes from --model or --set", false,
             read_deepspeed},
    Importer{"hf", "Hugging Face", "a Hugging Face config.json; the training comes from --set", false,
             read_hugging_face},
    Importer{"torchtitan", "TorchTitan", "a TorchTitan job configuration (TOML)", false, read_torchtitan},
    Importer{"nemo", "NeMo", "a NeMo training configuration (YAML)", false, read_nemo},
    Importer{"maxtext", "MaxText", "a MaxText configuration (YAML), or its arguments KEY=VALUE behind --", true,
             read_maxtext},
};

std::string title_of(const Request& request, const Importer& importer) {
    if (!request.name.empty()) return request.name;
    const std::string stem = std::filesystem::path(request.file).stem().string();
    return stem.empty() ? fmt::format("{} arguments", importer.what) : stem;
}

}  // namespace

bool Imported::refused() const {
    return std::ranges::any_of(findings, [](const Finding& each) { return each.verdict == Verdict::refused; });
}

std::span<const Importer> importers() { return table; }

const Importer& find_importer(std::string_view name) {
    const auto* const found = std::ranges::find(table, name, &Importer::name);
    if (found == table.end()) throw std::logic_error(fmt::format("no importer is called {}", name));
    return *found;
}

Imported import_scenario(const Importer& importer, const Request& request) {
    Draft draft(request.file.empty() ? "arguments" : request.file);
    draft.set("/name", title_of(request, importer), draft.whole_file());
    const std::string from =
        request.file.empty() ? "arguments" : std::filesystem::path(request.file).filename().string();
    draft.set("/description", fmt::format("Imported from {} of {}.", from, importer.what), draft.whole_file());
    try {
        importer.read(request, draft);
        if (!request.model.empty()) put_named_model(request.model, draft);
    } catch (const Error& error) {
        throw error.in_file(draft.file());
    }
    return finished(std::move(draft), request);
}

}  // namespace orrery::doors
