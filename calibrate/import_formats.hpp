// One reader a publisher's format. Each returns tables sorted as profile_check.hpp demands.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibrate/csv.hpp"
#include "calibrate/profile.hpp"

namespace orrery::calibrate {

using std::filesystem::path;

/// Products of columns m, n, k and us, microseconds.
std::vector<GemmPoint> gemm_points(const Csv& csv);

/// NVIDIA AIConfigurator. gemm: m,n,k,us. attention: batch,seq,heads,kv_heads,head_dim,us; a reading above that of a
/// longer sequence is lowered to it.
GemmTable aiconfigurator_gemm(const path& file, kernels::Dtype dtype, const std::string& device);
AttentionTable aiconfigurator_attention(const path& file, const std::string& device);
/// sys,file_ver,op_name,nccl_dtype,num_gpus,bytes,us: the 16-bit rows of one system. Readings of one size under NCCL
/// 2.26 and newer are merged to their lower median: the versions agree within 3%, single readings are up to 60% off.
std::vector<CollectiveTable> aiconfigurator_collectives(const path& file, const std::string& system,
                                                        const std::string& device);

/// InferSim, its folder bench_data. Products of DeepGEMM in fp8, gemm/GPU/data.csv: m,k,n,latency_us,mfu.
GemmTable infersim_gemm(const path& folder, const std::string& gpu, const std::string& device);
/// A table of fp8 as one of 16 bits, where tensor cores multiply these at half the rate and nothing else was read.
GemmTable twice_as_wide(GemmTable table);
/// Prompts by FlashAttention-3, causal, of one sequence, mha/prefill/GPU/HEADS-KV_HEADS-WIDTH.csv:
/// dtype,seq_len,latency_us,mfu.
AttentionTable infersim_attention(const path& folder, const std::string& gpu, const std::string& device);

/// vTrain: nccl-tests all-reduce sweeps of 2 to 8 GPUs (gpus_N.csv), thinned to about four sizes an octave below
/// 16 MiB and two above.
std::vector<CollectiveTable> vtrain_all_reduce(const path& folder, const std::string& device);

/// Vidur: kernels of Llama-2 layers by token count. Only `add`, `rope` and `embedding` are read: README.md says why.
std::vector<PointwiseTable> vidur_pointwise(const std::vector<path>& files, const std::string& device);
/// Vidur: send/recv between two GPUs of one node.
CollectiveTable vidur_send_recv(const path& file, const std::string& device);

/// LLMCompass: softmax, layernorm and GELU on an A100, host-timed; the launch overhead is taken out.
std::vector<PointwiseTable> llmcompass_pointwise(const path& folder);

/// DeepBench: the GEMM block of NVIDIA's results; transposed variants of one shape are averaged. made: the device, the
/// year, the library.
GemmTable deepbench_gemm(const path& file, kernels::Dtype dtype, const Provenance& made);
/// DeepBench: the convolutions of the same files, a table for each pass. Rows of 16 bits whose channels are no multiple
/// of 8 are left out: cuDNN 7.0 ran them without tensor cores, later versions pad them (release notes of cuDNN 7.3). A
/// reading above that of a convolution that contains it is lowered to it. Throws Error for a file without them.
std::vector<ConvolutionTable> deepbench_convolutions(const path& file, kernels::Dtype dtype, const Provenance& made);

}  // namespace orrery::calibrate
