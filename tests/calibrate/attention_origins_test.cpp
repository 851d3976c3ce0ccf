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

TEST_F(AttentionOrigins, RatesOnHopperAreThoseMeasuredOnAnH200) {
    for (const auto& shapes : {usual_, wide_}) {
        expect(AttentionKernel::flash_2, "flash", shapes);
        expect(AttentionKernel::cudnn, "cudnn", shapes);
    }
}

}  // namespace
}  // namespace orrery::calibrate
