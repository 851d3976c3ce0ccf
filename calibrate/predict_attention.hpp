// Fused attention times: measured time over roofline time by nearest measured shapes, of published tables; of measured
// ones around what their parts cost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/attention_trend.hpp"
#include "calibrate/interpolate.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/roofline.hpp"

namespace orrery::calibrate {

class AttentionPredictor {
public:
    explicit AttentionPredictor(const Profile& profile);
    /// At the clock of the table. Throws Error when the profile has no attention table.
    [[nodiscard]] Estimate at_table_clock(const kernels::Attention& attention) const;
    /// At the sustained clock.
    [[nodiscard]] Estimate estimate(const kernels::Attention& attention) const;
    [[nodiscard]] std::string explain(const kernels::Attention& attention) const;

private:
    struct Lookup {
        const AttentionTable* table;
        Scatter<5> scatter;
        std::vector<float> ratio;
        std::optional<AttentionScatter> kriging;  ///< of a measured table
    };
    struct Answer {
        const Lookup* lookup;
        bool derived;  ///< the backward pass from the forward pass
        std::vector<Weight> weights = {};
        double seconds = 0;  ///< of the pass and mask that the table measured
        double half_width = 0;
        bool outside = false;
        double rate_of = 0;      ///< tokens: of the longest row, where one that is longer has its rate; else 0
        bool as_blocks = false;  ///< of so many more heads
        std::optional<ScatteredTimes::Answer> kriged = {};  ///< where kriging answers
    };
    [[nodiscard]] Answer answer(const kernels::Attention& attention) const;
    [[nodiscard]] static double beyond(const Lookup& lookup, const kernels::Attention& attention);
    /// log of the time over the roofline's, with the rows of out that it is taken of.
    [[nodiscard]] static double ratio(const Lookup& lookup, const kernels::Attention& attention, Answer& out);
    [[nodiscard]] const Lookup& lookup(const kernels::Attention& attention) const;

    Machine machine_;
    double backward_rate_, dropout_forward_, dropout_backward_, sustained_, best_rate_;
    std::string profile_name_;
    std::vector<Lookup> tables_;
};

}  // namespace orrery::calibrate
