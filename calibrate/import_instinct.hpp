// The tables of instinct/: measurements of others on AMD's accelerators as CSV, one row a reading.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// products_BOARD_FORMAT.csv: m,n,k,us,source. A reading above that of a larger product is lowered to it.
GemmTable instinct_gemm(const std::filesystem::path& folder, std::string_view board, kernels::Dtype dtype,
                        const std::string& device);
/// attention_BOARD.csv: backward,causal,batch,seq,heads,kv_heads,head_dim,us. Four tables: forward and backward, causal
/// and not.
std::vector<AttentionTable> instinct_attention(const std::filesystem::path& folder, std::string_view board,
                                               const std::string& device);
/// memory_BOARD.csv: kind,bytes,us,source. A table a kind.
std::vector<PointwiseTable> instinct_pointwise(const std::filesystem::path& folder, std::string_view board,
                                               const std::string& device);
/// collectives_BOARD.csv: kind,ranks,bytes,us,source; rccl-tests' sizes and times. A table for each kind and number of
/// ranks.
std::vector<CollectiveTable> instinct_collectives(const std::filesystem::path& folder, std::string_view board,
                                                  const std::string& device);

}  // namespace orrery::calibrate
