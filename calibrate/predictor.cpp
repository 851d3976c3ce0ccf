#include "calibrate/predictor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/overloaded.hpp"
#include "calibrate/predict_attention.hpp"
#include "calibrate/predict_collective.hpp"
#include "calibrate/predict_copy.hpp"
#include "calibrate/predict_gemm.hpp"
#include "calibrate/predict_image.hpp"
#include "calibrate/predict_pointwise.hpp"
#include "calibrate/predict_state_space.hpp"

namespace orrery::calibrate {

struct Predictor::Tables {
    explicit Tables(const Profile& p)
        : source(&p),
          gemm(p),
          attention(p),
          pointwise(p),
          image(p, gemm, pointwise),
          scan(p, pointwise),
          collective(p),
          copy(p) {}
    const Profile* source;
    GemmPredictor gemm;
    AttentionPredictor attention;
    PointwisePredictor pointwise;
    ImagePredictor image;
    StateSpacePredictor scan;
    CollectivePredictor collective;
    CopyPredictor copy;
};

namespace {

bool valid(const kernels::Gemm& g) { return std::min({g.batch, g.m, g.n, g.k}) > 0; }
bool valid(const kernels::Attention& a) { return std::min({a.batch, a.seq, a.heads, a.kv_heads, a.head_dim}) > 0; }
bool valid(const kernels::Pointwise& p) { return std::min(p.rows, p.cols) > 0; }
bool valid(const kernels::Convolution& c) {
    return c.stride > 0 && c.groups > 0 && std::min({c.input_elements(), c.output_elements(), c.weights()}) > 0;
}
bool valid(const kernels::Pooling& p) { return p.stride > 0 && std::min(p.input_elements(), p.output_elements()) > 0; }
bool valid(const kernels::BatchNorm& b) { return std::min(b.rows, b.channels) > 0; }
bool valid(const kernels::StateSpace& s) {
    return std::min({s.batch, s.seq, s.heads, s.head_dim, s.groups, s.state, s.chunk}) > 0;
}

void require_valid(const kernels::Kernel& kernel) {
    if (!std::visit([](const auto& any) { return valid(any); }, kernel))
        throw Error(fmt::format("{} has a dimension of zero", kernels::to_text(kernel)), "");
}

}  // namespace

Predictor::Predictor(const Profile& profile) : tables_(std::make_unique<Tables>(profile)) {}
Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;

Estimate Predictor::kernel(const kernels::Kernel& kernel) const {
    require_valid(kernel);
    return std::visit(Overloaded{[&](const kernels::Gemm& g) { return tables_->gemm.estimate(g); },
                                 [&](const kernels::Attention& a) { return tables_->attention.estimate(a); },
                                 [&](const kernels::Pointwise& p) { return tables_->pointwise.estimate(p); },
                                 [&](const kernels::Convolution& c) { return tables_->image.estimate(c); },
                                 [&](const kernels::Pooling& p) { return tables_->image.estimate(p); },
                                 [&](const kernels::BatchNorm& b) { return tables_->image.estimate(b); },
                                 [&](const kernels::StateSpace& s) { return tables_->scan.estimate(s); }},
                      kernel);
}

Estimate Predictor::at_table_clock(const kernels::Kernel& kernel) const {
    require_valid(kernel);
    return std::visit(Overloaded{[&](const kernels::Gemm& g) { return tables_->gemm.at_table_clock(g); },
                                 [&](const kernels::Attention& a) { return tables_->attention.at_table_clock(a); },
                                 [&](const kernels::Pointwise& p) { return tables_->pointwise.at_table_clock(p); },
                                 [&](const kernels::Convolution& c) { return tables_->image.at_table_clock(c); },
                                 [&](const kernels::Pooling& p) { return tables_->image.estimate(p); },
                                 [&](const kernels::BatchNorm& b) { return tables_->image.estimate(b); },
                                 [&](const kernels::StateSpace& s) { return tables_->scan.estimate(s); }},
                      kernel);
}

Estimate Predictor::collective(kernels::CollectiveKind kind, std::uint32_t ranks, double bytes, double nvlink) const {
    return tables_->collective.estimate(kind, ranks, bytes, nvlink);
}

std::optional<Estimate> Predictor::measured(kernels::CollectiveKind kind, std::uint32_t ranks, std::uint32_t nodes,
                                            double bytes) const {
    if (nodes <= 1) return collective(kind, ranks, bytes);
    return tables_->collective.among_nodes(kind, ranks, nodes, bytes);
}

std::optional<Estimate> Predictor::copy(kernels::CopyKind kind, double bytes) const {
    return tables_->copy.estimate(kind, bytes);
}

std::string Predictor::explain(const kernels::Kernel& kernel) const {
    require_valid(kernel);
    return std::visit(Overloaded{[&](const kernels::Gemm& g) { return tables_->gemm.explain(g); },
                                 [&](const kernels::Attention& a) { return tables_->attention.explain(a); },
                                 [&](const kernels::Pointwise& p) { return tables_->pointwise.explain(p); },
                                 [&](const kernels::Convolution& c) { return tables_->image.explain(c); },
                                 [&](const kernels::Pooling& p) { return tables_->image.explain(p); },
                                 [&](const kernels::BatchNorm& b) { return tables_->image.explain(b); },
                                 [&](const kernels::StateSpace& s) { return tables_->scan.explain(s); }},
                      kernel);
}

std::string Predictor::explain(kernels::CollectiveKind kind, std::uint32_t ranks, double bytes, double nvlink) const {
    return tables_->collective.explain(kind, ranks, bytes, nvlink);
}

const Profile& Predictor::profile() const { return *tables_->source; }

double Predictor::best_product_rate(std::size_t table) const { return tables_->gemm.tables()[table].best_rate(); }

double Predictor::constant(const std::string& name) const {
    const auto& constants = tables_->source->constants;
    const auto found = constants.find(name);
    if (found == constants.end())
        throw Error(fmt::format("profile \"{}\" has no constant \"{}\"", tables_->source->name, name),
                    "calibrate/profile.hpp lists the required ones");
    return found->second.value;
}

double Predictor::constant_or(const std::string& name, double otherwise) const {
    return calibrate::constant_or(tables_->source->constants, name, otherwise);
}

}  // namespace orrery::calibrate
