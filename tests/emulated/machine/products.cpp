// cuBLASLt's products by plain loops: column-major, summed in fp32. Refuses what the library refuses, and asks of
// memory what it may ask.
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "kernels/number_format.hpp"
#include "tests/emulated/machine/machine.hpp"
#include "tests/emulated/machine/memory.hpp"

namespace orrery::emulated {

struct ProductLibrary {};

struct Matrix {
    cudaDataType_t type;
    std::uint64_t rows, cols;
    std::int64_t leading;
    std::int32_t batch = 1;
    std::int64_t stride = 0;

    [[nodiscard]] kernels::Format format() const {
        using kernels::Format;
        constexpr std::array formats{Format::fp32, Format::fp16, Format::bf16, Format::fp8, Format::fp8_e5m2};
        return formats.at(type);
    }
    [[nodiscard]] std::size_t bytes() const {
        return (static_cast<std::size_t>(stride) * static_cast<std::size_t>(batch - 1) +
                static_cast<std::size_t>(leading) * (cols - 1) + rows) *
               kernels::size_of(format());
    }
};

struct Product {
    cublasComputeType_t compute;
    cublasOperation_t left = CUBLAS_OP_N, right = CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const void* bias = nullptr;
    std::int64_t bias_stride = 0;
    const void *left_scale = nullptr, *right_scale = nullptr;
    std::int8_t fast = 0;
};

struct ProductPreference {
    std::map<cublasLtMatmulPreferenceAttributes_t, std::uint64_t> values;
};

namespace {

/// The attribute takes a value of this type.
template <class T>
cublasStatus_t set(T& to, const void* value, std::size_t bytes) {
    if (bytes != sizeof to) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

struct Operand {
    const Matrix* matrix;
    bool transposed;
    [[nodiscard]] std::uint64_t rows() const { return transposed ? matrix->cols : matrix->rows; }
    [[nodiscard]] std::uint64_t cols() const { return transposed ? matrix->rows : matrix->cols; }
};

bool is_narrow(const Matrix& m) { return m.type == CUDA_R_8F_E4M3 || m.type == CUDA_R_8F_E5M2; }

/// Whether the library has an algorithm (cuBLAS documentation, cublasLtMatmul: supported types; fp8 in the layout TN,
/// not both operands in e5m2).
bool supported(const Product& p, const Matrix& a, const Matrix& b, const Matrix& d) {
    const Operand left{&a, p.left == CUBLAS_OP_T}, right{&b, p.right == CUBLAS_OP_T};
    if (left.rows() != d.rows || right.cols() != d.cols || left.cols() != right.rows()) return false;
    if (a.batch != b.batch || a.batch != d.batch) return false;
    if (is_narrow(a) != is_narrow(b) ||
        (is_narrow(a) ? a.type == CUDA_R_8F_E5M2 && a.type == b.type : a.type != b.type))
        return false;
    if (p.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && a.type != CUDA_R_32F) return false;
    if (is_narrow(a))
        return left.transposed && !right.transposed && a.rows % 16 == 0 && a.cols % 16 == 0 && b.cols % 16 == 0 &&
               (d.type == CUDA_R_16BF || d.type == CUDA_R_32F) && p.left_scale != nullptr && p.right_scale != nullptr;
    return d.type == a.type || d.type == CUDA_R_32F;
}

/// One operand of one product of the batch, what is transposed transposed: its columns one after the other, rounded as
/// the tensor cores read it.
std::vector<float> read(const Operand& operand, const void* memory, std::int32_t batch, bool tf32) {
    const Matrix& m = *operand.matrix;
    const std::size_t size = kernels::size_of(m.format());
    const auto* const begin = static_cast<const std::byte*>(memory) + static_cast<std::size_t>(batch * m.stride) * size;
    std::vector<float> values(m.rows * m.cols);
    for (std::uint64_t col = 0; col < m.cols; ++col)
        for (std::uint64_t row = 0; row < m.rows; ++row) {
            double value =
                kernels::decode(m.format(), begin + (col * static_cast<std::uint64_t>(m.leading) + row) * size);
            if (tf32) {
                std::array<std::byte, 4> rounded;
                kernels::encode(kernels::Format::tf32, value, rounded.data());
                value = kernels::decode(kernels::Format::tf32, rounded.data());
            }
            values[operand.transposed ? row * m.cols + col : col * m.rows + row] = static_cast<float>(value);
        }
    return values;
}

/// What a launch needs, taken when it is queued.
struct Job {
    Product product;
    Matrix a, b, d;
    const void *left, *right;
    void* result;
    float alpha, beta;

    void run() const {
        for (std::int32_t batch = 0; batch < d.batch; ++batch) run(batch);
    }

    /// A column of the result is a sum of columns of the left operand.
    void run(std::int32_t batch) const {
        const bool tf32 = product.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
        const bool left_transposed = product.left == CUBLAS_OP_T, right_transposed = product.right == CUBLAS_OP_T;
        const std::vector<float> x = read({&a, left_transposed}, left, batch, tf32),
                                 y = read({&b, right_transposed}, right, batch, tf32);
        const std::uint64_t m = d.rows, n = d.cols, k = left_transposed ? a.rows : a.cols;
        const std::size_t size = kernels::size_of(d.format());
        auto* const to = static_cast<std::byte*>(result) + static_cast<std::size_t>(batch * d.stride) * size;
        const double scaled = alpha * scale();
        std::vector<float> column(m);
        for (std::uint64_t j = 0; j < n; ++j) {
            std::fill(column.begin(), column.end(), 0.0f);
            for (std::uint64_t i = 0; i < k; ++i) {
                const float factor = y[j * k + i];
                for (std::uint64_t r = 0; r < m; ++r) column[r] += x[i * m + r] * factor;
            }
            for (std::uint64_t r = 0; r < m; ++r) {
                std::byte* const at = to + (j * m + r) * size;
                double value = scaled * column[r];
                if (beta != 0) value += beta * kernels::decode(d.format(), at);
                kernels::encode(d.format(), value + bias(batch, r), at);
            }
        }
    }

    /// Of operands in fp8, read as the product runs.
    [[nodiscard]] double scale() const {
        if (!is_narrow(a)) return 1;
        return static_cast<double>(*static_cast<const float*>(product.left_scale)) *
               static_cast<double>(*static_cast<const float*>(product.right_scale));
    }

    [[nodiscard]] double bias(std::int32_t batch, std::uint64_t row) const {
        if (product.epilogue != CUBLASLT_EPILOGUE_BIAS) return 0;
        const kernels::Format format = is_narrow(a) ? kernels::Format::bf16 : a.format();
        const auto at = static_cast<std::uint64_t>(batch * product.bias_stride) + row;
        return kernels::decode(format, static_cast<const std::byte*>(product.bias) + at * kernels::size_of(format));
    }
};

}  // namespace

}  // namespace orrery::emulated

using orrery::emulated::Kind;
using orrery::emulated::Machine;

const char* cublasLtGetStatusString(cublasStatus_t status) {
    constexpr std::array names{"success", "invalid value", "not supported", "execution failed"};
    return names.at(status);
}

std::size_t cublasLtGetVersion() { return 130000; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    *handle = new orrery::emulated::ProductLibrary;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type, std::uint64_t rows,
                                          std::uint64_t cols, std::int64_t leading) {
    *layout = new orrery::emulated::Matrix{type, rows, cols, leading};
    return static_cast<std::uint64_t>(leading) >= rows ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which,
                                                const void* value, std::size_t bytes) {
    return which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? orrery::emulated::set(layout->batch, value, bytes)
                                                       : orrery::emulated::set(layout->stride, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute, cudaDataType_t) {
    *product = new orrery::emulated::Product{compute};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t which,
                                              const void* value, std::size_t bytes) {
    using orrery::emulated::set;
    switch (which) {
        case CUBLASLT_MATMUL_DESC_TRANSA: return set(product->left, value, bytes);
        case CUBLASLT_MATMUL_DESC_TRANSB: return set(product->right, value, bytes);
        case CUBLASLT_MATMUL_DESC_EPILOGUE: return set(product->epilogue, value, bytes);
        case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return set(product->bias, value, bytes);
        case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: return set(product->bias_stride, value, bytes);
        case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: return set(product->left_scale, value, bytes);
        case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: return set(product->right_scale, value, bytes);
        case CUBLASLT_MATMUL_DESC_FAST_ACCUM: return set(product->fast, value, bytes);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
    delete product;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
    *preference = new orrery::emulated::ProductPreference;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t which, const void* value,
                                                    std::size_t bytes) {
    const std::size_t size = which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? 8 : 4;
    if (bytes != size) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&preference->values[which], value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    delete preference;
    return CUBLAS_STATUS_SUCCESS;
}

/// Two algorithms at most, so that a choice among several is made.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
    *found = orrery::emulated::supported(*product, *a, *b, *d) ? std::min(wanted, 2) : 0;
    for (int i = 0; i < *found; ++i) results[i].algo.number = i;
    return *found > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void*, cublasLtMatrixLayout_t, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
    using orrery::emulated::holds;
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    if (algorithm->number < 0 || !orrery::emulated::supported(*product, *a_layout, *b_layout, *d_layout))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    orrery::emulated::Job job{*product, *a_layout, *b_layout, *d_layout, a, b, d, 0, 0};
    std::memcpy(&job.alpha, alpha, sizeof job.alpha);
    std::memcpy(&job.beta, beta, sizeof job.beta);
    const auto there = [=, a_bytes = a_layout->bytes(), b_bytes = b_layout->bytes(), d_bytes = d_layout->bytes(),
                        scales = std::array{product->left_scale, product->right_scale},
                        narrow = orrery::emulated::is_narrow(*a_layout)] {
        for (const void* const scale : scales)
            if (narrow && !holds(scale, sizeof(float), Kind::device)) return false;
        return holds(a, a_bytes, Kind::device) && holds(b, b_bytes, Kind::device) && holds(d, d_bytes, Kind::device) &&
               holds(workspace, workspace_bytes, Kind::device);
    };
    if (!there()) {
        machine.fail("misuse: a product whose operands are not whole in a GPU's memory");
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    machine.queue(stream, {"product", [job, there, &machine] {
                               if (!there()) return machine.fail("misuse: a product of memory that is gone");
                               job.run();
                           }});
    return CUBLAS_STATUS_SUCCESS;
}
