// A profile. One that is accepted is the same when it is written and read again, and predicts times.
#include "calibrate/profile.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "calibrate/predictor.hpp"
#include "calibrate/profile_json.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

namespace {

using calibrate::Profile;

void require_time(double seconds, const std::string& of) {
    require(std::isfinite(seconds) && seconds > 0, "a profile that is accepted has a time for " + of);
}

/// Kernels as a Transformer has them, whatever the profile measured.
void require_predicts(const Profile& profile) {
    const calibrate::Predictor predictor(profile);
    for (const auto dtype : {kernels::Dtype::bf16, kernels::Dtype::fp32})
        for (const std::uint32_t size : {1U, 96U, 4096U}) {
            const kernels::Kernel product = kernels::Gemm{.dtype = dtype, .m = size, .n = 512, .k = 1024};
            require_time(predictor.kernel(product).seconds, kernels::to_text(product));
        }
    for (const calibrate::CollectiveTable& table : profile.collectives)
        if (table.nodes == 1)
            require_time(predictor.collective(table.kind, table.ranks, 3e6).seconds, "a collective that it measured");
}

}  // namespace

bool profile(const std::string& input) {
    const InputFile file(input);
    Profile read;
    if (!accepts(InputFile::path(), [&] { read = calibrate::load_profile(InputFile::path()); })) return false;
    try {
        const std::string text = calibrate::to_json_text(read);
        const InputFile written(text);
        require_same(calibrate::to_json_text(calibrate::load_profile(InputFile::path())), text,
                     "a profile is itself when it is written and read again");
        if (!read.gemm.empty()) require_predicts(read);
    } catch (const Error& error) {
        throw Broken("broken: an accepted profile is refused later: " + std::string(error.what()));
    }
    return true;
}

}  // namespace orrery::fuzz
