#include "report/html/page.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.hpp"

// embedded_page.S
extern "C" const char orrery_page_begin[], orrery_page_end[];

namespace orrery::report {

namespace {

std::string_view embedded() { return {orrery_page_begin, orrery_page_end}; }

/// Of text between tags.
std::string escaped(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        if (c == '<')
            safe += "&lt;";
        else if (c == '&')
            safe += "&amp;";
        else
            safe += c;
    }
    return safe;
}

/// JSON in a script element: what could end the element, or open a comment in it, is written as an escape.
std::string within_script(std::string_view json) {
    std::string safe;
    safe.reserve(json.size());
    for (const char c : json) {
        if (c == '<')
            safe += "\\u003c";
        else
            safe += c;
    }
    return safe;
}

/// The text before and after a mark, which is there once.
std::pair<std::string_view, std::string_view> cut(std::string_view text, std::string_view mark) {
    const std::size_t at = text.find(mark);
    return {text.substr(0, at), text.substr(at + mark.size())};
}

}  // namespace

bool has_page() { return !embedded().empty(); }

void require_page() {
    if (!has_page())
        throw Error("this program was built without HTML reports", "install nodejs and npm, configure again and build");
}

std::string page(const nlohmann::ordered_json& data) {
    require_page();
    const auto [before_title, after_title] = cut(embedded(), "@title@");
    const auto [before_data, after_data] = cut(after_title, "@data@");
    std::string text;
    text += before_title;
    text += escaped(data.at("title").get<std::string>());
    text += before_data;
    text += within_script(data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    text += after_data;
    return text;
}

}  // namespace orrery::report
