#include "base/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace orrery {

namespace {

std::string_view environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string_view{} : std::string_view{value};
}

}  // namespace

bool is_terminal(Stream stream) { return isatty(static_cast<int>(stream)) == 1 && environment("TERM") != "dumb"; }

bool wants_color(Stream stream) { return environment("NO_COLOR").empty() && is_terminal(stream); }

int terminal_columns(Stream stream) {
    constexpr int usual = 80;
    winsize size{};
    const bool known = ioctl(static_cast<int>(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : usual;
}

}  // namespace orrery
