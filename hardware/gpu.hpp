// One accelerator: its datasheet row, and what node builders and profiles must know beyond it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hardware/host_time.hpp"
#include "hardware/socket.hpp"

namespace orrery::hardware {

struct Gpu {
    std::string name;     ///< "A100-SXM4-80GB"
    std::string profile;  ///< default profile ("a100")
    std::uint64_t memory_bytes = 0;
    double memory_bytes_per_second = 0;                     ///< datasheet; 0: what its profile measured
    double fp32_flops = 0, tf32_flops = 0, half_flops = 0;  ///< dense datasheet peaks; 0: not offered
    double fp8_flops = 0, fp4_flops = 0;
    bool bf16 = false, fp16 = false;  ///< which formats reach half_flops
    Socket socket = Socket::pcie;
    std::uint32_t multiprocessors = 0;         ///< as the device reports them (cudaDeviceProp); 0: not known
    int compute_capability = 0;                ///< CUDA's, 80 for 8.0; 0 for chips that are no NVIDIA GPUs
    HostProcessor host = HostProcessor::none;  ///< of the vendor's node that it is sold in
    std::uint32_t nvlinks = 0;                 ///< of the board; 0: as many as its node has for each
    double power_limit_watts = 0;              ///< that its board is held to; 0: its design power (power_of)
    std::string datasheet;                     ///< where the peaks and the bandwidth come from
};

/// The table, oldest generation first.
std::span<const Gpu> gpus();

/// By name or common alias ("A100-80GB", "H100", "V100-32GB"), case-insensitively; null where there is none.
const Gpu* find(std::string_view name);

/// Names and aliases of all, for messages.
std::span<const std::string_view> names();

/// Names of the GPUs that fit a socket, "A100-SXM4-40GB, A100-SXM4-80GB".
std::string gpus_with(Socket socket);

}  // namespace orrery::hardware
