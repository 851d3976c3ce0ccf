#include "tests/sim/bench.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "tests/scenarios/random_scenario.hpp"

namespace orrery::sim {

namespace {

constexpr const char* small = R"({
    "model": {"name": "small", "model_type": "gpt", "num_hidden_layers": 8, "hidden_size": 1024,
              "num_attention_heads": 16, "vocab_size": 20000, "max_position_embeddings": 4096},
    "cluster": {"preset": "superpod-a100", "nodes": 2},
    "strategy": {"tensor": 2, "pipeline": 2, "data": 4},
    "training": {"seq_length": 512, "micro_batch_size": 1, "global_batch_size": 32, "precision": "bf16"}
})";

class UncontendedEngine final : public Engine {
public:
    explicit UncontendedEngine(std::vector<double> capacity) : capacity_(std::move(capacity)) {}

    [[nodiscard]] double now() const override { return now_; }
    void timer(double at, std::uint64_t tag) override { events_.emplace(at, std::pair{false, tag}); }
    void flow(std::span<const LinkUse> uses, double bytes, double rate_limit, std::uint64_t tag) override {
        double rate = rate_limit;
        for (const LinkUse& use : uses) rate = std::min(rate, capacity_.at(use.link) / use.weight);
        events_.emplace(now_ + bytes / rate, std::pair{true, tag});
    }
    void stream(std::span<const LinkUse>, double, std::uint64_t) override {}
    void end_stream(std::uint64_t) override {}
    void stop() override { events_.clear(); }
    void capacity(std::uint32_t link, double bytes_per_second) override { capacity_.at(link) = bytes_per_second; }
    void run(EventSink& sink) override {
        while (!events_.empty()) {
            const auto [at, what] = *events_.begin();
            events_.erase(events_.begin());
            now_ = at;
            what.first ? sink.on_flow_end(what.second) : sink.on_timer(what.second);
        }
    }
    [[nodiscard]] double carried_bytes(std::uint32_t) const override { return 0; }

private:
    std::vector<double> capacity_;
    double now_ = 0;
    std::multimap<double, std::pair<bool, std::uint64_t>> events_;  // equal times in order of insertion
};

}  // namespace

calibrate::ProfileStore& profiles() {
    static calibrate::ProfileStore store;
    return store;
}

scenarios::Scenario scenario_of(const nlohmann::json& document) { return scenarios::from_json(document, "test.json"); }

scenarios::Scenario small_scenario(const std::string& patch) {
    auto document = nlohmann::json::parse(small);
    document.merge_patch(nlohmann::json::parse(patch));
    return scenario_of(document);
}

nlohmann::json random_document(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    nlohmann::json document = scenarios::random_scenario(random);
    const auto preset = document["cluster"]["preset"].get<std::string>();
    // FlashAttention does not run on the V100, and its profile says so.
    if (preset == "dgx-1v" || preset == "dgx-2") document["training"]["fused_attention"] = false;
    return document;
}

Prediction quick(const scenarios::Scenario& scenario) {
    return predict(scenario, profiles(), {.scale_factor = false, .advice = false});
}

std::unique_ptr<Engine> make_uncontended_engine(std::vector<double> capacity_bytes_per_second) {
    return std::make_unique<UncontendedEngine>(std::move(capacity_bytes_per_second));
}

}  // namespace orrery::sim
