#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "kernels/cpu/half.hpp"
#include "kernels/cpu/parallel.hpp"

namespace orrery::kernels::cpu {

namespace {

/// fp32 elements of one operand in a block: 8 KiB, of which the first level of cache holds several. Twice as many cost
/// an addition half its time again, half as many nothing less.
constexpr std::uint64_t block_elements = 2048;
/// Rows of a block whose sums are put together once a block.
constexpr std::uint64_t least_summed_rows = 8;

/// How the elements of an operand belong to rows.
enum class Extent : std::uint8_t {
    rows,     ///< each row has its own
    columns,  ///< one row for all: read by each, or summed over them
    whole,    ///< a table that every block reads as it is
};

Extent extent_of(std::string_view operand) {
    constexpr std::array<std::string_view, 6> columns{"gamma", "beta", "bias", "dgamma", "dbeta", "db"};
    if (std::find(columns.begin(), columns.end(), operand) != columns.end()) return Extent::columns;
    return operand == "cos" || operand == "sin" ? Extent::whole : Extent::rows;
}

bool is_flat(PointwiseKind kind) {
    using enum PointwiseKind;
    return kind == add || kind == scale || kind == dropout || kind == dropout_backward ||
           kind == bias_dropout_add_backward || kind == relu || kind == relu_backward;
}

/// One operand of the launch.
struct Part {
    void* memory;
    Format format;
    Role role;
    Extent extent;
    std::uint64_t per_row, stride;  ///< elements; stride: from one row in memory to the next
    std::uint64_t first = 0;        ///< of its fp32 elements: in the columns' arrays

    [[nodiscard]] bool unpacked() const { return extent == Extent::rows && is_half(format); }
    [[nodiscard]] bool summed() const { return extent == Extent::columns && role != Role::in; }
    [[nodiscard]] void* row(std::uint64_t r) const {
        return static_cast<std::byte*>(memory) + r * stride * size_of(format);
    }
};

class Blocks {
public:
    Blocks(const Pointwise& p, const Memory& memory, Run loops) : p_(p), memory_(memory), loops_(loops) {
        if (is_flat(p.kind)) p_ = {p.kind, Dtype::fp32, p.rows * p.cols, 1};
        p_.dtype = Dtype::fp32;
        const std::vector<Operand> list = operands(p, memory.settings());
        for (std::size_t i = 0; i < list.size(); ++i) add(list[i], memory.as<void>(i));
        settings_ = memory.settings();
        settings_.row_stride = 0;
        settings_.accumulate = true;  // sums begin at zero here
        settings_.result.reset();
        if (settings_.positions == 0) settings_.positions = std::min(p_.rows, rope_positions);
        rows_ =
            std::min(p_.rows, std::max<std::uint64_t>(block_elements / widest_, summed_ > 0 ? least_summed_rows : 1));
    }

    void run() {
        const int parts = parts_of(p_.rows, least_elements / std::max<std::uint64_t>(1, p_.cols) + 1);
        std::vector<float> sums(static_cast<std::size_t>(parts) * summed_);
        split(p_.rows, parts, 1, [&](int part, std::uint64_t begin, std::uint64_t end) {
            float* const own = sums.data() + static_cast<std::size_t>(part) * summed_;
            for (std::uint64_t r = begin; r < end; r += rows_) block(r, std::min(rows_, end - r), own);
        });
        for (const Part& part : parts_)
            if (part.summed()) finish(part, sums);
    }

private:
    void add(const Operand& operand, void* memory) {
        const Extent extent = extent_of(operand.name);
        Part part{memory, operand.format, operand.role, extent, operand.elements, operand.elements};
        if (extent == Extent::rows) {
            part.per_row = part.stride = operand.elements / p_.rows;
            if (memory_.settings().row_stride != 0) part.stride = memory_.settings().row_stride;
            widest_ = std::max(widest_, part.per_row);
            if (part.unpacked()) unpacked_ += part.per_row;
        } else if (part.summed()) {
            part.first = summed_;
            summed_ += part.per_row;
        } else if (is_half(part.format)) {
            part.first = columns_.size();
            columns_.resize(part.first + part.per_row);
            load(part.format, memory, 0, columns_.data() + part.first, part.per_row);
        }
        parts_.push_back(part);
    }

    void block(std::uint64_t r, std::uint64_t count, float* sums) {
        thread_local std::vector<float> scratch;
        scratch.resize(std::max(scratch.size(), rows_ * unpacked_));
        float* next = scratch.data();
        std::vector<void*> pointers;
        for (const Part& part : parts_) {
            if (part.unpacked()) {
                pointers.push_back(next);
                if (part.role != Role::out) each_row(part, r, count, next, true);
                next += count * part.per_row;
            } else if (part.extent == Extent::rows) {
                pointers.push_back(part.row(r));
            } else if (part.summed()) {
                pointers.push_back(sums + part.first);
            } else {
                pointers.push_back(is_half(part.format) ? columns_.data() + part.first : part.memory);
            }
        }
        loops_({p_.kind, Dtype::fp32, count, p_.cols}, Memory(pointers, settings_, {r, p_.rows}));
        for (std::size_t i = 0; i < parts_.size(); ++i)
            if (parts_[i].unpacked() && parts_[i].role != Role::in)
                each_row(parts_[i], r, count, static_cast<float*>(pointers[i]), false);
    }

    /// Between memory and `values`: all rows at once where they touch.
    static void each_row(const Part& part, std::uint64_t r, std::uint64_t count, float* values, bool in) {
        const bool touch = part.stride == part.per_row;
        const std::uint64_t length = touch ? count * part.per_row : part.per_row;
        for (std::uint64_t i = 0; i < (touch ? 1 : count); ++i) {
            void* const memory = part.row(r + i);
            in ? load(part.format, memory, 0, values + i * length, length)
               : store(part.format, values + i * length, memory, 0, length);
        }
    }

    void finish(const Part& part, const std::vector<float>& sums) const {
        std::vector<float> total(part.per_row);
        if (memory_.settings().accumulate) load(part.format, part.memory, 0, total.data(), total.size());
        for (std::size_t at = part.first; at < sums.size(); at += summed_)
            for (std::size_t c = 0; c < total.size(); ++c) total[c] += sums[at + c];
        store(part.format, total.data(), part.memory, 0, total.size());
    }

    Pointwise p_;
    const Memory& memory_;
    Run loops_;
    Settings settings_;
    std::vector<Part> parts_;
    std::vector<float> columns_;  ///< those that are read, in fp32
    std::uint64_t widest_ = 1, unpacked_ = 0, summed_ = 0, rows_ = 1;
};

}  // namespace

void run_in_blocks(const Pointwise& p, const Memory& memory, Run run) { Blocks(p, memory, run).run(); }

}  // namespace orrery::kernels::cpu
