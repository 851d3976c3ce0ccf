// What a calibration measures: one value names one point, in the log as on the screen.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>

#include "kernels/collective.hpp"
#include "kernels/device.hpp"
#include "kernels/kernel.hpp"

namespace orrery::calibrate {

/// nccl-tests' size, among all ranks that run.
struct CollectiveShape {
    kernels::CollectiveKind kind = kernels::CollectiveKind::all_reduce;
    std::uint32_t ranks = 2;
    std::uint64_t bytes = 0;
    bool operator==(const CollectiveShape&) const = default;
};

struct CopyShape {
    kernels::CopyKind kind = kernels::CopyKind::device_to_device;
    std::uint64_t bytes = 0;
    bool operator==(const CopyShape&) const = default;
};

using Beside = std::variant<CopyShape, CollectiveShape>;

/// A kernel on one stream while copies or collectives run on another.
struct OverlapShape {
    kernels::Kernel kernel;
    Beside beside;
    bool operator==(const OverlapShape&) const = default;
};

/// What the host and the device spend between kernels.
struct OverheadShape {
    enum class Kind : std::uint8_t {
        launch,  ///< host time of one launch()
        gap,     ///< device time from the end of a kernel to the start of one that depends on it
    } kind = Kind::launch;
    bool operator==(const OverheadShape&) const = default;
};

/// The same product over and over, for so long that power and heat settle.
struct SustainedShape {
    kernels::Gemm gemm;
    std::uint32_t seconds = 0;
    bool operator==(const SustainedShape&) const = default;
};

using Subject = std::variant<kernels::Kernel, CollectiveShape, CopyShape, OverlapShape, OverheadShape, SustainedShape>;

/// Unique per value: "gemm fp32 1x64x64x64", "all_reduce 1048576 B among 8", "host_to_device 4096 B",
/// "gemm ... beside all_reduce ...", "launch", "gap", "sustained 5 s gemm ...".
std::string to_text(const Subject& subject);
std::string to_text(const Beside& beside);

/// One object with the key of what it is: {"gemm": {"dtype": "bf16", "m": 1, ...}}.
nlohmann::json to_json(const Subject& subject);
/// Throws Error, with the key that is wrong and the remedy.
Subject subject_from(const nlohmann::json& document);

}  // namespace orrery::calibrate
