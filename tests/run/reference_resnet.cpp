// ResNets (He et al. 2016) in double precision: a micro-batch of one rank at a time, whose images share the statistics
// of batch norms.
#include "run/images.hpp"
#include "tests/run/reference_parts.hpp"

namespace orrery::run {

namespace {

class ResNet : public ReferenceModel {
public:
    ResNet(const strategies::Plan& plan, const RunSettings& settings);
    [[nodiscard]] std::uint32_t parts() const override {
        return plan_.training.global_batch / plan_.training.micro_batch;
    }
    M loss(Tape& tape, std::uint32_t step, std::uint32_t part) override;

private:
    struct Image {
        M pixels;
        std::size_t size;  ///< rows, and as many columns
    };
    struct Convolved {
        std::size_t kernel = 1, stride = 1, padding = 0;
    };

    void convolution(const std::string& name, std::size_t in, std::size_t out, std::size_t kernel);
    void stage_parameters(std::size_t stage, std::size_t in);
    Image convolved(Tape& tape, const Image& x, const std::string& name, const Convolved& by);
    Image rectified(Tape& tape, const Image& x) { return {tape.applied(x.pixels, relu), x.size}; }
    Image branch(Tape& tape, const Image& x, const std::string& at, std::size_t stride);
    Image stage(Tape& tape, Image x, std::size_t number);

    /// Layers are numbered as they stand: of a stage a branch, a shortcut and their sum, then branches and sums.
    [[nodiscard]] std::string next() { return "layer." + std::to_string(number_++) + "."; }

    Images images_;
    std::uint32_t number_ = 0;
};

ResNet::ResNet(const strategies::Plan& plan, const RunSettings& settings)
    : ReferenceModel(plan, settings), images_(plan.model, settings.seed) {
    convolution("stem convolution", 3, 64, 7);
    std::size_t channels = 64;
    for (std::size_t stage = 0; stage < spec_.image.depths.size(); ++stage) {
        stage_parameters(stage, channels);
        channels = std::size_t{256} << stage;
    }
    linear("classes", spec_.vocab, channels, true);
}

void ResNet::convolution(const std::string& name, std::size_t in, std::size_t out, std::size_t kernel) {
    parameter(name + ".weight", out, kernel * kernel * in);
    parameter(name + " norm.weight", 1, out, Initial::ones);
    parameter(name + " norm.bias", 1, out, Initial::zeros);
}

void ResNet::stage_parameters(std::size_t stage, std::size_t in) {
    const std::size_t width = std::size_t{64} << stage;
    for (std::uint32_t block = 0; block < spec_.image.depths.at(stage); ++block) {
        const std::string at = next();
        convolution(at + "reduce", block == 0 ? in : 4 * width, width, 1);
        convolution(at + "spatial", width, width, 3);
        convolution(at + "expand", width, 4 * width, 1);
        if (block == 0) convolution(next() + "shortcut", in, 4 * width, 1);
        ++number_;  // their sum
    }
}

ResNet::Image ResNet::convolved(Tape& tape, const Image& x, const std::string& name, const Convolved& by) {
    const M y = tape.convolution(x.pixels, get(name + ".weight"), {x.size, by.kernel, by.stride, by.padding});
    return {tape.batch_norm(y, get(name + " norm.weight"), get(name + " norm.bias")),
            (x.size + 2 * by.padding - by.kernel) / by.stride + 1};
}

ResNet::Image ResNet::branch(Tape& tape, const Image& x, const std::string& at, std::size_t stride) {
    const Image narrow = rectified(tape, convolved(tape, x, at + "reduce", {}));
    const Image seen = rectified(tape, convolved(tape, narrow, at + "spatial", {3, stride, 1}));
    return convolved(tape, seen, at + "expand", {});
}

ResNet::Image ResNet::stage(Tape& tape, Image x, std::size_t number) {
    for (std::uint32_t block = 0; block < spec_.image.depths.at(number); ++block) {
        const std::size_t stride = block == 0 && number > 0 ? 2 : 1;
        const Image one = branch(tape, x, next(), stride);
        const Image around = block == 0 ? convolved(tape, x, next() + "shortcut", {1, stride, 0}) : x;
        ++number_;  // their sum
        x = rectified(tape, {tape.plus(one.pixels, around.pixels), one.size});
    }
    return x;
}

M ResNet::loss(Tape& tape, std::uint32_t step, std::uint32_t part) {
    const std::size_t size = spec_.image.size, batch = plan_.training.micro_batch;
    Image x{std::make_shared<Matrix>(batch * size * size, 3), size};
    std::vector<std::int32_t> labels;
    for (std::size_t i = 0; i < batch; ++i) {
        const Images::Example example = images_.example(step, part * batch + i);
        labels.push_back(example.label);
        std::copy(example.pixels.begin(), example.pixels.end(),
                  x.pixels->value.begin() + static_cast<std::ptrdiff_t>(i * example.pixels.size()));
    }
    number_ = 0;
    x = rectified(tape, convolved(tape, x, "stem convolution", {7, 2, 3}));
    x = {tape.largest(x.pixels, {x.size, 3, 2, 1}), (x.size - 1) / 2 + 1};
    for (std::size_t number = 0; number < spec_.image.depths.size(); ++number) x = stage(tape, x, number);
    const M means = tape.mean_of(x.pixels, x.size * x.size);
    return tape.cross_entropy(applied(tape, means, "classes"), labels, spec_.vocab);
}

}  // namespace

std::unique_ptr<ReferenceModel> reference_resnet(const strategies::Plan& plan, const RunSettings& settings) {
    return std::make_unique<ResNet>(plan, settings);
}

}  // namespace orrery::run
