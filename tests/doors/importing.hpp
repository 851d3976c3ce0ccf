// Texts as files that an importer reads.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "doors/import.hpp"

namespace orrery::doors {

/// What comes of a text. request: what is asked for beside it; changes: --set.
Imported imported(std::string_view importer, std::string_view text, Request request = {},
                  const std::vector<std::string>& changes = {});
/// Of arguments of Megatron-LM, on 64 GPUs of DGX A100 unless the request says otherwise.
Imported of_arguments(const std::string& arguments, Request request = {});

/// The value under a pointer of its scenario; null where there is none.
nlohmann::json at(const Imported& imported, const std::string& pointer);

/// Findings of a kind as "AT NAME: WHAT", without the file.
std::vector<std::string> said(const Imported& imported, Verdict verdict);
/// Whether one of them has this text in it.
bool says(const Imported& imported, Verdict verdict, std::string_view text);
/// All that is refused, in lines: for messages of tests.
std::string refusals(const Imported& imported);

}  // namespace orrery::doors
