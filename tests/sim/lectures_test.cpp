// The figures that the field teaches: scenarios/lectures/README.md holds what is expected of each and what comes out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "models/operators.hpp"
#include "scenarios/scenario.hpp"
#include "sim/predict.hpp"
#include "synchrony/window.hpp"
#include "tests/sim/lecture.hpp"

namespace orrery::sim {

const std::vector<std::string> data_alone{"strategy.pipeline=1", "strategy.data=64", "strategy.schedule=1f1b",
                                          "training.micro_batch_size=24", "training.global_batch_size=1536"};

std::string peak(const Case& of) {
    const MemoryUse& use = of.prediction;
    return fmt::format("{:.2f} GB of {:.1f}", static_cast<double>(use.memory.front().peak) / 1e9,
                       static_cast<double>(use.memory_capacity) / 1e9);
}

namespace {

constexpr double gb = 1e9, day = 86400, year = 365.25 * day;

Case predicted(const std::string& name, const std::vector<std::string>& set, bool network) {
    std::vector<scenarios::Override> overrides;
    for (const std::string& text : set) overrides.push_back(scenarios::parse_override(text));
    Case result{.scenario = scenarios::load("scenarios/lectures/" + name + ".json", overrides), .prediction = {}};
    Options options;
    options.advice = false;
    options.keep_trace = network;
    result.prediction = predict(result.scenario, options);
    return result;
}

double parameters(const Case& of) {
    return static_cast<double>(models::parameters(models::build(of.scenario.plan.model)));
}

/// Weights, gradients and optimizer states: what is there behind the last backward.
double held(const StageMemory& memory) { return static_cast<double>(memory.after_optimizer); }

/// Over all GPUs: every stage has as many.
template <class Bytes>
double over_all(const Case& of, const Bytes& bytes) {
    double sum = 0;
    for (const StageMemory& memory : of.prediction.memory) sum += bytes(memory);
    return sum * of.scenario.gpus / static_cast<double>(of.prediction.memory.size());
}

std::string weights_fp32(const Case& of) { return fmt::format("{:.0f} GB", 4 * parameters(of) / gb); }
std::string all_states(const Case& of) { return fmt::format("{:.0f} GB", over_all(of, held) / gb); }
std::string all_memory(const Case& of) {
    const double all = over_all(of, [](const StageMemory& memory) { return static_cast<double>(memory.peak); });
    return fmt::format("{:.0f} GB, {:.1f} times its fp32 weights", all / gb, all / (4 * parameters(of)));
}
std::string cards(const Case& of) { return fmt::format("{:.0f}", std::ceil(over_all(of, held) / (32 * gb))); }
std::string states(const Case& of) { return fmt::format("{:.1f} GB", held(of.prediction.memory.front()) / gb); }
std::string maxima(const Case& of) {
    const StageMemory& memory = of.prediction.memory.front();
    const auto shown = [](std::uint64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / gb); };
    return fmt::format("{}, {}, {} GB", shown(memory.before_backward), shown(memory.after_backward),
                       shown(memory.after_optimizer));
}
std::string years(const Case& of) {
    return fmt::format("{:.1f} years at {:.0f} TFLOP/s a GPU", of.prediction.training_time_s / year,
                       of.prediction.hardware_flops_per_gpu / 1e12);
}
std::string months(const Case& of) {
    return fmt::format("{:.1f} months at {:.0f} TFLOP/s a GPU", of.prediction.training_time_s / year * 12,
                       of.prediction.hardware_flops_per_gpu / 1e12);
}
std::string days(const Case& of) { return fmt::format("{:.1f} days", of.prediction.training_time_s / day); }
std::string end_to_end(const Case& of) {
    return fmt::format("{:.1f} days at {:.0f} TFLOP/s a GPU", of.prediction.end_to_end_s / day,
                       of.prediction.hardware_flops_per_gpu / 1e12);
}
std::string utilisation(const Case& of) {
    double busiest = 0;
    for (const LinkLevel& level : of.prediction.links)
        if (level.from == "nic" || level.to == "nic") busiest = std::max(busiest, level.busiest);
    return fmt::format("{:.0f}%", 100 * busiest);
}
std::string scaling(const Case& of) { return fmt::format("{:.0f}%", 100 * of.prediction.scale_factor); }
std::string resident(const Case& of) { return fmt::format("{:.0f} MB", held(of.prediction.memory.front()) / 1e6); }
std::string fitting(const Case& of) {
    return fmt::format("{}, {} days", peak(of), fmt::format("{:.1f}", of.prediction.training_time_s / day));
}

std::string volume(const Case& of) { return fmt::format("{:.2f} times less", of.prediction.warm_up->volume_ratio()); }
std::string compressed_speed(const Case& of) {
    return fmt::format("{:.2f}", of.prediction.warm_up->step_time_s / of.prediction.step_time_s);
}
std::string trained_speed(const Case& of) {
    const WarmUp& stages = *of.prediction.warm_up;
    return fmt::format("{:.2f}", stages.step_time_s / stages.mean_step_time_s());
}
/// Over ZeRO-3 as it is.
std::string plus_plus_speed(const Case& of) {
    scenarios::Scenario plain = of.scenario;
    strategies::Strategy& strategy = plain.plan.strategy;
    strategy.quantized_weights = strategy.quantized_gradients = false;
    strategy.secondary_partition = 1;
    strategy.node_ranks = 0;
    Options options;
    options.advice = false;
    return fmt::format("{:.2f}", predict(plain, options).step_time_s / of.prediction.step_time_s);
}
/// Against workers none of which is slow, in step.
std::string kept_pace(const Case& of) {
    const synchrony::Outcome& window = *of.prediction.synchrony;
    synchrony::Job even = window.job;
    even.options.mode = synchrony::Mode::bsp;
    even.options.staleness = 0;
    even.options.step_jitter = 0;
    for (synchrony::Worker& worker : even.workers) worker.parts.clear();
    double waiting = 0;
    for (const synchrony::WorkerTime& worker : window.workers) waiting += worker.waiting / window.seconds;
    const double workers = static_cast<double>(window.workers.size());
    return fmt::format("{:.0f}% of the throughput, {:.0f}% of the time lost in waiting, up to {} steps stale",
                       100 * window.tokens_per_s() / simulate(even, 1).tokens_per_s(), 100 * waiting / workers,
                       window.most_stale());
}

const std::vector<std::string> classes_whole{"strategy.split_classes=1"};
const std::vector<std::string> equal{"strategy.replica_micro_batches=null", "strategy.pipeline_layers=null"};

std::vector<Figure> figures_of_memory() {
    const char* layers = "200e9 x 4 bytes are 745 GiB; the paper's table 1 has 207B";
    const char* twenty = "20 bytes a parameter, as Megatron-LM with 16-bit gradients; the figure has 16";
    return {
        {"PanGu-alpha 200B: weights", "pangu-alpha-200b", {}, "754 GB", weights_fp32, layers},
        {"in training", "pangu-alpha-200b", {}, "over 3,500 GB", all_memory, "with activations, recomputed"},
        {"cards of 32 GB for what is held", "pangu-alpha-200b", {}, "more than 100", cards, twenty},
        {"GPT-3 175B: weights", "gpt3-175b-memory", {}, "700 GB", weights_fp32},
        {"account of what is held", "gpt3-175b-memory", {}, "2.8 TB", all_states, twenty},
        {"in training",
         "gpt3-175b-memory",
         {},
         "7 to 8 times the weights",
         all_memory,
         "recomputed: activations are a few GB a GPU"},
        {"in training, nothing recomputed",
         "gpt3-175b-memory",
         {"strategy.recompute=none"},
         "7 to 8 times the weights",
         all_memory,
         "follows the micro-batches in flight"},
        {"three maxima of a GPU",
         "gpt3-175b-memory",
         {},
         "before, behind backward, behind the optimizer",
         maxima,
         "of the first stage"},
        {"ZeRO, 7.5B on 64: none", "zero-7.5b", {}, "120 GB", states, twenty},
        {"ZeRO-1 (4x)", "zero-7.5b", {"strategy.sharding=zero1"}, "31.4 GB", states},
        {"ZeRO-2 (8x)", "zero-7.5b", {"strategy.sharding=zero2"}, "16.6 GB", states},
        {"ZeRO-3 (1/64)", "zero-7.5b", {"strategy.sharding=zero3"}, "1.9 GB", states, twenty},
        {"ResNet-50, 32 images: peak",
         "resnet-50-memory",
         {},
         "about 1.2 GB",
         peak,
         "convolutions and batch norms both keep their inputs, 2.7 GB; one of the two alone would be half"},
        {"resident", "resnet-50-memory", {}, "320 MB", resident, "Adam's second state is 102 MB more than momentum"},
        {"ResNet-152, 128 images of 512 x 512", "resnet-152-512", {}, "more than 16 GB", peak},
    };
}

std::vector<Figure> figures_of_time() {
    return {
        {"GPT-3 on 8 V100",
         "gpt3-175b-8-v100",
         {},
         "36 years",
         years,
         "36 years are 46 TFLOP/s in 8TP/(nX); batch 64, if it fitted"},
        {"GPT-3 on 512 V100", "gpt3-175b-512-v100", {}, "7 months", months, "seven months are 45 TFLOP/s; batch 1,536"},
        {"E2ETT = 8TP/(nX), 1,024 A100", "gpt3-175b-1024-a100", {}, "34 days at 140 TFLOP/s", end_to_end},
        {"the same, step by step", "gpt3-175b-1024-a100", {}, "34 days", days},
        {"Network used, 1 Gb/s",
         "network-resnet-50",
         {"cluster.nic_rate=1 Gb/s"},
         "near 100%",
         utilisation,
         "of a NIC, over the whole step",
         true},
        {"10 Gb/s", "network-resnet-50", {"cluster.nic_rate=10 Gb/s"}, "–", utilisation, "", true},
        {"100 Gb/s",
         "network-resnet-50",
         {},
         "about 40%",
         utilisation,
         "Horovod's TCP did not exceed 32 Gb/s; RDMA is modelled, and links idle while GPUs compute",
         true},
        {"scale factor, 100 Gb/s",
         "network-resnet-50",
         {},
         "56 to 75%",
         scaling,
         "the same; the authors' own what-if rule says 99%"},
        {"Whale: BERT-large, three stages over data alone",
         "whale-bert-large",
         {},
         "1.34",
         nullptr,
         "batch and sequence are not published; nine micro-batches wait 18% and reduce behind the last"},
        {"the same over data alone without overlap",
         "whale-bert-large",
         {"strategy.overlap_grad_reduce=false"},
         "2.32 over Horovod",
         nullptr,
         "Horovod's own costs are not modelled; what stands in is no overlap"},
        {"M6-MoE-1T on 480 V100",
         "m6-moe-1t",
         {},
         "3 days, on 32 GB",
         fitting,
         "100 million samples of 512 tokens, as stated of the 100B model; 20 bytes a parameter, as "
         "Megatron-LM, are 41.8 GB, 16 were 33.4"},
    };
}

/// Of two kinds of GPU beside each other.
std::vector<Figure> figures_of_kinds() {
    const char *mixed = "whale-mixed-batches",
               *even = "Whale's even stages are not published; here the last has the loss";
    const char* rates =
        "a micro-batch takes 1.7 times as long on P100, which allows 1.35; gradients beside the last one take the rest";
    const std::vector<std::string> images{"model.name=resnet-50",
                                          "training.seq_length=1",
                                          "training.kernel_fusion=operators",
                                          "training.optimizer=momentum",
                                          "training.micro_batch_size=16",
                                          "training.global_batch_size=2048",
                                          "strategy.replica_micro_batches=8x10,8x6"};
    const std::vector<std::string> stages{"cluster.gpus_per_node=4", "strategy.pipeline=4", "strategy.data=2",
                                          "strategy.replica_micro_batches=null", "strategy.pipeline_layers=8,8,5,3"};
    const char* batches = "Whale: BERT-large on 8 V100 beside 8 P100, batches by their rates over equal ones";
    return {
        {batches, mixed, {}, "1.45", nullptr, rates, false, &equal},
        {"ResNet-50", mixed, images, "1.3", nullptr, "128 images a GPU in the mean", false, &equal},
        {"BERT-large in four stages on 4 V100 and 4 P100, layers by their rates", mixed, stages, "1.23", nullptr, even,
         false, &equal},
    };
}

/// Of wide classifiers and of networks whose weights are more than their work.
std::vector<Figure> figures_of_images() {
    const char *wide = "whale-100k-classes", *vgg = "pipedream-vgg-16";
    const auto on = [](int gpus, int nodes) {
        return std::vector<std::string>{fmt::format("cluster.nodes={}", nodes), fmt::format("strategy.data={}", gpus),
                                        fmt::format("strategy.split_classes={}", gpus),
                                        fmt::format("training.global_batch_size={}", 64 * gpus)};
    };
    std::vector<std::string> ethernet = on(64, 8), million = on(32, 4), whole = million;
    ethernet.emplace_back("cluster.nic_rate=35 Gb/s");
    million.emplace_back("model.name=resnet-50-1m");
    whole = million;
    whole.emplace_back("strategy.split_classes=1");
    const char* horovod = "Horovod's own costs are not modelled";
    return {
        {"Whale: 100,000 classes divided, over data alone, 8 GPUs", wide, on(8, 1), "1.13", nullptr, "", false,
         &classes_whole},
        {"16 GPUs", wide, on(16, 2), "1.66", nullptr, "", false, &classes_whole},
        {"32 GPUs", wide, on(32, 4), "2.43", nullptr, "", false, &classes_whole},
        {"64 GPUs, 35 Gb/s", wide, ethernet, "14.8 over Horovod", nullptr, horovod, false, &classes_whole},
        {"1,000,000 classes, divided", wide, million, "fits", peak},
        {"not divided", wide, whole, "does not fit", peak,
         "weights, gradients and momentum are 25 GB; what TensorFlow holds beside them is not modelled"},
        {"VGG-16 on 64 V100, 100 Gb/s: scale factor",
         "network-resnet-50",
         {"model.name=vgg-16"},
         "56 to 75%",
         scaling,
         "as for ResNet-50"},
        {"VGG-16 on 16 V100, 10 Gb/s: scale factor of data parallelism",
         vgg,
         {},
         "–",
         scaling,
         "PipeDream takes 5.28 times less; `orrery partition` says by what stages"},
    };
}

std::vector<Figure> figures_of_exchanges() {
    const char *onebit = "onebit-adam-bert-large", *slow = "slow-worker", *plus_plus = "zero-plus-plus-18b";
    const char* iperf = "cluster.nic_rate=4.1 Gb/s";
    const char* kernels = "all-reduce: 2.72 s, measured 2.28; packing takes 0.1 s, as DeepSpeed's code has it today";
    const std::string bsp = "synchrony.mode=bsp", ssp = "synchrony.mode=ssp", asp = "synchrony.mode=asp";
    const std::string bound = "synchrony.staleness=3", even = "perturbations=null",
                      random = "synchrony.step_jitter=0.4";
    return {
        {"1-bit Adam: communication", onebit, {}, "5 times less", volume, "1 / (w + (1 - w) / 16), w = 15.1%"},
        {"1-bit Adam behind its warm-up over Adam, 4.1 Gb/s", onebit, {iperf}, "up to 6.6", compressed_speed, kernels},
        {"the whole training", onebit, {iperf}, "3.3 to 3.5", trained_speed, "the same"},
        {"ZeRO++ over ZeRO-3: 18B on 384 V100 at 400 Gb/s, 1,024 tokens a GPU",
         plus_plus,
         {},
         "1.28 to 1.36",
         plus_plus_speed,
         "ZeRO-3 comes out too fast: DeepSpeed's gathers have costs that are not modelled"},
        {"2,048 tokens",
         plus_plus,
         {"training.micro_batch_size=2", "training.global_batch_size=768"},
         "1.24 to 1.29",
         plus_plus_speed,
         "the same"},
        {"100 Gb/s, 2,048 tokens",
         plus_plus,
         {"cluster.nics_per_node=1", "training.micro_batch_size=2", "training.global_batch_size=768"},
         "about 2, up to 2.2",
         plus_plus_speed},
        {"One of eight workers twice as slow: BSP",
         slow,
         {bsp},
         "the slowest's pace",
         kept_pace,
         "twice the computing, the same exchange"},
        {"SSP, 3 steps",
         slow,
         {ssp, bound},
         "between",
         kept_pace,
         "a worker that is always slow is outrun by 3 steps once, then all have its pace"},
        {"ASP",
         slow,
         {asp},
         "each its own pace",
         kept_pace,
         "95% if transfers that are out of step did not meet; stale without bound"},
        {"Random slowness (0.4): BSP",
         slow,
         {bsp, even, random},
         "the unluckiest's pace",
         kept_pace,
         "the mean of the largest of eight factors"},
        {"SSP, 3 steps", slow, {ssp, bound, even, random}, "near ASP", kept_pace, "luck evens out within the bound"},
        {"ASP",
         slow,
         {asp, even, random},
         "no waiting",
         kept_pace,
         "what it lacks is lost where pulls and pushes meet"},
    };
}

std::vector<Figure> figures() {
    std::vector<Figure> all = figures_of_memory();
    for (Figure& figure : figures_of_time()) all.push_back(std::move(figure));
    for (Figure& figure : figures_of_images()) all.push_back(std::move(figure));
    for (Figure& figure : figures_of_grids()) all.push_back(std::move(figure));
    for (Figure& figure : figures_of_exchanges()) all.push_back(std::move(figure));
    for (Figure& figure : figures_of_kinds()) all.push_back(std::move(figure));
    return all;
}

std::string speedup(const Figure& figure) {
    std::vector<std::string> alone = figure.set;
    alone.insert(alone.end(), figure.against->begin(), figure.against->end());
    const bool of_both = figure.against != &data_alone;  // a pipeline's changes are those of data parallelism alone
    const std::vector<std::string> own = of_both ? figure.set : std::vector<std::string>{};
    return fmt::format("{:.2f}", predicted(figure.scenario, own, false).prediction.tokens_per_s /
                                     predicted(figure.scenario, alone, false).prediction.tokens_per_s);
}

std::string table() {
    std::string text = "| figure | scenario | expected | predicted | why |\n| --- | --- | --- | --- | --- |\n";
    for (const Figure& figure : figures()) {
        const std::string shown = figure.shown == nullptr
                                      ? speedup(figure)
                                      : figure.shown(predicted(figure.scenario, figure.set, figure.network));
        std::string scenario = figure.scenario;
        for (const std::string& set : figure.set) scenario += ", " + set;
        text +=
            fmt::format("| {} | {} | {} | {} | {} |\n", figure.what, scenario, figure.expected, shown, figure.reason);
    }
    return text;
}

/// UPDATE_GOLDEN=1 writes the table into the document.
TEST(Lectures, TheTableIsWhatThePredictionsSay) {
    const std::string path = "scenarios/lectures/README.md", begin = "<!-- figures -->\n", end = "<!-- /figures -->";
    std::ifstream file(path);
    std::stringstream whole;
    whole << file.rdbuf();
    std::string text = whole.str();
    const std::size_t from = text.find(begin), to = text.find(end);
    ASSERT_TRUE(from != std::string::npos && to != std::string::npos && from < to);
    const std::size_t at = from + begin.size();
    if (std::getenv("UPDATE_GOLDEN") != nullptr) {
        text.replace(at, to - at, table());
        std::ofstream(path) << text;
        return;
    }
    EXPECT_EQ(text.substr(at, to - at), table()) << "UPDATE_GOLDEN=1 writes it";
}

TEST(Lectures, EveryScenarioHasAFigure) {
    std::set<std::string> used, there;
    for (const Figure& figure : figures()) used.insert(figure.scenario);
    for (const auto& entry : std::filesystem::directory_iterator("scenarios/lectures"))
        if (entry.path().extension() == ".json") there.insert(entry.path().stem().string());
    EXPECT_EQ(used, there);
}

/// Of 20 bytes a parameter 4 stay and 16 are shared; then 2 and 18; then all (Rajbhandari et al. 2020, figure 1, which
/// counts 16, and 12, 14 and 16 of them shared).
TEST(Lectures, ZeroDividesWhatItsPaperSays) {
    const auto bytes = [](const char* stage) {
        const Case of = predicted("zero-7.5b", {std::string("strategy.sharding=") + stage}, false);
        return held(of.prediction.memory.front()) / parameters(of);
    };
    EXPECT_NEAR(bytes("none"), 20, 0.01);
    EXPECT_NEAR(bytes("zero1"), 4 + 16.0 / 64, 0.01);
    EXPECT_NEAR(bytes("zero2"), 2 + 18.0 / 64, 0.01);
    EXPECT_NEAR(bytes("zero3"), 20.0 / 64, 0.01);
}

}  // namespace
}  // namespace orrery::sim
