// A list of GPUs for ranks, as text or in a file.
#include <set>

#include "scenarios/placement.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool gpu_list(const std::string& input) {
    constexpr scenarios::GpuRange range{.ranks = 4, .gpus = 16};
    const InputFile file(input);
    std::vector<std::uint32_t> gpus;
    if (!accepts(InputFile::path(), [&] { gpus = scenarios::read_gpus(InputFile::path(), range); })) return false;
    require(gpus.size() == range.ranks, "every rank has a GPU");
    require(*std::ranges::max_element(gpus) < range.gpus, "the cluster has the GPUs of a list");
    return true;
}

}  // namespace orrery::fuzz
