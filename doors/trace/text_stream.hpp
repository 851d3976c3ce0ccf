// The text of a file that may be compressed, as it is read.
#pragma once

#include <cstdint>
#include <streambuf>
#include <string>
#include <vector>

namespace orrery::doors::trace {

/// The bytes of a file, decompressed where it is gzip's, a piece at a time. Throws Error (file) for a file that cannot
/// be read, whose compression is damaged, or that holds more than `most` bytes.
class TextStream : public std::streambuf {
public:
    /// Of a file that cannot be read, and of one that holds too much.
    struct Remedies {
        const char *unreadable, *too_large;
    };
    TextStream(const std::string& file, std::uint64_t most, const Remedies& remedies);
    ~TextStream() override;
    TextStream(const TextStream&) = delete;
    TextStream& operator=(const TextStream&) = delete;

protected:
    int_type underflow() override;

private:
    std::string file_;
    Remedies remedies_;
    std::uint64_t most_, read_ = 0;
    void* stream_;  ///< gzFile
    std::vector<char> piece_;
};

}  // namespace orrery::doors::trace
