// An Open MPI host file.
#include "cli/launch.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool host_file(const std::string& input) {
    const InputFile file(input);
    std::uint32_t hosts = 0;
    if (!accepts(InputFile::path(), [&] { hosts = cli::count_hosts(InputFile::path()); })) return false;
    require(hosts > 0 && hosts <= input.size(), "a host is a word of the file");
    return true;
}

}  // namespace orrery::fuzz
