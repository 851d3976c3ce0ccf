// One rank of a plan without the others: what it computes is real, what it communicates is left out.
#pragma once

#include "kernels/communicator.hpp"

namespace orrery::run {

/// A world of `ranks` of which only `rank` is there. Nothing is moved: what other ranks would have sent stays as the
/// memory was. Texts and values are its own alone.
class LoneRank final : public kernels::Communicator {
public:
    LoneRank(std::uint32_t rank, std::uint32_t ranks) : rank_(rank), ranks_(ranks) {}

    [[nodiscard]] std::uint32_t rank() const override { return rank_; }
    [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
    [[nodiscard]] std::uint32_t nodes() const override { return 1; }
    [[nodiscard]] std::string software() const override { return "none"; }
    void run(kernels::CollectiveKind, const void*, void*, std::uint64_t, kernels::Dtype, kernels::Stream,
             kernels::Reduction) override {}
    void send(const void*, std::uint64_t, std::uint32_t, kernels::Stream) override {}
    void receive(void*, std::uint64_t, std::uint32_t, kernels::Stream) override {}
    [[nodiscard]] std::unique_ptr<Communicator> split(std::uint32_t) override {
        return std::make_unique<LoneRank>(rank_, ranks_);
    }
    void barrier() override {}
    [[nodiscard]] double maximum(double value) override { return value; }
    [[nodiscard]] std::string from_first(const std::string& text) override { return text; }
    [[nodiscard]] std::vector<std::string> texts(const std::string& text) override { return {text}; }
    void abort(const std::string&) noexcept override {}

private:
    std::uint32_t rank_, ranks_;
};

}  // namespace orrery::run
