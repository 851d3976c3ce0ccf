// Lists of GPUs, and the placement of a scenario.
#include "scenarios/placement.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/scenario.hpp"
#include "tests/scenarios/expect_error.hpp"
#include "tests/scenarios/temporary_file.hpp"

namespace orrery::scenarios {
namespace {

using List = std::vector<std::uint32_t>;

TEST(GpuList, IsReadFromText) {
    EXPECT_EQ(parse_gpus("0-3", {4, 8}), (List{0, 1, 2, 3}));
    EXPECT_EQ(parse_gpus("4-5, 0,1 ,7\n", {5, 8}), (List{4, 5, 0, 1, 7}));
    EXPECT_EQ(parse_gpus("# the first node\n2 3 # and\n0-1#last", {4, 8}), (List{2, 3, 0, 1}));
}

TEST(GpuList, NonsenseIsRefused) {
    const auto text = [](const char* list) { return [list] { (void)parse_gpus(list, {4, 8}); }; };
    expect_error(text(""), "", "0 GPUs for 4 ranks");
    expect_error(text("0-2"), "", "3 GPUs for 4 ranks");
    expect_error(text("0-4"), "", "more than 4 GPUs for 4 ranks");
    expect_error(text("0-2,8"), "", "GPU 8 of 8", "0 to 7");
    expect_error(text("0-99999999999999999"), "", "GPU 99999999999999999 of 8");
    expect_error(text("0-99999999999999999999"), "", "no GPU number");
    expect_error(text("3-0"), "", "\"3-0\" falls");
    for (const char* list : {"0,1,2,x", "0,1,2,-3", "0,1,2,3-", "0,1,2,3.5", "0,1,2,0x3", "0,1,2,1-2-3", "0;1;2;3"})
        expect_error(text(list), "", "no GPU number");
}

TEST(GpuList, IsReadFromFiles) {
    const TemporaryFile list("[3, 2,\n1, 0]", "gpus.json");
    EXPECT_EQ(read_gpus(list.path().string(), {4, 8}), (List{3, 2, 1, 0}));
    const TemporaryFile text("# reversed\n3\n2\n1\n0\n", "gpus.txt");
    EXPECT_EQ(read_gpus(text.path().string(), {4, 8}), (List{3, 2, 1, 0}));
}

TEST(GpuList, ABadFileIsNamed) {
    for (const char* bytes : {"", "[", "[0, 1, 2]", "[0, 1, 2, -3]", "[0, 1, 2, 3.0]", "[0, 1, 2, \"3\"]",
                              "[[0, 1, 2, 3]]", "[0, 1, 2, 3] 4", "{\"gpus\": [0, 1, 2, 3]}", "rank 0 = GPU 0"}) {
        const TemporaryFile file(bytes, "gpus.json");
        const auto error = error_of([&] { (void)read_gpus(file.path().string(), {4, 8}); });
        ASSERT_TRUE(error) << bytes;
        EXPECT_EQ(error->file(), file.path().string()) << bytes;
        EXPECT_FALSE(error->hint().empty()) << bytes;
    }
    const TemporaryFile file("[0, 1, 9]", "gpus.json");
    expect_error([&] { (void)read_gpus(file.path().string(), {4, 8}); }, "/2", "GPU 9 of 8", "0 to 7");
    EXPECT_TRUE(error_of([] { (void)read_gpus("/nowhere/gpus.txt", {4, 8}); }));
}

/// 16 ranks, tensor 2 x data 4 x pipeline 2, on two nodes of 8.
Scenario with(const nlohmann::json& strategy, const std::string& file = "test.json") {
    auto document = nlohmann::json::parse(R"({"model": {"name": "gpt2"}, "cluster": {"preset": "dgx-a100", "nodes": 2},
        "strategy": {"tensor": 2, "pipeline": 2}, "training": {"seq_length": 512, "global_batch_size": 16}})");
    document["strategy"].update(strategy);
    return from_json(document, file);
}

TEST(ScenarioPlacement, IsLinearUnlessItSaysOtherwise) {
    EXPECT_TRUE(with(nlohmann::json::object()).plan.placement.linear());
    EXPECT_TRUE(with({{"placement", "tp-cp-ep-dp-pp"}}).plan.placement.linear());
    EXPECT_TRUE(with({{"use_tp_pp_dp_mapping", false}}).plan.placement.linear());
}

TEST(ScenarioPlacement, ByNameOrderListAndFile) {
    const strategies::RankPlacement order = with({{"placement", "tp-pp-dp"}}).plan.placement;
    EXPECT_EQ(order.gpu(8), 2U) << "the second stage lies beside the first";
    EXPECT_EQ(with({{"use_tp_pp_dp_mapping", true}}).plan.placement, order);
    EXPECT_EQ(with({{"placement", "0,1,4,5,8,9,12,13,2,3,6,7,10,11,14,15"}}).plan.placement, order);
    EXPECT_EQ(with({{"placement", "round_robin"}}).plan.placement.gpu(1), 8U);
    const TemporaryFile list("0-1 4-5 8-9 12-13\n2-3 6-7 10-11 14-15\n", "gpus.txt");
    const std::string beside = (list.path().parent_path() / "scenario.json").string();
    const Scenario scenario = with({{"placement_file", "gpus.txt"}}, beside);
    EXPECT_EQ(scenario.plan.placement, order);
    EXPECT_EQ(scenario.plan.strategy.placement_file, list.path().string());
}

TEST(ScenarioPlacement, SpreadsOverIdleGpus) {
    const Scenario scenario = with({{"placement", "average"}, {"data", 2}});
    EXPECT_EQ(scenario.gpus, 8U);
    EXPECT_EQ(scenario.plan.placement.gpu(3), 3U);
    EXPECT_EQ(scenario.plan.placement.gpu(4), 8U);
}

TEST(ScenarioPlacement, ErrorsSayWhere) {
    const auto load = [](const nlohmann::json& strategy) { return [strategy] { (void)with(strategy); }; };
    expect_error(load({{"placement", "fastest"}}), "/strategy/placement", "fastest", "round_robin");
    expect_error(load({{"placement", "tp-pp"}}), "/strategy/placement", "leaves out data");
    expect_error(load({{"placement", "0-14,0"}}), "/strategy/placement", "ranks 0 and 15 are both on GPU 0");
    expect_error(load({{"placement", "0-7"}}), "/strategy/placement", "8 GPUs for 16 ranks");
    expect_error(load({{"placement", "0-14,16"}}), "/strategy/placement", "GPU 16 of 16");
    expect_error(load({{"placement", "row"}, {"placement_file", "x"}}), "/strategy/placement_file", "row");
    const TemporaryFile list("0-14 0", "gpus.txt");
    const auto error = error_of([&] { (void)with({{"placement_file", list.path().string()}}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->file(), list.path().string());
    EXPECT_NE(error->message().find("both on GPU 0"), std::string::npos);
}

}  // namespace
}  // namespace orrery::scenarios
