// The rates of FlashAttention-2 and cuDNN on Hopper are those of the measurement that they name.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "calibrate/predictor.hpp"
#include "calibrate/profile_store.hpp"
#include "hardware/attention_kernels.hpp"

namespace orrery::calibrate {
namespace {

using hardware::AttentionKernel;
using kernels::Attention;

struct Shape {
    std::uint32_t batch, heads, kv_heads, seq, head_dim;
};

class AttentionOrigins : public testing::Test {
protected:
    /// Median of what the table takes over what was measured.
    [[nodiscard]] double rate(const std::string& library, bool backward, const std::vector<Shape>& shapes) const {
        std::vector<double> rates;
        for (const Shape& s : shapes) {
            const Attention attention{kernels::Dtype::bf16, backward,  true, s.batch, s.seq, s.heads,
                                      s.kv_heads,           s.head_dim};
            const std::string name = "attention " + library + ' ' + std::to_string(s.batch) + 'x' +
                                     std::to_string(s.heads) + '/' + std::to_string(s.kv_heads) + 'x' +
                                     std::to_string(s.seq) + 'x' + std::to_string(s.head_dim) +
                                     (backward ? " backward" : " forward");
            rates.push_back(predictor_.at_table_clock(attention).seconds / seconds_.at(name).get<double>());
        }
        std::ranges::sort(rates);
        return rates[rates.size() / 2];
    }

    void expect(AttentionKernel kernel, const std::string& library, const std::vector<Shape>& shapes) const {
        const hardware::AttentionRates rates = hardware::attention_rates(kernel, 90, {.head_dim = shapes[0].head_dim});
        EXPECT_NEAR(rates.forward, rate(library, false, shapes), 0.002) << library;
        EXPECT_NEAR(rates.backward, rate(library, true, shapes), 0.002) << library;
    }

    const std::vector<Shape> usual_{{2, 32, 8, 4096, 128},
                                    {1, 32, 8, 8192, 128},
                                    {1, 64, 8, 8192, 128},
                                    {1, 32, 8, 16384, 128},
                                    {1, 8, 1, 32768, 128}};
    const std::vector<Shape> wide_{{2, 16, 16, 4096, 192}};
    const Predictor predictor_{shipped_profile()};
    nlohmann::json seconds_ =
        nlohmann::json::parse(std::ifstream("tests/gpu/measured/h200-pytorch-kernels.json")).at("seconds");

private:
    static const Profile& shipped_profile() {
        static const Profile profile = load_profile("scenarios/profiles/h200.json");
        return profile;
    }
};

/// cuDNN 9.22's times in ms, two sequences: Llama 3.1's 64 heads, and DeepSeek-V3's 128 of 192 and 128 columns, which a
/// kernel has as of 160.
struct OfCudnn {
    std::uint32_t seq;
    double forward, backward, latent_forward, latent_backward;
};
constexpr OfCudnn on_gb200[] = {
    {2048, 0.125, 0.389, 0.321, 1.056},    {4096, 0.391, 1.198, 0.977, 3.383},       {8192, 1.397, 4.127, 3.47, 11.984},
    {16384, 5.15, 16.554, 13.103, 50.424}, {32768, 21.692, 71.756, 50.456, 212.546},
};
constexpr OfCudnn on_gb300[] = {
    {2048, 0.1, 0.356, 0.268, 0.977},         {4096, 0.323, 1.101, 0.864, 3.127},
    {8192, 1.185, 3.832, 3.013, 11.074},      {16384, 4.593, 14.593, 11.178, 43.911},
    {32768, 18.014, 59.024, 44.189, 177.494},
};

void expect_published(const Profile& profile, int compute_capability, const Attention& forward, double first,
                      double second) {
    const Predictor predictor(profile);
    const hardware::AttentionRates rates = hardware::attention_rates(
        AttentionKernel::cudnn_9_17, compute_capability, {.head_dim = forward.head_dim, .seq = double(forward.seq)});
    Attention backward = forward;
    backward.backward = true;
    EXPECT_NEAR(predictor.at_table_clock(forward).seconds / rates.forward / (first * 1e-3), 1, 0.01) << forward.seq;
    EXPECT_NEAR(predictor.at_table_clock(backward).seconds / rates.backward / (second * 1e-3), 1, 0.01) << forward.seq;
}

TEST(AttentionOriginsOfBlackwell, TimesAreThoseOfCudnnsBenchmark) {
    const auto expect_all = [](const char* name, int compute_capability, std::span<const OfCudnn> published) {
        const Profile profile = load_profile(std::string("scenarios/profiles/") + name + ".json");
        for (const OfCudnn& p : published) {
            const Attention grouped{kernels::Dtype::bf16, false, true, 2, p.seq, 64, 8, 128},
                latent{kernels::Dtype::bf16, false, true, 2, p.seq, 128, 128, 160};
            expect_published(profile, compute_capability, grouped, p.forward, p.backward);
            expect_published(profile, compute_capability, latent, p.latent_forward, p.latent_backward);
        }
    };
    expect_all("gb200", 100, on_gb200);
    expect_all("gb300", 103, on_gb300);
}

/// Milliseconds of PyTorch's, one sequence, 128 heads over 8.
TEST(AttentionOriginsOfBlackwell, FlashAttention2IsAsSlowThereAsItWasMeasured) {
    struct Measured {
        std::uint32_t seq;
        double forward, backward;
    };
    const auto expect_all = [](const char* name, int compute_capability, std::span<const Measured> published) {
        const Profile profile = load_profile(std::string("scenarios/profiles/") + name + ".json");
        const Predictor predictor(profile);
        for (const Measured& p : published) {
            const hardware::AttentionRates rates =
                hardware::attention_rates(AttentionKernel::flash_2, compute_capability, {.seq = double(p.seq)});
            Attention attention{kernels::Dtype::bf16, false, true, 1, p.seq, 128, 8, 128};
            EXPECT_NEAR(predictor.at_table_clock(attention).seconds / rates.forward / (p.forward * 1e-3), 1, 0.02)
                << name << ' ' << p.seq;
            attention.backward = true;
            EXPECT_NEAR(predictor.at_table_clock(attention).seconds / rates.backward / (p.backward * 1e-3), 1, 0.02)
                << name << ' ' << p.seq;
        }
    };
    const Measured on_b200[] = {{2048, 0.567, 1.844},
                                {4096, 1.692, 5.36},
                                {8192, 5.889, 18.395},
                                {16384, 22.297, 68.724},
                                {32768, 87.146, 265.902}},
                   of_gb300[] = {{2048, 0.507, 1.493},
                                 {4096, 1.501, 4.713},
                                 {8192, 5.356, 16.654},
                                 {16384, 20.421, 62.664},
                                 {32768, 79.905, 242.968}};
    expect_all("b200", 100, on_b200);
    expect_all("gb300", 103, of_gb300);
}

TEST_F(AttentionOrigins, RatesOnHopperAreThoseMeasuredOnAnH200) {
    for (const auto& shapes : {usual_, wide_}) {
        expect(AttentionKernel::flash_2, "flash", shapes);
        expect(AttentionKernel::cudnn, "cudnn", shapes);
    }
}

}  // namespace
}  // namespace orrery::calibrate
