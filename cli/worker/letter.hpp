// What the ranks of a job write to each other.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/mpi/mail.hpp"

namespace orrery::worker {

enum class Letter : std::uint8_t {
    begin,    ///< leader: there is work; read the command line
    ready,    ///< "8": as many threads wait for work
    work,     ///< leader: number and work
    answer,   ///< number and answer, or why there is none
    failed,   ///< this rank cannot serve, and why
    finished  ///< leader: go home
};

inline void send(const kernels::PostOffice& office, std::uint32_t to, Letter letter, const std::string& text = {}) {
    office.send(to, static_cast<std::uint8_t>(letter), text);
}

inline Letter letter_of(const kernels::Mail& mail) { return static_cast<Letter>(mail.kind); }

}  // namespace orrery::worker
