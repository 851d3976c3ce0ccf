// The text of nccl-tests. A table that is accepted can be put into a profile.
#include "calibrate/import_nccl_tests.hpp"
#include "calibrate/profile_check.hpp"
#include "tests/calibrate/small_profile.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool nccl_tests(const std::string& input) {
    const InputFile file(input);
    calibrate::NcclTests tests;
    const auto read = [&] { tests = calibrate::import_nccl_tests(InputFile::path(), std::nullopt); };
    if (!accepts(InputFile::path(), read)) return false;
    calibrate::Profile profile = calibrate::small_profile();
    try {
        (void)calibrate::put_table(profile, tests.table);
        calibrate::check_profile(profile);
    } catch (const Error& error) {
        require(!error.message().empty() && !error.hint().empty(), "a table that does not fit says why");
    }
    return true;
}

}  // namespace orrery::fuzz
