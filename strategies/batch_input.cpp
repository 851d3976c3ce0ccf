#include "strategies/batch_input.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Dtype;
using kernels::Pointwise;
using kernels::PointwiseKind;

constexpr std::uint64_t bytes_of_int64 = 8;
constexpr std::uint64_t sizes_broadcast = 5;  ///< _MAX_DATA_DIM, of the one key "text"

class BatchWork {
public:
    BatchWork(const Plan& plan, std::uint32_t micro_batch, Builder& builder, Intern& intern)
        : plan_(plan), micro_batch_(static_cast<std::int32_t>(micro_batch)), builder_(builder), intern_(intern) {}

    void input() {
        const std::uint64_t batch = plan_.training.micro_batch, seq = plan_.training.seq;
        kernel("batch sizes", PointwiseKind::scale, 1, 2 * sizes_broadcast);
        broadcast("broadcast batch sizes", sizes_broadcast * bytes_of_int64);
        builder_.emit(Lane::compute, label("batch sizes on host"), HostSync{}, {behind_}, {});
        // Token ids are int64: two words of four bytes each.
        kernel("tokens to device", PointwiseKind::scale, batch, 2 * (seq + 1));
        broadcast("broadcast tokens", batch * (seq + 1) * bytes_of_int64);
        kernel("labels", PointwiseKind::scale, batch, 2 * seq);
        kernel("tokens", PointwiseKind::scale, batch, 2 * seq);
        kernel("ones", PointwiseKind::fill, seq, seq);
        kernel("lower triangle", PointwiseKind::scale, seq, seq);
        kernel("loss mask", PointwiseKind::fill, batch, seq);
        kernel("positions", PointwiseKind::fill, 1, 2 * seq);
        kernel("attention mask", PointwiseKind::cast, seq, seq);
    }

    void loss() {
        const std::uint64_t batch = plan_.training.micro_batch, seq = plan_.training.seq;
        kernel("masked losses", PointwiseKind::add, batch, seq);
        kernel("sum of losses", PointwiseKind::sum_of_squares, batch, seq);
        kernel("sum of loss mask", PointwiseKind::sum_of_squares, batch, seq);
        for (const char* name : {"mean loss", "copy of the loss", "losses to average"})
            kernel(name, PointwiseKind::scale, 1, 1);
        tell("average loss", CollectiveKind::all_reduce, plan_.data_group(), sizeof(float));
        for (const char* name : {"average over replicas", "share of the step", "scaled loss"})
            kernel(name, PointwiseKind::scale, 1, 1);
    }

private:
    [[nodiscard]] Label label(const char* name) { return intern_.label(name, Phase::forward, micro_batch_); }

    void kernel(const char* name, PointwiseKind kind, std::uint64_t rows, std::uint64_t cols) {
        behind_ = builder_.buffer(0, Keep::scratch);
        builder_.emit(Lane::compute, label(name), What{intern_.kernel(Pointwise{kind, Dtype::fp32, rows, cols})}, {},
                      {behind_});
    }

    /// A lone rank has nobody to tell.
    void tell(const char* name, CollectiveKind kind, AxisSet group, std::uint64_t bytes) {
        if (plan_.mesh().group_size(group) == 1) return;
        const BufferId told = builder_.buffer(0, Keep::scratch);
        builder_.emit(Lane::compute, label(name), Collective{kind, group, bytes}, {behind_}, {told});
        behind_ = told;
    }
    void broadcast(const char* name, std::uint64_t bytes) {
        tell(name, CollectiveKind::broadcast, {Axis::tensor}, bytes);
    }

    const Plan& plan_;
    std::int32_t micro_batch_;
    Builder& builder_;
    Intern& intern_;
    BufferId behind_ = 0;  ///< written by the last operation
};

}  // namespace

void emit_batch_input(const Plan& plan, std::uint32_t micro_batch, Builder& builder, Intern& intern) {
    if (plan.training.broadcast_data) BatchWork(plan, micro_batch, builder, intern).input();
}

void emit_batch_loss(const Plan& plan, std::uint32_t micro_batch, Builder& builder, Intern& intern) {
    if (plan.training.broadcast_data) BatchWork(plan, micro_batch, builder, intern).loss();
}

}  // namespace orrery::strategies
