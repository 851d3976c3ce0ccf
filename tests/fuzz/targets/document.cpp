// JSON itself: what is accepted is the same when it is written and read again, and so is its text.
#include "documents/document.hpp"

#include <nlohmann/json.hpp>

#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool document(const std::string& input) {
    nlohmann::json read;
    if (!accepts("input.json", [&] { read = documents::parse_document(input, "input.json"); })) return false;
    const std::string text = read.dump();
    const auto again = documents::parse_document(text, "again.json");
    require(again == read, "a document is itself when it is written and read again");
    require_same(again.dump(), text, "a document's text is the same again");
    return true;
}

}  // namespace orrery::fuzz
