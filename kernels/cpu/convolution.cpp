// Convolutions by oneDNN. bf16 is unpacked to fp32: oneDNN computes it natively on few processors, and its sums must be
// fp32's on all.
#include <fmt/format.h>
#include <omp.h>

#include <dnnl.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "kernels/cpu/half.hpp"
#include "kernels/cpu/image.hpp"
#include "kernels/device.hpp"

namespace orrery::kernels::cpu {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

const dnnl::engine& engine() {
    static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
}

memory::desc single(const memory::dims& dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

/// Dimensions as oneDNN names them: images NCHW, weights [G]OIHW, whatever their layout.
struct Dims {
    explicit Dims(const Convolution& c)
        : image{c.batch, c.channels, c.rows, c.columns},
          result{c.batch, c.outputs, c.output_rows(), c.output_columns()},
          weights{c.groups, c.outputs / c.groups, c.channels / c.groups, c.kernel_rows, c.kernel_columns},
          strides{c.stride, c.stride},
          dilates{c.dilation - 1, c.dilation - 1},
          padding{c.padding, c.padding} {}

    memory::dims image, result, weights, strides, dilates, padding;
};

/// A pass that oneDNN has written code for. The weights' layout is oneDNN's choice.
class Primitive {
public:
    explicit Primitive(const Convolution& c)
        : pass_(c.pass),
          image_(single(Dims(c).image, Tag::nhwc)),
          result_(single(Dims(c).result, Tag::nhwc)),
          weights_(single(Dims(c).weights, Tag::gohwi)) {
        const Dims d(c);
        const auto forward = describe_forward(d);
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // of each thread its own
        const dnnl::convolution_forward::primitive_desc hint(forward, attributes, engine());
        const auto any = single(d.weights, Tag::any);
        constexpr auto direct = dnnl::algorithm::convolution_direct;
        if (pass_ == GemmPass::forward) {
            keep(hint, hint.weights_desc());
            code_ = dnnl::convolution_forward(hint);
        } else if (pass_ == GemmPass::data_gradient) {
            const dnnl::convolution_backward_data::primitive_desc chosen(
                {direct, image_, any, result_, d.strides, d.dilates, d.padding, d.padding}, attributes, engine(), hint);
            keep(chosen, chosen.weights_desc());
            code_ = dnnl::convolution_backward_data(chosen);
        } else {
            const dnnl::convolution_backward_weights::primitive_desc chosen(
                {direct, image_, any, result_, d.strides, d.dilates, d.padding, d.padding}, attributes, engine(), hint);
            keep(chosen, chosen.diff_weights_desc());
            code_ = dnnl::convolution_backward_weights(chosen);
        }
    }

    /// Operands in the kernel's order.
    void run(float* first, float* second, float* third) const {
        thread_local dnnl::stream stream(engine());
        thread_local std::vector<float> scratch, packed;
        scratch.resize(std::max(scratch.size(), scratch_.get_size() / sizeof(float) + 16));
        packed.resize(std::max(packed.size(), packed_.get_size() / sizeof(float) + 16));
        memory plain(weights_, engine(), pass_ == GemmPass::weight_gradient ? third : second);
        const bool same = packed_ == weights_;
        memory inner = same ? plain : memory(packed_, engine(), packed.data());
        const memory spare(scratch_, engine(), scratch.data());
        const bool forward = pass_ == GemmPass::forward, gradient = pass_ == GemmPass::weight_gradient;
        if (!same && !gradient) dnnl::reorder(plain, inner).execute(stream, plain, inner);
        if (forward)
            code_.execute(stream, {{DNNL_ARG_SRC, memory(image_, engine(), first)},
                                   {DNNL_ARG_WEIGHTS, inner},
                                   {DNNL_ARG_DST, memory(result_, engine(), third)},
                                   {DNNL_ARG_SCRATCHPAD, spare}});
        else if (!gradient)
            code_.execute(stream, {{DNNL_ARG_DIFF_DST, memory(result_, engine(), first)},
                                   {DNNL_ARG_WEIGHTS, inner},
                                   {DNNL_ARG_DIFF_SRC, memory(image_, engine(), third)},
                                   {DNNL_ARG_SCRATCHPAD, spare}});
        else
            code_.execute(stream, {{DNNL_ARG_SRC, memory(image_, engine(), first)},
                                   {DNNL_ARG_DIFF_DST, memory(result_, engine(), second)},
                                   {DNNL_ARG_DIFF_WEIGHTS, inner},
                                   {DNNL_ARG_SCRATCHPAD, spare}});
        if (!same && gradient) dnnl::reorder(inner, plain).execute(stream, inner, plain);
        stream.wait();
    }

private:
    [[nodiscard]] dnnl::convolution_forward::desc describe_forward(const Dims& d) const {
        return {dnnl::prop_kind::forward_training,
                dnnl::algorithm::convolution_direct,
                image_,
                single(d.weights, Tag::any),
                result_,
                d.strides,
                d.dilates,
                d.padding,
                d.padding};
    }
    void keep(const auto& chosen, memory::desc packed) {
        packed_ = std::move(packed);
        scratch_ = chosen.scratchpad_desc();
    }

    GemmPass pass_;
    memory::desc image_, result_, weights_, packed_, scratch_;
    dnnl::primitive code_;
};

/// Written once for a shape and a number of threads.
const Primitive& primitive_of(const Convolution& c) {
    static std::mutex mutex;
    static std::map<std::pair<int, std::string>, std::unique_ptr<Primitive>> made;
    const std::lock_guard lock(mutex);
    auto& place = made[{omp_get_max_threads(), to_text(with_dtype(c, Dtype::fp32))}];
    if (!place) place = std::make_unique<Primitive>(c);
    return *place;
}

/// An operand in fp32 while the convolution runs: where it is, or a copy that store() writes back.
class Single {
public:
    Single(Format format, void* memory, std::uint64_t elements, bool read)
        : format_(format), memory_(memory), elements_(elements) {
        if (format == Format::fp32) return;
        copy_.resize(elements);
        if (read) load(format, memory, 0, copy_.data(), elements);
    }
    [[nodiscard]] float* data() { return format_ == Format::fp32 ? static_cast<float*>(memory_) : copy_.data(); }
    void store() const {
        if (format_ != Format::fp32) cpu::store(format_, copy_.data(), memory_, 0, elements_);
    }

private:
    Format format_;
    void* memory_;
    std::uint64_t elements_;
    std::vector<float> copy_;
};

}  // namespace

void run_convolution(const Convolution& c, const Memory& memory) {
    const Settings& settings = memory.settings();
    const std::vector<Operand> list = operands(c, settings);
    Single first(list[0].format, memory.as<void>(0), list[0].elements, true),
        second(list[1].format, memory.as<void>(1), list[1].elements, true),
        third(list[2].format, memory.as<void>(2), list[2].elements, false);
    const bool add = settings.accumulate && c.pass == GemmPass::weight_gradient;
    std::vector<float> before(add ? list[2].elements : 0);
    if (add) load(list[2].format, memory.as<void>(2), 0, before.data(), before.size());
    try {
        primitive_of(c).run(first.data(), second.data(), third.data());
    } catch (const dnnl::error& error) {
        throw DeviceError(fmt::format("oneDNN: {} failed: {}", to_text(c), error.what()), "status 1 is out of memory");
    }
    for (std::size_t i = 0; i < before.size(); ++i) third.data()[i] += before[i];
    third.store();
}

}  // namespace orrery::kernels::cpu
