// One accelerator: its datasheet row, and what the node builders must know beyond it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery::topology {

struct Gpu {
    std::string name;     ///< "A100-SXM4-80GB"
    std::string profile;  ///< default profile ("a100")
    std::uint64_t memory_bytes = 0;
    double memory_bytes_per_second = 0;                                    ///< datasheet; 0: what its profile measured
    double fp32_flops = 0, tf32_flops = 0, half_flops = 0, fp8_flops = 0;  ///< dense datasheet peaks; 0: not offered
    bool bf16 = false, fp16 = false;                                       ///< which formats reach half_flops
};

/// Boards of the same socket can be exchanged within a node: they have the same NVLink generation and carrier.
enum class Socket : std::uint8_t { nvlink1, nvlink2, nvlink3, nvlink4, nvlink5, grace, pcie, tpu_v3, tpu_v4, core };
std::string_view name(Socket socket);

/// The socket of a GPU out of gpus().
Socket socket_of(const Gpu& gpu);

/// Chips with the router of their own network on them; they sit in no node.
bool is_chip(Socket socket);

/// CUDA compute capability of the GPUs of a socket, 80 for 8.0; 0 for chips that are no NVIDIA GPUs.
int compute_capability(Socket socket);

/// Names of the GPUs that fit a socket, "A100-SXM4-40GB, A100-SXM4-80GB".
std::string gpus_with(Socket socket);

}  // namespace orrery::topology
