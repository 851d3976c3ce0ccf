#include "kernels/mpi/mail.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <thread>

namespace orrery::kernels {

namespace {

void check(int code, const char* what) {
    if (code != MPI_SUCCESS) throw std::runtime_error(std::string("MPI failed in ") + what);
}

}  // namespace

PostOffice::PostOffice() {
    int provided = 0, rank = 0, ranks = 1;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "starting");
    if (provided < MPI_THREAD_SERIALIZED) throw std::runtime_error("this MPI can serve one thread of a process only");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "counting ranks");
    check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "counting ranks");
    rank_ = static_cast<std::uint32_t>(rank);
    ranks_ = static_cast<std::uint32_t>(ranks);
}

PostOffice::~PostOffice() { MPI_Finalize(); }

void PostOffice::send(std::uint32_t to, std::uint8_t kind, const std::string& text) const {
    if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw std::runtime_error("a letter is longer than MPI can count");
    check(MPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, static_cast<int>(to), static_cast<int>(kind),
                   MPI_COMM_WORLD),
          "sending");
}

std::optional<Mail> PostOffice::receive() const {
    int there = 0, bytes = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status), "looking for letters");
    if (there == 0) return std::nullopt;
    check(MPI_Get_count(&status, MPI_BYTE, &bytes), "weighing a letter");
    Mail mail{static_cast<std::uint32_t>(status.MPI_SOURCE), static_cast<std::uint8_t>(status.MPI_TAG),
              std::string(static_cast<std::size_t>(bytes), '\0')};
    check(MPI_Recv(mail.text.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE),
          "receiving");
    return mail;
}

Mail PostOffice::wait() const {
    for (Patience patience;; patience.wait())
        if (std::optional<Mail> mail = receive()) return *std::move(mail);
}

void Patience::wait() {
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds_));
    microseconds_ = std::min(2 * microseconds_, most);
}

}  // namespace orrery::kernels
