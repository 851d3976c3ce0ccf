#include "calibrate/measure/subject.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/overloaded.hpp"
#include "documents/message.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Attention;
using kernels::BatchNorm;
using kernels::Convolution;
using kernels::Gemm;
using kernels::Kernel;
using kernels::Pointwise;
using kernels::Pooling;
using nlohmann::json;

std::string text(const CollectiveShape& c) {
    return fmt::format("{} {} B among {}", kernels::name(c.kind), c.bytes, c.ranks);
}
std::string text(const CopyShape& c) { return fmt::format("{} {} B", kernels::name(c.kind), c.bytes); }

json form(const Gemm& g) {
    return {{"gemm",
             {{"dtype", kernels::name(g.dtype)},
              {"pass", kernels::name(g.pass)},
              {"batch", g.batch},
              {"m", g.m},
              {"n", g.n},
              {"k", g.k}}}};
}
json form(const Attention& a) {
    json fields{{"dtype", kernels::name(a.dtype)},
                {"backward", a.backward},
                {"causal", a.causal},
                {"batch", a.batch},
                {"seq", a.seq},
                {"heads", a.heads},
                {"kv_heads", a.kv_heads},
                {"head_dim", a.head_dim}};
    if (a.keys() != a.seq) fields["key_seq"] = a.keys();
    if (a.window != 0) fields["window"] = a.window;
    if (a.dropout) fields["dropout"] = true;
    return {{"attention", std::move(fields)}};
}
json form(const Pointwise& p) {
    return {{"pointwise",
             {{"kind", kernels::name(p.kind)}, {"dtype", kernels::name(p.dtype)}, {"rows", p.rows}, {"cols", p.cols}}}};
}
json form(const Convolution& c) {
    return {{"convolution",
             {{"dtype", kernels::name(c.dtype)},
              {"pass", kernels::name(c.pass)},
              {"batch", c.batch},
              {"channels", c.channels},
              {"rows", c.rows},
              {"columns", c.columns},
              {"outputs", c.outputs},
              {"kernel_rows", c.kernel_rows},
              {"kernel_columns", c.kernel_columns},
              {"stride", c.stride},
              {"padding", c.padding},
              {"dilation", c.dilation},
              {"groups", c.groups}}}};
}
json form(const Pooling& p) {
    return {{"pooling",
             {{"average", p.kind == kernels::PoolingKind::average},
              {"dtype", kernels::name(p.dtype)},
              {"backward", p.backward},
              {"batch", p.batch},
              {"channels", p.channels},
              {"rows", p.rows},
              {"columns", p.columns},
              {"window_rows", p.window_rows},
              {"window_columns", p.window_columns},
              {"stride", p.stride},
              {"padding", p.padding}}}};
}
json form(const BatchNorm& b) {
    return {
        {"batch_norm",
         {{"dtype", kernels::name(b.dtype)}, {"backward", b.backward}, {"rows", b.rows}, {"channels", b.channels}}}};
}
json form(const kernels::StateSpace& s) {
    return {{"state_space",
             {{"kind", kernels::name(s.kind)},
              {"dtype", kernels::name(s.dtype)},
              {"batch", s.batch},
              {"seq", s.seq},
              {"heads", s.heads},
              {"head_dim", s.head_dim},
              {"groups", s.groups},
              {"state", s.state},
              {"chunk", s.chunk}}}};
}
json form(const Kernel& kernel) {
    return std::visit(
        Overloaded{[](const Gemm& g) { return form(g); }, [](const Attention& a) { return form(a); },
                   [](const Pointwise& p) { return form(p); }, [](const Convolution& c) { return form(c); },
                   [](const Pooling& p) { return form(p); }, [](const BatchNorm& b) { return form(b); },
                   [](const kernels::StateSpace& s) { return form(s); }},
        kernel);
}
json form(const CollectiveShape& c) {
    return {{"collective", {{"kind", kernels::name(c.kind)}, {"ranks", c.ranks}, {"bytes", c.bytes}}}};
}
json form(const CopyShape& c) { return {{"copy", {{"kind", kernels::name(c.kind)}, {"bytes", c.bytes}}}}; }

/// An object with exactly these readers' keys; Error names the key that is missing or of the wrong type.
class Fields {
public:
    Fields(const json& value, std::string what) : value_(value), what_(std::move(what)) {
        if (!value.is_object()) throw Error(fmt::format("{} is {}, not an object", what_, value.type_name()));
    }
    template <class T>
    [[nodiscard]] T get(const char* key) const {
        try {
            if (std::is_unsigned_v<T> && !std::is_same_v<T, bool> && !value_.at(key).is_number_unsigned())
                throw Error(fmt::format("\"{}\" of {} is {}, not a whole number", key, what_, value_.at(key).dump()));
            if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>)
                if (value_.at(key).template get<std::uint64_t>() > std::numeric_limits<T>::max())
                    throw Error(fmt::format("\"{}\" of {} is {}: out of range", key, what_, value_.at(key).dump()),
                                fmt::format("at most {}", std::numeric_limits<T>::max()));
            return value_.at(key).get<T>();
        } catch (const json::exception&) {
            if (!value_.contains(key)) throw Error(fmt::format("\"{}\" of {} is missing", key, what_));
            throw Error(fmt::format("\"{}\" of {} is {}", key, what_, documents::shown(value_.at(key))));
        }
    }
    [[nodiscard]] std::string text(const char* key) const { return get<std::string>(key); }
    template <class T>
    [[nodiscard]] T get_or(const char* key, T otherwise) const {
        return value_.contains(key) ? get<T>(key) : otherwise;
    }

private:
    const json& value_;
    std::string what_;
};

using u32 = std::uint32_t;
using u64 = std::uint64_t;

Gemm gemm_from(const json& value) {
    const Fields f(value, "gemm");
    return {
        kernels::dtype_from(f.text("dtype")),   f.get<u32>("batch"), f.get<u32>("m"), f.get<u32>("n"), f.get<u32>("k"),
        kernels::gemm_pass_from(f.text("pass"))};
}
Attention attention_from(const json& value) {
    const Fields f(value, "attention");
    return {kernels::dtype_from(f.text("dtype")),
            f.get<bool>("backward"),
            f.get<bool>("causal"),
            f.get<u32>("batch"),
            f.get<u32>("seq"),
            f.get<u32>("heads"),
            f.get<u32>("kv_heads"),
            f.get<u32>("head_dim"),
            f.get_or<u32>("key_seq", 0),
            f.get_or<u32>("window", 0),
            f.get_or<bool>("dropout", false)};
}
Convolution convolution_from(const json& value) {
    const Fields f(value, "convolution");
    Convolution c{kernels::dtype_from(f.text("dtype")),
                  kernels::gemm_pass_from(f.text("pass")),
                  f.get<u32>("batch"),
                  f.get<u32>("channels"),
                  f.get<u32>("rows"),
                  f.get<u32>("columns"),
                  f.get<u32>("outputs"),
                  f.get<u32>("kernel_rows"),
                  f.get<u32>("kernel_columns"),
                  f.get<u32>("stride"),
                  f.get<u32>("padding"),
                  f.get<u32>("dilation"),
                  f.get<u32>("groups")};
    if (c.stride == 0 || c.dilation == 0 || c.groups == 0)
        throw Error("a convolution's stride, dilation and groups are at least 1");
    return c;
}
Pooling pooling_from(const json& value) {
    const Fields f(value, "pooling");
    Pooling p{f.get<bool>("average") ? kernels::PoolingKind::average : kernels::PoolingKind::maximum,
              kernels::dtype_from(f.text("dtype")),
              f.get<bool>("backward"),
              f.get<u32>("batch"),
              f.get<u32>("channels"),
              f.get<u32>("rows"),
              f.get<u32>("columns"),
              f.get<u32>("window_rows"),
              f.get<u32>("window_columns"),
              f.get<u32>("stride"),
              f.get<u32>("padding")};
    if (p.stride == 0) throw Error("a pooling's stride is at least 1");
    return p;
}
BatchNorm batch_norm_from(const json& value) {
    const Fields f(value, "batch_norm");
    return {kernels::dtype_from(f.text("dtype")), f.get<bool>("backward"), f.get<u64>("rows"), f.get<u64>("channels")};
}
kernels::StateSpace state_space_from(const json& value) {
    const Fields f(value, "state_space");
    return {kernels::state_space_from(f.text("kind")),
            kernels::dtype_from(f.text("dtype")),
            f.get<u32>("batch"),
            f.get<u32>("seq"),
            f.get<u32>("heads"),
            f.get<u32>("head_dim"),
            f.get<u32>("groups"),
            f.get<u32>("state"),
            f.get<u32>("chunk")};
}
Pointwise pointwise_from(const json& value) {
    const Fields f(value, "pointwise");
    return {kernels::pointwise_from(f.text("kind")), kernels::dtype_from(f.text("dtype")), f.get<u64>("rows"),
            f.get<u64>("cols")};
}
CollectiveShape collective_from(const json& value) {
    const Fields f(value, "collective");
    return {kernels::collective_from(f.text("kind")), f.get<u32>("ranks"), f.get<u64>("bytes")};
}
CopyShape copy_from(const json& value) {
    const Fields f(value, "copy");
    return {kernels::copy_from(f.text("kind")), f.get<u64>("bytes")};
}
OverheadShape overhead_from(const std::string& kind) {
    if (kind == "launch") return {OverheadShape::Kind::launch};
    if (kind == "gap") return {OverheadShape::Kind::gap};
    throw Error(fmt::format("unknown overhead \"{}\"", kind), "launch or gap");
}

/// Refuses keys that were not read: those that the subject does not write.
void require_known(const json& document, const json& written) {
    const std::string what = document.begin().key();
    if (!document.begin().value().is_object()) return;
    for (const auto& [key, ignored] : document.begin().value().items())
        if (!written.at(what).contains(key))
            throw Error(fmt::format("unknown key \"{}\" of {}", documents::printable(key), what), "leave it out");
}

Subject parsed(const json& document);

}  // namespace

std::string to_text(const Beside& beside) {
    return std::visit([](const auto& shape) { return text(shape); }, beside);
}

std::string to_text(const Subject& subject) {
    return std::visit(
        Overloaded{[](const Kernel& k) { return kernels::to_text(k); },
                   [](const CollectiveShape& c) { return text(c); }, [](const CopyShape& c) { return text(c); },
                   [](const OverlapShape& o) {
                       return fmt::format("{} beside {}", kernels::to_text(o.kernel), to_text(o.beside));
                   },
                   [](const OverheadShape& o) {
                       return std::string(o.kind == OverheadShape::Kind::launch ? "launch" : "gap");
                   },
                   [](const SustainedShape& s) {
                       return fmt::format("sustained {} s {}", s.seconds, kernels::to_text(Kernel(s.gemm)));
                   }},
        subject);
}

json to_json(const Subject& subject) {
    return std::visit(
        Overloaded{[](const Kernel& k) { return form(k); }, [](const CollectiveShape& c) { return form(c); },
                   [](const CopyShape& c) { return form(c); },
                   [](const OverlapShape& o) -> json {
                       const json beside = std::visit([](const auto& b) { return form(b); }, o.beside);
                       return {{"overlap", {{"kernel", form(o.kernel)}, {"beside", beside}}}};
                   },
                   [](const OverheadShape& o) -> json {
                       return {{"overhead", to_text(Subject(o))}};
                   },
                   [](const SustainedShape& s) -> json {
                       return {{"sustained", {{"seconds", s.seconds}, {"kernel", form(Kernel(s.gemm))}}}};
                   }},
        subject);
}

Subject subject_from(const json& document) {
    try {
        Subject subject = parsed(document);
        require_known(document, to_json(subject));
        return subject;
    } catch (const Error& error) {
        constexpr const char* remedy = R"(as in {"pointwise": {"kind": "add", "dtype": "fp32", "rows": 1, "cols": 8}})";
        throw Error(error.message(), error.hint().empty() ? remedy : error.hint());
    }
}

namespace {

Subject parsed(const json& document) {
    if (!document.is_object() || document.size() != 1)
        throw Error(
            "a point is an object with one key: gemm, attention, pointwise, convolution, pooling, batch_norm, "
            "collective, copy, overlap, overhead or sustained");
    const std::string what = document.begin().key();
    const json& value = document.begin().value();
    if (what == "gemm") return Kernel(gemm_from(value));
    if (what == "attention") return Kernel(attention_from(value));
    if (what == "pointwise") return Kernel(pointwise_from(value));
    if (what == "convolution") return Kernel(convolution_from(value));
    if (what == "pooling") return Kernel(pooling_from(value));
    if (what == "batch_norm") return Kernel(batch_norm_from(value));
    if (what == "state_space") return Kernel(state_space_from(value));
    if (what == "collective") return collective_from(value);
    if (what == "copy") return copy_from(value);
    if (what == "overhead" && value.is_string()) return overhead_from(value.get<std::string>());
    if (what == "sustained") {
        const Fields f(value, what);
        const Subject kernel = subject_from(f.get<json>("kernel"));
        const auto* found = std::get_if<Kernel>(&kernel);
        if (found == nullptr || !std::holds_alternative<Gemm>(*found)) throw Error("only a gemm can be sustained");
        return SustainedShape{std::get<Gemm>(*found), f.get<u32>("seconds")};
    }
    if (what == "overlap") {
        const Fields f(value, what);
        const Subject kernel = subject_from(f.get<json>("kernel")), beside = subject_from(f.get<json>("beside"));
        const auto* of = std::get_if<Kernel>(&kernel);
        if (of == nullptr) throw Error("an overlap's \"kernel\" is a kernel, such as a gemm");
        if (const auto* copy = std::get_if<CopyShape>(&beside)) return OverlapShape{*of, *copy};
        if (const auto* collective = std::get_if<CollectiveShape>(&beside)) return OverlapShape{*of, *collective};
        throw Error("an overlap's \"beside\" is a copy or a collective");
    }
    throw Error(fmt::format("unknown kind of point \"{}\"", what),
                "gemm, attention, pointwise, convolution, pooling, batch_norm, collective, copy, overlap, overhead or "
                "sustained");
}

}  // namespace

}  // namespace orrery::calibrate
