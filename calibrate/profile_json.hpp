// The JSON form of a profile: tables as columns, a full GEMM grid as its axes and a list of times.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// The columns of a table of convolutions, in the order in which its rows ascend.
struct ConvolutionColumn {
    std::string_view name;
    std::uint32_t kernels::Convolution::*member;
};
inline constexpr std::array<ConvolutionColumn, 11> convolution_columns{{
    {"channels", &kernels::Convolution::channels},
    {"outputs", &kernels::Convolution::outputs},
    {"kernel_rows", &kernels::Convolution::kernel_rows},
    {"kernel_columns", &kernels::Convolution::kernel_columns},
    {"stride", &kernels::Convolution::stride},
    {"padding", &kernels::Convolution::padding},
    {"dilation", &kernels::Convolution::dilation},
    {"groups", &kernels::Convolution::groups},
    {"rows", &kernels::Convolution::rows},
    {"columns", &kernels::Convolution::columns},
    {"batch", &kernels::Convolution::batch},
}};
/// The values of these columns: what rows are ordered by.
std::array<std::uint32_t, convolution_columns.size()> convolution_key(const kernels::Convolution& shape);

/// Throws Error with the pointer of what is missing or of the wrong type; no check of values.
Profile profile_from(const nlohmann::json& document);

/// Four significant digits a time; equal profiles give equal text.
std::string to_json_text(const Profile& profile);

}  // namespace orrery::calibrate
