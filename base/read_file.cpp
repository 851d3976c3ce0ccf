#include "base/read_file.hpp"

#include <fstream>
#include <iterator>

#include "base/error.hpp"

namespace orrery {

std::string read_file(const std::filesystem::path& file, const std::string& hint) {
    std::error_code unknown;
    std::ifstream in(file, std::ios::binary);
    if (!in || std::filesystem::is_directory(file, unknown)) throw Error(file.string(), "", "cannot be read", hint);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (in.bad()) throw Error(file.string(), "", "cannot be read", hint);
    return text;
}

}  // namespace orrery
