#include "tests/planning/small_sites.hpp"

#include <nlohmann/json.hpp>
#include <random>

namespace orrery::planning {

std::string small_document(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto one_of = [&](auto... values) {
        const std::vector list{values...};
        return list[random() % list.size()];
    };
    using Text = std::string;
    const bool experts = random() % 4 == 0;
    nlohmann::json model = {
        {"name", "small"},          {"num_hidden_layers", one_of(4, 6, 8)}, {"hidden_size", one_of(512, 1024, 2048)},
        {"num_attention_heads", 8}, {"vocab_size", one_of(8000, 50257)},    {"max_position_embeddings", 1024}};
    if (experts) {
        model["num_experts"] = one_of(4, 8);
        model["moe_layer_freq"] = one_of(1, 2);
    }
    if (random() % 3 == 0) model["tie_word_embeddings"] = false;
    nlohmann::json cluster = {{"preset", one_of(Text("dgx-a100"), Text("dgx-a100"), Text("ethernet"))},
                              {"nodes", one_of(1, 2, 2)}};
    if (cluster["preset"] == "ethernet")
        cluster.update({{"gpu", "A100-80GB"}, {"gpus_per_node", 4}, {"nics_per_node", 1}, {"nic_rate", "25 Gb/s"}});
    const nlohmann::json document = {{"model", model},
                                     {"cluster", cluster},
                                     {"training",
                                      {{"seq_length", one_of(256, 512)},
                                       {"global_batch_size", one_of(16, 24, 48)},
                                       {"precision", one_of(Text("bf16"), Text("fp16"))},
                                       {"fused_attention", random() % 2 == 0},
                                       {"cuda_graph", random() % 4 == 0}}}};
    return document.dump();
}

}  // namespace orrery::planning
