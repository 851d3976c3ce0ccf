// The rates of FlashAttention-2 and cuDNN on Hopper are those of the measurement that they name.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
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
        const hardware::AttentionRates rates = hardware::attention_rates(kernel, 90, shapes[0].head_dim);
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

/// cuDNN 9.22's times in ms, two sequences of 4,096 and 8,192 tokens: Llama 3.1's 64 heads, and DeepSeek-V3's 128 of
/// 192 and 128 columns, which a kernel has as of 160.
TEST(AttentionOriginsOfBlackwell, TimesAreThoseOfCudnnsBenchmark) {
    struct Published {
        const char* profile;
        int compute_capability;
        std::uint32_t seq, heads, kv_heads, head_dim;
        double forward, backward;
    };
    for (const Published& p : {Published{"gb200", 100, 4096, 64, 8, 128, 0.391, 1.198},
                               Published{"gb200", 100, 8192, 64, 8, 128, 1.397, 4.127},
                               Published{"gb200", 100, 4096, 128, 128, 160, 0.977, 3.383},
                               Published{"gb200", 100, 8192, 128, 128, 160, 3.470, 11.984},
                               Published{"gb300", 103, 4096, 64, 8, 128, 0.323, 1.101},
                               Published{"gb300", 103, 8192, 64, 8, 128, 1.185, 3.832},
                               Published{"gb300", 103, 4096, 128, 128, 160, 0.864, 3.127},
                               Published{"gb300", 103, 8192, 128, 128, 160, 3.013, 11.074}}) {
        const Profile profile = load_profile(std::string("scenarios/profiles/") + p.profile + ".json");
        const Predictor predictor(profile);
        const hardware::AttentionRates rates =
            hardware::attention_rates(AttentionKernel::cudnn_9_17, p.compute_capability, p.head_dim, false, p.seq);
        const auto seconds = [&](bool backward) {
            return predictor
                .at_table_clock(
                    Attention{kernels::Dtype::bf16, backward, true, 2, p.seq, p.heads, p.kv_heads, p.head_dim})
                .seconds;
        };
        EXPECT_NEAR(seconds(false) / rates.forward / (p.forward * 1e-3), 1, 0.01) << p.profile << p.seq << p.head_dim;
        EXPECT_NEAR(seconds(true) / rates.backward / (p.backward * 1e-3), 1, 0.01) << p.profile << p.seq << p.head_dim;
    }
}

TEST_F(AttentionOrigins, RatesOnHopperAreThoseMeasuredOnAnH200) {
    for (const auto& shapes : {usual_, wide_}) {
        expect(AttentionKernel::flash_2, "flash", shapes);
        expect(AttentionKernel::cudnn, "cudnn", shapes);
    }
}

}  // namespace
}  // namespace orrery::calibrate
