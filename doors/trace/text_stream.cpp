#include "doors/trace/text_stream.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/units.hpp"

namespace orrery::doors::trace {

namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 18U;

gzFile of(void* stream) { return static_cast<gzFile>(stream); }

}  // namespace

TextStream::TextStream(const std::string& file, std::uint64_t most, const Remedies& remedies)
    : file_(file), remedies_(remedies), most_(most), stream_(nullptr), piece_(piece_bytes) {
    std::error_code none;
    if (std::filesystem::is_regular_file(file, none)) stream_ = gzopen(file.c_str(), "rb");
    if (stream_ == nullptr) throw Error(file, "", "cannot be read", remedies_.unreadable);
    gzbuffer(of(stream_), piece_bytes);
}

TextStream::~TextStream() { gzclose(of(stream_)); }

TextStream::int_type TextStream::underflow() {
    const int got = gzread(of(stream_), piece_.data(), static_cast<unsigned>(piece_.size()));
    int state = Z_OK;
    gzerror(of(stream_), &state);
    if (got < 0 || (got == 0 && state == Z_BUF_ERROR))
        throw Error(file_, "", "is damaged: its compressed text does not end as it should",
                    "copy it again, or record it anew");
    if (got == 0) return traits_type::eof();
    read_ += static_cast<std::uint64_t>(got);
    if (read_ > most_)
        throw Error(file_, "", fmt::format("holds more than {} of text", format_bytes(static_cast<double>(most_))),
                    remedies_.too_large);
    setg(piece_.data(), piece_.data(), piece_.data() + got);
    return traits_type::to_int_type(piece_.front());
}

}  // namespace orrery::doors::trace
