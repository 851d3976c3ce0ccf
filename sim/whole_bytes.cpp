#include "sim/whole_bytes.hpp"

#include <cmath>
#include <utility>

namespace orrery::sim {

namespace {

class WholeByteEngine final : public Engine {
public:
    explicit WholeByteEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

    [[nodiscard]] double now() const override { return engine_->now(); }
    void timer(double at, std::uint64_t tag) override { engine_->timer(at, tag); }
    void flow(std::span<const LinkUse> uses, double bytes, double rate_limit, std::uint64_t tag) override {
        const double weight = uses.empty() ? 1.0 : uses.front().weight;
        engine_->flow(uses, weight > 0 ? std::round(bytes * weight) / weight : bytes, rate_limit, tag);
    }
    void stream(std::span<const LinkUse> uses, double rate_limit, std::uint64_t tag) override {
        engine_->stream(uses, rate_limit, tag);
    }
    void end_stream(std::uint64_t tag) override { engine_->end_stream(tag); }
    void stop() override { engine_->stop(); }
    void capacity(std::uint32_t link, double bytes_per_second) override { engine_->capacity(link, bytes_per_second); }
    void run(EventSink& sink) override { engine_->run(sink); }
    [[nodiscard]] double carried_bytes(std::uint32_t link) const override { return engine_->carried_bytes(link); }

private:
    std::unique_ptr<Engine> engine_;
};

}  // namespace

std::unique_ptr<Engine> make_whole_byte_engine(std::vector<double> capacity_bytes_per_second) {
    return std::make_unique<WholeByteEngine>(make_fluid_engine(std::move(capacity_bytes_per_second)));
}

}  // namespace orrery::sim
