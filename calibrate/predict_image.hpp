// Times of kernels over images: convolutions as the products that they are, pooling and batch norms as streams.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/interpolate.hpp"
#include "calibrate/predict_gemm.hpp"
#include "calibrate/predict_pointwise.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/roofline.hpp"

namespace orrery::calibrate {

/// Convolutions are interpolated where the profile has a table of their pass; all else is derived from tables of other
/// kernels, and says so.
class ImagePredictor {
public:
    /// Keeps references to the other predictors.
    ImagePredictor(const Profile& profile, const GemmPredictor& gemm, const PointwisePredictor& pointwise);

    /// Its roofline times what the nearest measured shapes take over theirs. Without a table: its roofline over the
    /// share of its own roofline that the profile's tables give its implicit product; without a table of products, over
    /// `untabled_share`.
    [[nodiscard]] Estimate at_table_clock(const kernels::Convolution& convolution) const;
    /// No faster in a long run than products are, or the fastest convolution of its table (in fp32 Winograd's have
    /// fewer operations than are counted), times the share of the best that lasts.
    [[nodiscard]] Estimate estimate(const kernels::Convolution& convolution) const;
    /// As long as an addition that moves as many bytes.
    [[nodiscard]] Estimate estimate(const kernels::Pooling& pooling) const;
    [[nodiscard]] Estimate estimate(const kernels::BatchNorm& norm) const;

    [[nodiscard]] std::string explain(const kernels::Convolution& convolution) const;
    [[nodiscard]] std::string explain(const kernels::Pooling& pooling) const;
    [[nodiscard]] std::string explain(const kernels::BatchNorm& norm) const;

private:
    /// Measured convolutions of one pass and format, as logarithms of time over roofline.
    struct Lookup {
        const ConvolutionTable* table;
        Scatter<5> scatter;
        std::vector<float> ratio;
        double best_rate = 0;  ///< flop/s
    };
    [[nodiscard]] const Lookup* lookup(const kernels::Convolution& convolution) const;
    [[nodiscard]] Estimate interpolated(const Lookup& lookup, const kernels::Convolution& convolution) const;
    [[nodiscard]] std::string explain_rows(const Lookup& lookup, const kernels::Convolution& convolution) const;

    std::vector<Lookup> tables_;
    Machine machine_;
    bool has_products_;
    double best_rate_, sustained_, sustained_single_;
    const GemmPredictor& gemm_;
    const PointwisePredictor& pointwise_;
};

}  // namespace orrery::calibrate
