#include "kernels/cuda/gemm.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/timer.hpp"
#include "kernels/device.hpp"

namespace orrery::kernels::cuda {

namespace {

/// What the five formats are to cuBLASLt.
struct Types {
    cudaDataType_t in, out;
    cublasComputeType_t compute;
};

Types types_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::fp32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
        case Dtype::tf32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
        case Dtype::fp16: return {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F};
        case Dtype::bf16: return {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F};
        case Dtype::fp8: return {CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F};
        case Dtype::fp4: break;  // not supported
    }
    return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
}

/// A matrix as cuBLASLt sees it, in columns.
class Layout {
public:
    /// leading: elements from one column to the next; stride: from one matrix to the next.
    Layout(cudaDataType_t type, std::uint64_t rows, std::uint64_t cols, std::uint32_t batch, std::uint64_t leading,
           std::uint64_t stride) {
        check(cublasLtMatrixLayoutCreate(&layout_, type, rows, cols, static_cast<std::int64_t>(leading)),
              "describing a matrix");
        if (batch == 1) return;
        set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
        set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, static_cast<std::int64_t>(stride));
    }
    ~Layout() { cublasLtMatrixLayoutDestroy(layout_); }
    Layout(const Layout&) = delete;
    Layout& operator=(const Layout&) = delete;
    [[nodiscard]] cublasLtMatrixLayout_t get() const { return layout_; }

private:
    template <class T>
    void set(cublasLtMatrixLayoutAttribute_t attribute, const T& value) {
        check(cublasLtMatrixLayoutSetAttribute(layout_, attribute, &value, sizeof value), "describing a batch");
    }
    cublasLtMatrixLayout_t layout_ = nullptr;
};

class Product {
public:
    Product(cublasComputeType_t compute, cublasOperation_t left, cublasOperation_t right) {
        check(cublasLtMatmulDescCreate(&product_, compute, CUDA_R_32F), "describing a product");
        set(CUBLASLT_MATMUL_DESC_TRANSA, left);
        set(CUBLASLT_MATMUL_DESC_TRANSB, right);
    }
    ~Product() { cublasLtMatmulDescDestroy(product_); }
    Product(const Product&) = delete;
    Product& operator=(const Product&) = delete;
    template <class T>
    void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
        check(cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof value), "describing a product");
    }
    [[nodiscard]] cublasLtMatmulDesc_t get() const { return product_; }

private:
    cublasLtMatmulDesc_t product_ = nullptr;
};

/// What the heuristic may use: the stream's scratch, and operands at multiples of 16 bytes.
class Preference {
public:
    Preference() {
        check(cublasLtMatmulPreferenceCreate(&preference_), "choosing an algorithm");
        set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{least_scratch});
        // Where the depth is split, the parts are added in fp32: the result is rounded once.
        set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
        for (const auto attribute :
             {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
            set(attribute, std::uint32_t{16});
    }
    ~Preference() { cublasLtMatmulPreferenceDestroy(preference_); }
    Preference(const Preference&) = delete;
    Preference& operator=(const Preference&) = delete;
    [[nodiscard]] cublasLtMatmulPreference_t get() const { return preference_; }

private:
    template <class T>
    void set(cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
        check(cublasLtMatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof value),
              "choosing an algorithm");
    }
    cublasLtMatmulPreference_t preference_ = nullptr;
};

/// a, which is cuBLASLt's right operand.
cudaDataType_t right_type(const Gemm& gemm, const Settings& settings) {
    return settings.narrow.gradient ? CUDA_R_8F_E5M2 : types_of(gemm.dtype).in;
}

}  // namespace

// cuBLASLt counts in columns: a row-major matrix is its transpose there. So C^T [n, m] = B^T A^T is asked for, with B
// as the left operand and A as the right one:
//   forward          B [n, k] in rows is k x n in columns: transposed;      A [m, k] is k x m: as it is
//   data_gradient    B [k, n] in rows is n x k in columns: as it is;        A [m, k] is k x m: as it is
//   weight_gradient  B [k, n] in rows is n x k in columns: as it is;        A [k, m] is m x k: transposed
struct GemmLibrary::Plan {
    Product product;
    Layout left, right, result;
    cublasLtMatmulAlgo_t algorithm{};

    /// Of heads that share keys every so many-th product is one of the batch.
    Plan(const Gemm& g, Dtype format, const Settings& settings)
        : product(types_of(g.dtype).compute, g.pass == GemmPass::forward ? CUBLAS_OP_T : CUBLAS_OP_N,
                  g.pass == GemmPass::weight_gradient ? CUBLAS_OP_T : CUBLAS_OP_N),
          left(types_of(g.dtype).in, row_elements(g)[1], g.pass == GemmPass::forward ? g.n : g.k, g.batch,
               settings.heads.b_stride != 0 ? settings.heads.b_stride : row_elements(g)[1],
               settings.heads.b_stride != 0 ? row_elements(g)[1] : settings.heads.shared * std::uint64_t{g.n} * g.k),
          right(right_type(g, settings), row_elements(g)[0], g.pass == GemmPass::weight_gradient ? g.k : g.m, g.batch,
                settings.heads.a_stride != 0 ? settings.heads.a_stride : row_elements(g)[0],
                settings.heads.shared * (settings.heads.a_stride != 0 ? row_elements(g)[0] : std::uint64_t{g.m} * g.k)),
          result(types_of(format).out, g.n, g.m, g.batch, g.n, settings.heads.shared * std::uint64_t{g.m} * g.n) {}
};

GemmLibrary::GemmLibrary(int capability, int candidates) : capability_(capability), candidates_(candidates) {
    check(cublasLtCreate(&handle_), "opening cuBLASLt");
    const float one = 1.0f;
    check(cudaMalloc(&one_, sizeof one), "allocating a scale");
    check(cudaMemcpy(one_, &one, sizeof one, cudaMemcpyHostToDevice), "writing a scale");
}

GemmLibrary::~GemmLibrary() {
    plans_.clear();
    cudaFree(one_);
    cublasLtDestroy(handle_);
}

std::string GemmLibrary::version() {
    const std::size_t v = cublasLtGetVersion();  // major * 10000 + minor * 100 + patch
    return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

bool GemmLibrary::supports(const Gemm& g) const {
    constexpr std::uint32_t most = std::numeric_limits<std::int32_t>::max();
    if (g.m > most || g.n > most || g.k > most || g.batch > most) return false;
    if (g.dtype == Dtype::fp4) return false;
    if (g.dtype == Dtype::fp8)
        return capability_ >= 89 && g.pass == GemmPass::forward && g.m % 16 == 0 && g.n % 16 == 0 && g.k % 16 == 0;
    return (g.dtype != Dtype::bf16 && g.dtype != Dtype::tf32) || capability_ >= 80;
}

cublasStatus_t GemmLibrary::run(const Plan& plan, const cublasLtMatmulAlgo_t& algorithm, const Place& place,
                                std::span<void* const> operands, bool accumulate) const {
    const float alpha = 1.0f, beta = accumulate ? 1.0f : 0.0f;
    return cublasLtMatmul(handle_, plan.product.get(), &alpha, operands[1], plan.left.get(), operands[0],
                          plan.right.get(), &beta, operands[2], plan.result.get(), operands[2], plan.result.get(),
                          &algorithm, place.scratch, least_scratch, place.stream);
}

/// Takes the heuristic's first algorithm, or the fastest of its first `candidates_`, each timed on the operands at hand
/// (the result is written again and again, and is the same; what would be added to it is not timed).
void GemmLibrary::choose(Plan& plan, const Place& place, const Gemm& gemm, std::span<void* const> operands,
                         const Settings& settings) const {
    const Preference preference;
    std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(candidates_));
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_, plan.product.get(), plan.left.get(),
                                                                 plan.right.get(), plan.result.get(), plan.result.get(),
                                                                 preference.get(), candidates_, found.data(), &count);
    if (status != CUBLAS_STATUS_SUCCESS || count == 0)
        throw DeviceError(fmt::format("cuBLASLt {} has no algorithm for {}", version(), to_text(gemm)),
                          "fp8 needs Hopper or newer and extents that are multiples of 16");
    plan.algorithm = found[0].algo;
    if (count == 1 || settings.accumulate) return;
    double best = std::numeric_limits<double>::infinity();
    const Timer timer;
    for (int i = 0; i < count; ++i) {
        const cublasLtMatmulAlgo_t& algorithm = found[static_cast<std::size_t>(i)].algo;
        if (run(plan, algorithm, place, operands, false) != CUBLAS_STATUS_SUCCESS) continue;  // warm-up
        constexpr int repeats = 3;
        const double seconds = timer.seconds(place.stream, [&] {
            for (int r = 0; r < repeats; ++r) check(run(plan, algorithm, place, operands, false), "timing a product");
        });
        if (seconds >= best) continue;
        best = seconds;
        plan.algorithm = algorithm;
    }
}

GemmLibrary::Plan& GemmLibrary::plan_for(const Place& place, const Gemm& g, std::span<void* const> operands,
                                         const Settings& settings) {
    const bool biased = settings.bias != nullptr;
    const Dtype format = settings.result.value_or(g.dtype);
    const Key key{g.dtype,
                  format,
                  settings.narrow.gradient,
                  g.pass,
                  g.batch,
                  g.m,
                  g.n,
                  g.k,
                  settings.accumulate,
                  biased,
                  settings.heads.a_stride,
                  settings.heads.b_stride,
                  settings.heads.shared};
    std::unique_ptr<Plan>& plan = plans_[key];
    // In columns a row of c is a column, to each of which the epilogue adds the bias.
    const auto point = [&](Plan& at) {
        if (biased) at.product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, settings.bias);
        if (g.dtype != Dtype::fp8) return;
        const bool scaled = settings.narrow.scaled;  // b is cuBLASLt's left operand, A
        at.product.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scaled ? operands[4] : one_);
        at.product.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scaled ? operands[3] : one_);
    };
    if (plan != nullptr) {
        point(*plan);
        return *plan;
    }
    auto made = std::make_unique<Plan>(g, format, settings);
    if (biased) {
        made->product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, cublasLtEpilogue_t{CUBLASLT_EPILOGUE_BIAS});
        if (g.batch > 1) made->product.set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, std::int64_t{g.n});
    }
    point(*made);
    // As Transformer Engine's forward pass: partial sums stay in the tensor core's accumulator.
    if (g.dtype == Dtype::fp8)
        made->product.set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(settings.narrow.gradient ? 0 : 1));
    choose(*made, place, g, operands, settings);
    plan = std::move(made);
    return *plan;
}

/// Heads of a sequence are a regular pattern, and so are those of them that are the first, second ... to share keys: a
/// batch for each.
void GemmLibrary::launch_heads(const Place& place, const Gemm& gemm, std::span<void* const> operands,
                               const Settings& settings) {
    const HeadMatrices& heads = settings.heads;
    if (settings.accumulate || settings.bias != nullptr)
        throw Error(fmt::format("{} of heads neither accumulates nor adds a bias", to_text(gemm)), "leave both out");
    Gemm each = gemm;
    each.batch = heads.count / heads.shared;
    const std::uint64_t m = gemm.m, n = gemm.n, k = gemm.k, size = size_of(gemm.dtype),
                        result = size_of(settings.result.value_or(gemm.dtype));
    const auto [a_row, b_row, c_row] = row_elements(gemm);
    const std::uint64_t a_rows = m * k / a_row, b_rows = n * k / b_row;
    // From one sequence's matrices, and from one head's, to the next.
    const std::uint64_t a_sequence = heads.a_stride != 0 ? a_rows * heads.a_stride : heads.count * m * k,
                        b_sequence = heads.b_stride != 0 ? b_rows * heads.b_stride : heads.count * n * k,
                        a_head = heads.a_stride != 0 ? a_row : m * k, b_head = heads.b_stride != 0 ? 0 : n * k;
    const auto at = [](void* memory, std::uint64_t bytes) { return static_cast<std::byte*>(memory) + bytes; };
    for (std::uint64_t sequence = 0; sequence < gemm.batch / heads.count; ++sequence)
        for (std::uint64_t member = 0; member < heads.shared; ++member) {
            const std::array<void*, 3> part{at(operands[0], (sequence * a_sequence + member * a_head) * size),
                                            at(operands[1], (sequence * b_sequence + member * b_head) * size),
                                            at(operands[2], (sequence * heads.count + member) * m * n * result)};
            const Plan& plan = plan_for(place, each, part, settings);
            check(run(plan, plan.algorithm, place, part, false), "launching a product of heads");
        }
}

void GemmLibrary::launch(const Place& place, const Gemm& gemm, std::span<void* const> operands,
                         const Settings& settings) {
    const bool narrow = gemm.dtype == Dtype::fp8;
    if (!narrow && settings.narrow != Narrow{})
        throw Error(fmt::format("{} has scales of fp8", to_text(gemm)), "leave them out");
    if (narrow && settings.heads.count > 0)
        throw Error(fmt::format("{} of heads", to_text(gemm)), "products of heads are in 16 or 32 bits");
    if (settings.heads.count > 0) return launch_heads(place, gemm, operands, settings);
    const Plan& plan = plan_for(place, gemm, operands, settings);
    check(run(plan, plan.algorithm, place, operands, settings.accumulate), "launching a product");
}

}  // namespace orrery::kernels::cuda
