#include "base/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace orrery {

namespace {

std::string_view environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string_view{} : std::string_view{value};
}

}  // namespace

void say(std::string_view text) { (void)std::fwrite(text.data(), 1, text.size(), stderr); }

bool is_terminal(Stream stream) { return isatty(static_cast<int>(stream)) == 1 && environment("TERM") != "dumb"; }

bool wants_color(Stream stream) { return environment("NO_COLOR").empty() && is_terminal(stream); }

int terminal_columns(Stream stream) {
    constexpr int usual = 80;
    winsize size{};
    const bool known = ioctl(static_cast<int>(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : usual;
}

std::size_t text_columns(Stream stream) {
    const std::string_view stated = environment("COLUMNS");
    std::size_t columns = 0;
    const auto [end, status] = std::from_chars(stated.data(), stated.data() + stated.size(), columns);
    if (status == std::errc{} && end == stated.data() + stated.size() && columns > 0) return columns;
    return is_terminal(stream) ? static_cast<std::size_t>(terminal_columns(stream)) : 0;
}

}  // namespace orrery
