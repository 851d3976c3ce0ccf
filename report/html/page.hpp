// A report as one HTML file that needs nothing else: no network, no other file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace orrery::report {

/// Whether this program was built with the page (node and npm at hand).
bool has_page();
/// Throws Error where it was not.
void require_page();

/// The page whose script draws `data`: its "view" names the drawing (web/src/views), its "title" the window. Names
/// in it may be hostile: they stand in the page as JSON without '<', and are shown as text alone. Throws Error as
/// require_page() does.
std::string page(const nlohmann::ordered_json& data);

}  // namespace orrery::report
