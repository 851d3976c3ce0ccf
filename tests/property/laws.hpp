// What holds of every prediction, as laws that random scenarios are held against: 1,000 times by laws_test, as often as
// one likes by the program `soak`.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "calibrate/profile_store.hpp"
#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"

namespace orrery::laws {

/// A law that does not hold, with the numbers.
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A random scenario: everything about it follows from the seed.
struct Case {
    explicit Case(std::uint64_t from_seed);

    std::uint64_t seed;
    std::string document;  ///< as a scenario file has it
    scenarios::Scenario scenario;
};

struct Law {
    std::string_view name;
    std::string_view says;
    void (*check)(const Case&);  ///< throws Violation, or whatever else goes wrong
    bool alone = false;          ///< changes the process (its folder, its locale): nothing may run beside it
};
std::span<const Law> all();

/// Shipped profiles, each read once a program.
calibrate::ProfileStore& profiles();

/// Throws Violation unless times are finite and positive, the parts of every stage are not negative and add up to the
/// step, the peak of every stage holds what stays all the step, and no more FLOPs run than the devices have.
void require_sane(const sim::Prediction& prediction);

/// Throws Violation.
void require(bool holds, const std::string& otherwise);

// The laws.
void sane(const Case& of);
void folded_as_unfolded(const Case& of);
void engines_agree(const Case& of);
void calls_as_operations(const Case& of);
void more_takes_no_less(const Case& of);
void a_straggler_delays(const Case& of);
void set_as_edited(const Case& of);
void same_bytes_anywhere(const Case& of);
void same_bytes_beside_others(const Case& of);
void programs_hold(const Case& of);           ///< of the seed's combination: program_laws.hpp
void combinations_are_timed(const Case& of);  ///< of the same

}  // namespace orrery::laws
