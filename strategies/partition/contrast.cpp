// Images and texts against each other (CLIP), as OpenCLIP and NeMo train it (open_clip/loss.py, ClipLoss with
// local_loss and gather_with_grad; nemo/collections/multimodal/losses/clip_loss.py): vectors of both kinds are gathered
// among data ranks, and each rank finds the text of each of its images among all, and the image of each of its texts.
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Dtype;
using kernels::Gemm;
using kernels::GemmPass;
using kernels::PointwiseKind;

class ContrastSharder {
public:
    ContrastSharder(LayerStream& stream, const models::ContrastiveLoss& op)
        : stream_(stream),
          width_(op.width),
          own_(stream.plan.training.micro_batch),
          all_(own_ * stream.plan.strategy.data) {}

    void shard() && {
        for (const char* kind : {"image", "text"}) towards(kind);
        for (const char* kind : {"image", "text"}) against(kind);
        for (const char* kind : {"image", "text"}) compare(kind);
        for (const char* kind : {"text", "image"}) compare_backward(kind);
        for (const char* kind : {"text", "image"}) back(kind);
        // Both kinds before and behind their division by a length; probabilities in fp32, 16-bit similarities.
        piece_.saved_bytes = 2 * (own_ + all_) * width_ * stream_.bytes + 2 * own_ * sizeof(float) +
                             2 * own_ * all_ * (sizeof(float) + stream_.bytes);
        piece_.working_bytes = 2 * all_ * width_ * stream_.bytes + own_ * all_ * stream_.bytes;
        stream_.parameter({.name = "logit_scale", .parts = {1}, .replicated = true}, 1);
        piece_.counts.trained = piece_.counts.replicated = 1;
        stream_.layer.flow.complete = false;
        stream_.value = no_value;
        stream_.layer.pieces.push_back(std::move(piece_));
    }

private:
    using List = std::vector<Work>;

    void kernel(List& list, const char* kind, const char* name, const kernels::Kernel& what) {
        list.push_back({.name = std::string(kind) + ' ' + name, .what = what});
    }
    [[nodiscard]] kernels::Pointwise over(PointwiseKind kind, std::uint64_t rows, std::uint64_t cols) const {
        return stream_.pointwise(kind, rows, cols);
    }
    [[nodiscard]] kernels::Pointwise over_similarities(PointwiseKind kind) const {
        return {kind, Dtype::fp32, own_, all_};
    }
    [[nodiscard]] Gemm product(std::uint64_t m, std::uint64_t n, std::uint64_t k, GemmPass pass) const {
        return {stream_.element,
                1,
                static_cast<std::uint32_t>(m),
                static_cast<std::uint32_t>(n),
                static_cast<std::uint32_t>(k),
                pass};
    }
    void exchange(List& list, const char* kind, const char* name, CollectiveKind how) const {
        if (stream_.plan.strategy.data == 1) return;
        list.push_back({.name = std::string(kind) + ' ' + name,
                        .what = LayerCollective{how, all_ * width_ * stream_.bytes, stream_.plan.data_group()}});
    }
    /// Divided by its length: a pass to find it, and one to divide.
    void towards(const char* kind) {
        kernel(piece_.forward, kind, "length", over(PointwiseKind::sum_of_squares, own_, width_));
        kernel(piece_.forward, kind, "unit vector", over(PointwiseKind::scale, own_, width_));
    }
    void against(const char* kind) { exchange(piece_.forward, kind, "gather", CollectiveKind::all_gather); }
    /// Similarities, their scale, and the cross entropy of each row.
    void compare(const char* kind) {
        List& list = piece_.forward;
        kernel(list, kind, "similarities", product(own_, all_, width_, GemmPass::forward));
        kernel(list, kind, "logit scale", over(PointwiseKind::scale, own_, all_));
        kernel(list, kind, "similarities to fp32", over(PointwiseKind::cast, own_, all_));
        kernel(list, kind, "cross entropy", over_similarities(PointwiseKind::cross_entropy));
    }
    /// The scale's gradient is a sum over all similarities; products with both factors follow.
    void compare_backward(const char* kind) {
        List& list = piece_.backward;
        kernel(list, kind, "cross entropy backward", over_similarities(PointwiseKind::cross_entropy_backward));
        kernel(list, kind, "gradient to 16 bits", over(PointwiseKind::cast, own_, all_));
        kernel(list, kind, "logit scale gradient", over(PointwiseKind::sum_of_squares, own_, all_));
        kernel(list, kind, "logit scale backward", over(PointwiseKind::scale, own_, all_));
        kernel(list, kind, "similarities dgrad own", product(own_, width_, all_, GemmPass::data_gradient));
        kernel(list, kind, "similarities dgrad all", product(all_, width_, own_, GemmPass::weight_gradient));
    }
    /// What others found of a rank's vectors comes home and is added to its own.
    void back(const char* kind) {
        List& list = piece_.backward;
        exchange(list, kind, "scatter gradient", CollectiveKind::reduce_scatter);
        kernel(list, kind, "sum gradients", over(PointwiseKind::add, own_, width_));
        kernel(list, kind, "length backward", over(PointwiseKind::sum_of_squares, own_, width_));
        kernel(list, kind, "unit vector backward", over(PointwiseKind::add, own_, width_));
    }

    LayerStream& stream_;
    std::uint64_t width_, own_, all_;  ///< of a vector; examples of this rank, and of all
    Piece piece_{.name = "comparison"};
};

}  // namespace

void shard_contrast(LayerStream& stream, const models::ContrastiveLoss& op) { ContrastSharder(stream, op).shard(); }

}  // namespace orrery::strategies
