// Products of blocks on a square of ranks: SUMMA (van de Geijn and Watts 1997) in three forms, as Optimus derives a
// linear layer from them (Xu et al. 2021, arXiv:2104.05343, algorithms 1 to 3). Of C = A B each of q steps broadcasts a
// block of A along its row and one of B along its column; of C = A B^T one of B, and reduces a block of C along its
// row; of C = A^T B one of A, and reduces one of C along its column. Each form is the other two's gradient.
//
// Two buffers of each take turns, so that a step's blocks come while the step before is multiplied (Colossal-AI,
// parallel_2d/_operation.py); every rank copies its own block into the buffer first. Rows and columns have one stream
// here, where NCCL has one each: they share a GPU's links. A reduction is a broadcast that runs the other way.
#include "strategies/partition/grid.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Gemm;
using kernels::GemmPass;
using kernels::PointwiseKind;

/// By step's turn: a block has come along a row, along a column; a result has been reduced.
constexpr std::uint8_t row_flag = 1, column_flag = 4, reduced_flag = 16;
constexpr std::uint8_t turn(std::uint8_t flag, std::uint32_t step) {
    return static_cast<std::uint8_t>(flag << (step % 2));
}

/// The blocks that move in each step; one without elements stays where it is.
struct BlockProduct {
    std::string name;
    Gemm step;
    Block along_row{}, along_column{}, result{};  ///< result: reduced
    Axis reduced_along = Axis::tensor_row;
    bool of_weights = false;
};

class Summa {
public:
    Summa(std::vector<Work>& list, const LayerStream& stream, const BlockProduct& product)
        : list_(list), stream_(stream), product_(product), steps_(stream.grid.row) {}

    void write() {
        if (steps_ == 1) return multiply(0);
        send(0);
        for (std::uint32_t step = 0; step < steps_; ++step) {
            if (step + 1 < steps_) send(step + 1);
            multiply(step);
            if (reduces()) reduce(step);
        }
        if (reduces()) copy(" own result", product_.result, turn(reduced_flag, 0) | turn(reduced_flag, 1));
    }

private:
    [[nodiscard]] bool reduces() const { return product_.result.elements() > 0; }
    void copy(const char* what, Block block, int needs) {
        list_.push_back({.name = product_.name + what,
                         .what = stream_.pointwise(PointwiseKind::scale, block.rows, block.columns),
                         .needs = static_cast<std::uint8_t>(needs),
                         .of_weights = product_.of_weights});
    }
    void move(const char* what, Block block, Axis axis, std::uint8_t flag) {
        add_among(list_, stream_, product_.name + what,
                  {CollectiveKind::broadcast, block.elements() * stream_.bytes, AxisSet{axis}},
                  {.raises = flag, .of_weights = product_.of_weights});
    }
    void send(std::uint32_t step) {
        const auto along = [&](const char* what, Block block, Axis axis, std::uint8_t flag) {
            if (block.elements() == 0) return;
            copy(" to buffer", block, 0);
            move(what, block, axis, turn(flag, step));
        };
        along(" row broadcast", product_.along_row, Axis::tensor_row, row_flag);
        along(" column broadcast", product_.along_column, Axis::tensor_column, column_flag);
    }
    /// Into a buffer that the step before the last has given back.
    void multiply(std::uint32_t step) {
        list_.push_back({.name = product_.name,
                         .what = product_.step,
                         .needs = static_cast<std::uint8_t>(turn(row_flag, step) | turn(column_flag, step) |
                                                            turn(reduced_flag, step)),
                         .of_weights = product_.of_weights});
    }
    void reduce(std::uint32_t step) {
        move(" reduce", product_.result, product_.reduced_along, turn(reduced_flag, step));
    }

    std::vector<Work>& list_;
    const LayerStream& stream_;
    const BlockProduct& product_;
    std::uint32_t steps_;
};

class SummaLinear {
public:
    SummaLinear(LayerStream& stream, const models::Linear& op)
        : stream_(stream),
          op_(op),
          in_(columns_of(stream, op).rows),
          out_(columns_of(stream, op).columns),
          x_{stream.tokens, in_},
          y_{stream.tokens, out_},
          weight_{out_, in_} {}

    void shard() && {
        declare_linear(stream_, op_, weight_, out_ / stream_.grid.column, piece_);
        forward();
        backward();
        account();
        leave_output(stream_, op_);
        stream_.layer.pieces.push_back(std::move(piece_));
    }

private:
    [[nodiscard]] Gemm gemm(Block left, std::uint64_t n, GemmPass pass) const {
        return block_product(stream_, left.rows, n, left.columns, pass);
    }
    /// The words' table is looked up by its rows, so that logits are x W^T of its blocks (VocabParallelClassifier2D).
    [[nodiscard]] bool of_words() const { return op_.out == models::Dim::vocab; }
    void bias(std::vector<Work>& list, CollectiveKind kind, bool of_weights) {
        if (!op_.bias) return;
        add_among(list, stream_, op_.name + (of_weights ? " bias scatter" : " bias gather"),
                  {kind, out_ * stream_.bytes, AxisSet{Axis::tensor_column}}, {.of_weights = of_weights});
    }
    void forward();
    void backward();
    void account();

    LayerStream& stream_;
    const models::Linear& op_;
    std::uint64_t in_, out_;  ///< columns on this rank
    Block x_, y_, weight_;
    Piece piece_{.name = op_.name};
};

void SummaLinear::forward() {
    BlockProduct product{.name = op_.name, .step = gemm(x_, out_, GemmPass::forward), .along_column = weight_};
    if (of_words()) {
        product.result = y_;
    } else {
        product.along_row = x_;
    }
    Summa(piece_.forward, stream_, product).write();
    bias(piece_.forward, CollectiveKind::all_gather, false);
}

void SummaLinear::backward() {
    auto& list = piece_.backward;
    if (op_.bias) {
        list.push_back({.name = op_.name + " bias gradient",
                        .what = stream_.pointwise(PointwiseKind::bias_gradient, y_.rows, y_.columns),
                        .of_weights = true});
        bias(list, CollectiveKind::reduce_scatter, true);
    }
    BlockProduct data{
        .name = op_.name + " dgrad", .step = gemm(y_, in_, GemmPass::data_gradient), .along_column = weight_};
    if (of_words()) {
        data.along_row = y_;
    } else {
        data.result = x_;
    }
    Summa(list, stream_, data).write();
    const BlockProduct weights{.name = op_.name + " wgrad",
                               .step = gemm({in_, stream_.tokens}, out_, GemmPass::weight_gradient),
                               .along_row = of_words() ? y_ : x_,
                               .result = weight_,
                               .reduced_along = Axis::tensor_column,
                               .of_weights = true};
    Summa(list, stream_, weights).write();
    add_accumulation(list, stream_, op_, weight_, 0);
}

/// Beside what goes in and out two buffers for each block that moves.
void SummaLinear::account() {
    const std::uint64_t x = x_.elements() * stream_.bytes, y = y_.elements() * stream_.bytes,
                        weight = weight_.elements() * stream_.bytes;
    piece_.saved_bytes = piece_.weight_saved_bytes = piece_.input_bytes = x;
    piece_.output_gradient_bytes = y;
    piece_.working_bytes = x + y;
    if (stream_.grid.row > 1) piece_.working_bytes += 2 * ((of_words() ? y : x) + weight);
}

}  // namespace

void shard_summa(LayerStream& stream, const models::Linear& op) { SummaLinear(stream, op).shard(); }

}  // namespace orrery::strategies
