// Letters between the processes of an MPI job, for those that have more to say to each other than numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace orrery::kernels {

struct Mail {
    std::uint32_t from = 0;
    std::uint8_t kind = 0;  ///< what sender and receiver mean by it
    std::string text;
};

/// MPI from its start to its end: one in a process, and no communicator beside it. One thread at a time may call. What
/// MPI refuses is thrown as std::runtime_error.
class PostOffice {
public:
    PostOffice();
    /// Waits until the other ranks end too.
    ~PostOffice();
    PostOffice(const PostOffice&) = delete;
    PostOffice& operator=(const PostOffice&) = delete;

    [[nodiscard]] std::uint32_t rank() const { return rank_; }
    [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
    void send(std::uint32_t to, std::uint8_t kind, const std::string& text) const;
    /// What has come; nothing when nothing has.
    [[nodiscard]] std::optional<Mail> receive() const;
    /// What comes next. Leaves the core to others while it waits.
    [[nodiscard]] Mail wait() const;

private:
    std::uint32_t rank_ = 0, ranks_ = 1;
};

/// Between two looks into the letter box: short after a letter, up to a millisecond when none comes.
class Patience {
public:
    void reset() { microseconds_ = least; }
    void wait();

private:
    static constexpr unsigned least = 20, most = 1000;
    unsigned microseconds_ = least;
};

}  // namespace orrery::kernels
