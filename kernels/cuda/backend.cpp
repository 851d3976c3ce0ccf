// What a build with CUDA offers: "cuda" and, where NCCL was found, communication.
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "base/error.hpp"
#include "kernels/backends.hpp"
#include "kernels/cuda/cuda_device.hpp"
#include "kernels/processes.hpp"

namespace orrery::kernels {

namespace {

/// A rank has up to ten streams; with the 8 hardware queues that CUDA gives a process by itself, what waits for an
/// event would keep back what another stream queued behind it. Read when CUDA starts.
void want_queues() { ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0); }

/// ORRERY_CUDNN: the path of a cuDNN, or "off"; not set: the usual one, or none.
const cuda::cudnn::Api* fused_attention() {
    const std::string wanted = environment("ORRERY_CUDNN").value_or("");
    return wanted == "off" ? nullptr : cuda::cudnn::load(wanted);
}

/// "cuda": the first GPU, or that of this process's rank on its host; "cuda:2": that one. ORRERY_GEMM_CANDIDATES: see
/// cuda::GemmLibrary.
std::unique_ptr<Device> open(std::string_view detail) {
    const auto number = [](std::string_view text, std::string_view what) {
        int value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{} || end != text.data() + text.size() || value < 0)
            throw Error(fmt::format("{} is \"{}\"", what, text), "give a whole number");
        return value;
    };
    want_queues();
    int ordinal = 0;
    if (!detail.empty())
        ordinal = number(detail, "the GPU's number");
    else if (const auto started = processes(environment); started && cuda::gpus() > 1)
        ordinal = static_cast<int>(started->local_rank);
    const auto candidates = environment("ORRERY_GEMM_CANDIDATES");
    return std::make_unique<cuda::CudaDevice>(ordinal, candidates ? number(*candidates, "ORRERY_GEMM_CANDIDATES") : 1,
                                              fused_attention());
}

}  // namespace

Backend cuda_backend() { return {"cuda", true, "", open}; }

}  // namespace orrery::kernels
