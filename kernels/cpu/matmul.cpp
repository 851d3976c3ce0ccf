#include "kernels/cpu/matmul.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <dnnl.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/device.hpp"

namespace orrery::kernels::cpu {

namespace {

using dnnl::memory;
using Type = memory::data_type;

const dnnl::engine& engine() {
    static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
}

memory::desc matrix(std::int64_t rows, std::int64_t cols, bool transposed, Type type) {
    return {{rows, cols}, type, transposed ? memory::dims{1, rows} : memory::dims{cols, 1}};
}

/// A product in bf16 that oneDNN has written code for.
class Primitive {
public:
    explicit Primitive(const HalfProduct& p)
        : left_(matrix(p.m, p.k, p.left_transposed, Type::bf16)),
          right_(matrix(p.k, p.n, p.right_transposed, Type::bf16)),
          result_(matrix(p.m, p.n, false, p.single_result ? Type::f32 : Type::bf16)),
          bias_(matrix(1, p.n, false, Type::bf16)) {
        dnnl::post_ops sum;
        if (p.accumulate) sum.append_sum(1.0f);
        dnnl::primitive_attr attributes;
        attributes.set_post_ops(sum);
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // of each thread its own
        const auto operation =
            p.biased ? dnnl::matmul::desc(left_, right_, bias_, result_) : dnnl::matmul::desc(left_, right_, result_);
        const dnnl::matmul::primitive_desc chosen(operation, attributes, engine());
        scratch_ = chosen.scratchpad_desc();
        product_ = dnnl::matmul(chosen);
    }

    void run(const void* left, const void* right, const void* bias, void* c) const {
        thread_local dnnl::stream stream(engine());
        thread_local std::vector<float> scratch;
        scratch.resize(std::max(scratch.size(), scratch_.get_size() / sizeof(float) + 16));
        std::unordered_map<int, memory> arguments{
            {DNNL_ARG_SRC, memory(left_, engine(), const_cast<void*>(left))},
            {DNNL_ARG_WEIGHTS, memory(right_, engine(), const_cast<void*>(right))},
            {DNNL_ARG_DST, memory(result_, engine(), c)},
            {DNNL_ARG_SCRATCHPAD, memory(scratch_, engine(), scratch.data())}};
        if (bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, memory(bias_, engine(), const_cast<void*>(bias)));
        product_.execute(stream, arguments);
        stream.wait();
    }

private:
    memory::desc left_, right_, result_, bias_, scratch_;
    dnnl::matmul product_;
};

/// Written once for a shape and a number of threads; null where oneDNN has none: of fp16 it has none on CPUs of today.
const Primitive* primitive_of(const HalfProduct& product) {
    if (product.format != Format::bf16) return nullptr;
    static std::mutex mutex;
    static std::map<std::pair<int, HalfProduct>, std::unique_ptr<Primitive>> made;
    const std::lock_guard lock(mutex);
    const auto [place, is_new] = made.try_emplace({omp_get_max_threads(), product});
    if (!is_new) return place->second.get();
    try {
        place->second = std::make_unique<Primitive>(product);
    } catch (const dnnl::error& error) {
        if (error.status == dnnl_unimplemented) return nullptr;
        made.erase(place);
        throw;
    }
    return place->second.get();
}

void multiply_in_single(const HalfProduct& p, const void* left, const void* right, const void* bias, void* c) {
    const auto elements = [](std::int64_t rows, std::int64_t cols) { return static_cast<std::size_t>(rows * cols); };
    const Format format = p.single_result ? Format::fp32 : p.format;
    std::vector<float> a(elements(p.m, p.k)), b(elements(p.k, p.n)), sum(elements(p.m, p.n));
    load(p.format, left, 0, a.data(), a.size());
    load(p.format, right, 0, b.data(), b.size());
    if (p.accumulate) load(format, c, 0, sum.data(), sum.size());
    if (bias != nullptr) {
        std::vector<float> added(static_cast<std::size_t>(p.n));
        load(p.format, bias, 0, added.data(), added.size());
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += added[i % added.size()];
    }
    multiply(p.m, p.n, p.k, 1.0f, {a.data(), p.left_transposed ? p.m : p.k, p.left_transposed},
             {b.data(), p.right_transposed ? p.k : p.n, p.right_transposed}, 1.0f, sum.data(), p.n);
    store(format, sum.data(), c, 0, sum.size());
}

}  // namespace

void multiply(const HalfProduct& product, const void* left, const void* right, const void* bias, void* c) {
    try {
        if (const Primitive* const primitive = primitive_of(product)) return primitive->run(left, right, bias, c);
    } catch (const dnnl::error& error) {
        throw DeviceError(fmt::format("oneDNN: a product of {}x{}x{} in bf16 failed: {}", product.m, product.n,
                                      product.k, error.what()),
                          "status 1 is out of memory");
    }
    multiply_in_single(product, left, right, bias, c);
}

}  // namespace orrery::kernels::cpu
