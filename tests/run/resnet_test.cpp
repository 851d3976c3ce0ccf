// A residual network trains as a plain implementation does, alone and on data ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "run/images.hpp"
#include "run/support.hpp"
#include "strategies/build.hpp"
#include "tests/run/agreement.hpp"
#include "tests/run/reference_parts.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Sharding;

/// A small one: a block a stage, but two in the first, where the second goes around nothing but itself; images of
/// 32 x 32, of which the last stage sees one pixel.
models::ModelSpec small_resnet() {
    models::ModelSpec spec = models::find("resnet-50");
    spec.name = "resnet of five blocks";
    spec.vocab = 10;
    spec.image = {.size = 32, .depths = {2, 1, 1, 1}};
    spec.layers = 5;
    return spec;
}

/// Two micro-batches of eight images on one rank.
Plan plan_of_images() {
    Plan plan = plan_of(small_resnet());
    plan.training.seq = 1;
    plan.training.micro_batch = 8;
    plan.training.global_batch = 16;
    return plan;
}

const Case meshes[]{
    {"OneRank", [](Plan&) {}},
    {"UnfusedAccumulation", [](Plan& p) { p.training.gradient_accumulation_fusion = false; }},
    {"UnfusedNorms", [](Plan& p) { p.training.kernel_fusion = strategies::KernelFusion::operators; }},
    {"Data2", [](Plan& p) { p.strategy.data = 2; }},
    {"Zero1",
     [](Plan& p) {
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero1;
         p.strategy.overlap_grad_reduce = true;
     }},
    {"Zero3",
     [](Plan& p) {
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero3;
     }},
};

/// An epsilon above all gradients: an update is in proportion to its gradient. Adam's own would make steps of full
/// size of what is rounding alone, and batch norms answer to the weights' directions, which it would turn at once.
RunSettings gentle(std::uint64_t seed = 13) {
    RunSettings settings;
    settings.seed = seed;
    settings.adam.epsilon = 0.1;
    settings.adam.rate = 3e-4;
    return settings;
}

/// Of all elements that are looked at, relative to the largest of their parameter.
double largest_error(const Trained& trained, const ReferenceStep& reference, double most) {
    const double clip = most / reference.gradient_norm;
    EXPECT_LT(clip, 0.1) << "clipping does nothing";
    double error = 0;
    for (const auto& [name, expected] : reference.gradients) {
        double largest = 0, difference = 0;
        for (std::size_t i = 0; i < expected.size(); i += one_of(expected.size())) {
            largest = std::max(largest, std::abs(clip * expected[i]));
            difference = std::max(difference, std::abs(clip * expected[i] - trained.gradients.at(name).at(i)));
        }
        EXPECT_GT(largest, 0) << name;
        error = std::max(error, difference / largest);
    }
    return error;
}

const ReferenceStep& first_step(std::uint64_t seed) {
    static std::map<std::uint64_t, ReferenceStep> all;
    const auto [found, fresh] = all.try_emplace(seed);
    if (fresh) found->second = train_reference(plan_of_images(), gentle(seed), 1).front();
    return found->second;
}

TEST(ResNets, LoseAsTheReference) {
    const std::vector<ReferenceStep> reference = train_reference(plan_of_images(), gentle(), steps);
    for (const Case& mesh : meshes) {
        SCOPED_TRACE(mesh.name);
        Plan plan = plan_of_images();
        mesh.change(plan);
        const Trained trained = train(plan, gentle(), steps);
        ASSERT_EQ(trained.losses.size(), reference.size());
        for (std::size_t step = 0; step < steps; ++step)
            EXPECT_NEAR(trained.losses[step], reference[step].loss, single_error * reference[step].loss)
                << "step " << step;
    }
}

/// One of a step's million activations may lie so near 0 that rounding takes it to the other side, where a ReLU has
/// another slope; with every second seed none does. A wrong gradient agrees with none.
TEST(ResNets, HaveTheReferencesGradients) {
    for (const Case& mesh : meshes) {
        SCOPED_TRACE(mesh.name);
        Plan plan = plan_of_images();
        mesh.change(plan);
        double error = 1;
        for (std::uint64_t seed = 8; seed < 18 && error >= single_error; ++seed)
            error = largest_error(train(plan, gentle(seed), 1), first_step(seed), plan.training.grad_clip);
        EXPECT_LT(error, single_error);
    }
}

TEST(ResNets, HaveACompleteFlow) {
    for (const Case& mesh : meshes) {
        SCOPED_TRACE(mesh.name);
        Plan plan = plan_of_images();
        mesh.change(plan);
        const strategies::StepProgram step = program_of(plan);
        for (const strategies::LayerFlow& flow : step.flows) EXPECT_TRUE(flow.complete);
        EXPECT_EQ(strategies::verify(step), std::vector<std::string>{});
    }
}

/// Everything that images meet, in a network of a few numbers: every element of every operand.
TEST(ImageMatrices, AgreeWithFiniteDifferences) {
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> draw(-1, 1);
    const auto matrix = [&](std::size_t rows, std::size_t cols) {
        const M m = std::make_shared<Matrix>(rows, cols);
        for (double& value : m->value) value = draw(random);
        return m;
    };
    const M x = matrix(2 * 7 * 7, 2), w = matrix(3, 3 * 3 * 2), gamma = matrix(1, 3), beta = matrix(1, 3);
    const auto loss = [&](Tape& tape) {
        const M convolved = tape.convolution(x, w, {7, 3, 2, 1});  // 4 x 4
        const M normed = tape.batch_norm(convolved, gamma, beta);
        return tape.cross_entropy(tape.mean_of(tape.largest(normed, {4, 3, 2, 1}), 4), {2, 0}, 3);
    };
    Tape tape;
    tape.backward(loss(tape), 1);
    constexpr double delta = 1e-6;
    for (const M& each : {x, w, gamma, beta}) {
        const std::vector<double> gradient = each->gradient;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            const auto at = [&](double moved) {
                const double before = std::exchange(each->value[i], each->value[i] + moved);
                Tape other;
                const double value = loss(other)->value[0];
                each->value[i] = before;
                return value;
            };
            EXPECT_NEAR((at(delta) - at(-delta)) / (2 * delta), gradient[i], 1e-8) << i;
        }
    }
}

/// An element of every sixteenth parameter of the whole network.
TEST(FiniteDifferencesOf, AgreeInAResidualNetwork) {
    Plan plan = plan_of_images();
    plan.training.global_batch = plan.training.micro_batch;
    const ReferenceStep step = train_reference(plan, {}, 1).front();
    std::mt19937_64 random(7);
    std::size_t number = 0;
    for (const auto& [name, gradient] : step.gradients) {
        if (number++ % 16 != 0) continue;
        double largest = 0;
        for (const double g : gradient) largest = std::max(largest, std::abs(g));
        ASSERT_GT(largest, 0) << name;
        const std::size_t i = random() % gradient.size();
        constexpr double delta = 1e-6;
        const double up = reference_loss(plan, {}, name, i, delta), down = reference_loss(plan, {}, name, i, -delta);
        EXPECT_NEAR((up - down) / (2 * delta), gradient[i], 1e-4 * largest) << name << " element " << i;
    }
}

TEST(Images, AreTheSameForEveryRankAndOfTheirClass) {
    const Images images(small_resnet(), 5), same(small_resnet(), 5), others(small_resnet(), 6);
    const Images::Example one = images.example(3, 4);
    EXPECT_EQ(one.pixels.size(), 3U * 32 * 32);
    EXPECT_EQ(one.pixels, same.example(3, 4).pixels);
    EXPECT_NE(one.pixels, images.example(3, 5).pixels);
    EXPECT_NE(one.pixels, others.example(3, 4).pixels);
    std::vector<int> of(10);
    for (std::uint64_t sample = 0; sample < 1000; ++sample)
        ++of.at(static_cast<std::size_t>(images.example(0, sample).label));
    for (const int count : of) EXPECT_GT(count, 60);  // of 100, four standard deviations of 9.5
}

TEST(Images, AreNoText) {
    RunSettings settings = fast();
    settings.data = "README.md";
    try {
        train(plan_of_images(), settings, 1);
        ADD_FAILURE() << "a text was taken";
    } catch (const Error& error) {
        EXPECT_EQ(error.hint(), "leave --data out");
    }
}

}  // namespace
}  // namespace orrery::run
