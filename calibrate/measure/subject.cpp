#include "calibrate/measure/subject.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/overloaded.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Attention;
using kernels::Gemm;
using kernels::Kernel;
using kernels::Pointwise;
using nlohmann::json;

std::string text(const CollectiveShape& c) {
    return fmt::format("{} {} B among {}", kernels::name(c.kind), c.bytes, c.ranks);
}
std::string text(const CopyShape& c) { return fmt::format("{} {} B", kernels::name(c.kind), c.bytes); }

json form(const Kernel& kernel) {
    return std::visit(Overloaded{[](const Gemm& g) -> json {
                                     return {{"gemm",
                                              {{"dtype", kernels::name(g.dtype)},
                                               {"pass", kernels::name(g.pass)},
                                               {"batch", g.batch},
                                               {"m", g.m},
                                               {"n", g.n},
                                               {"k", g.k}}}};
                                 },
                                 [](const Attention& a) -> json {
                                     return {{"attention",
                                              {{"dtype", kernels::name(a.dtype)},
                                               {"backward", a.backward},
                                               {"causal", a.causal},
                                               {"batch", a.batch},
                                               {"seq", a.seq},
                                               {"heads", a.heads},
                                               {"kv_heads", a.kv_heads},
                                               {"head_dim", a.head_dim}}}};
                                 },
                                 [](const Pointwise& p) -> json {
                                     return {{"pointwise",
                                              {{"kind", kernels::name(p.kind)},
                                               {"dtype", kernels::name(p.dtype)},
                                               {"rows", p.rows},
                                               {"cols", p.cols}}}};
                                 }},
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
        if (!value.is_object()) throw Error(fmt::format("{} is {}, not an object", what_, value.type_name()), "");
    }
    template <class T>
    [[nodiscard]] T get(const char* key) const {
        try {
            if (std::is_unsigned_v<T> && !std::is_same_v<T, bool> && !value_.at(key).is_number_unsigned())
                throw Error(fmt::format("\"{}\" of {} is {}, not a whole number", key, what_, value_.at(key).dump()));
            return value_.at(key).get<T>();
        } catch (const json::exception& error) {
            throw Error(fmt::format("\"{}\" of {}: {}", key, what_, error.what()), "");
        }
    }
    [[nodiscard]] std::string text(const char* key) const { return get<std::string>(key); }

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
            f.get<u32>("head_dim")};
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
    if (!document.is_object() || document.size() != 1)
        throw Error(
            "a point is an object with one key: gemm, attention, pointwise, collective, copy, overlap, "
            "overhead or sustained");
    const std::string what = document.begin().key();
    const json& value = document.begin().value();
    if (what == "gemm") return Kernel(gemm_from(value));
    if (what == "attention") return Kernel(attention_from(value));
    if (what == "pointwise") return Kernel(pointwise_from(value));
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
        if (of == nullptr) throw Error("an overlap's \"kernel\" is a gemm, attention or pointwise");
        if (const auto* copy = std::get_if<CopyShape>(&beside)) return OverlapShape{*of, *copy};
        if (const auto* collective = std::get_if<CollectiveShape>(&beside)) return OverlapShape{*of, *collective};
        throw Error("an overlap's \"beside\" is a copy or a collective");
    }
    throw Error(fmt::format("unknown kind of point \"{}\"", what),
                "gemm, attention, pointwise, collective, copy, overlap, overhead or sustained");
}

}  // namespace orrery::calibrate
