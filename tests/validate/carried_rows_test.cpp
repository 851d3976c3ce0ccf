// Rows of every carried source, as published, against what they must become.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "hardware/datasheets.hpp"
#include "models/operators.hpp"
#include "strategies/plan_fields.hpp"
#include "tests/validate/sample.hpp"
#include "validate/collectives.hpp"
#include "validate/measured.hpp"
#include "validate/published.hpp"
#include "validate/ratios.hpp"
#include "validate/rows.hpp"

namespace orrery::validate {

using strategies::Recompute;
using strategies::ScheduleKind;
using strategies::Sharding;

namespace {

scenarios::Scenario scenario(const char* file, const char* id) {
    return map_row(test::carried_row(file, id), test::any_profile);
}

std::string reason(const char* file, const char* id) {
    return test::reason_of([&] {
        const Row row = test::carried_row(file, id);
        check_measured(row);
        map_row(row, test::any_profile);
    });
}

}  // namespace

template <class Struct>
void expect_defaults(const Row& row, std::string_view section, std::span<const documents::Field<Struct>> fields,
                     const Struct& mapped) {
    for (const documents::Field<Struct>& field : fields)
        for (const FieldRule& rule : field_rules()) {
            const bool here = rule.section == section && rule.key == field.key.name;
            if (!here || rule.rule != never_published) continue;
            EXPECT_TRUE(field.get(mapped) == field.get(Struct{})) << row.id() << " has another " << rule.key;
        }
}

/// What is said to be never published is never set, unless the row states it.
TEST(CarriedRows, FieldsThatNoTablePrintsKeepTheirDefaults) {
    std::size_t rows = 0;
    for (const auto& file : carried_files())
        for (const Row& row : load_rows(file).rows) {
            if (row.has("scenario")) continue;
            try {
                const strategies::Plan plan = map_row(row, test::any_profile).plan;
                expect_defaults<strategies::Strategy>(row, "strategy", strategies::strategy_fields(), plan.strategy);
                expect_defaults<strategies::Training>(row, "training", strategies::training_fields(), plan.training);
                ++rows;
            } catch (const Skip&) {
            } catch (const Error&) {
            }
        }
    EXPECT_GT(rows, 1000U);
}

TEST(CarriedRows, SuperPodOf2021) {
    const auto s = scenario("megatron_papers", "megatron/sc21_t1_530B");
    EXPECT_EQ(s.cluster.preset, "superpod-a100");
    EXPECT_EQ(s.cluster.nodes, 315U);
    EXPECT_EQ(s.plan.strategy.tensor, 8U);
    EXPECT_EQ(s.plan.strategy.pipeline, 35U);
    EXPECT_EQ(s.plan.strategy.data, 9U);
    EXPECT_EQ(s.plan.strategy.schedule, ScheduleKind::interleaved);
    EXPECT_EQ(s.plan.strategy.virtual_pipeline, 1U * 3);
    EXPECT_EQ(s.plan.strategy.recompute, Recompute::full);
    EXPECT_FALSE(s.plan.strategy.overlap_grad_reduce);
    EXPECT_FALSE(s.plan.training.fused_attention);
    EXPECT_NO_THROW(strategies::validate(s.plan));
    EXPECT_TRUE(scenario("megatron_papers", "megatron/sc21_t1_18B").plan.strategy.overlap_grad_reduce);
    EXPECT_EQ(scenario("megatron_papers", "megatron/sc21_t2_ZeRO-3_174.6_384").plan.strategy.sharding, Sharding::zero3);
    EXPECT_EQ(reason("megatron_papers", "megatron/sc21_e2ett_1T"), "not a step time");
    EXPECT_EQ(reason("megatron_papers", "megatron/sc21_interleave"), "ratio only");
    EXPECT_EQ(reason("megatron_papers", "megatron/readme_jan21_1.7B"), "micro-batch not published");
}

TEST(CarriedRows, PrintedFlopsAgreeWithTheDerivedTime) {
    // SC'21 derives the step from its TFLOP/s by equation 3: the conversion of rates must give the same.
    const Row row = test::carried_row("megatron_papers", "megatron/sc21_t1_145B");
    const auto s = map_row(row, test::any_profile);
    nlohmann::json rate = row.fields();
    rate["measured"].erase("step_time_s_derived");
    const topology::Gpu& gpu = topology::find_gpu(s.cluster.gpu);
    EXPECT_DOUBLE_EQ(measured_seconds(row, s, gpu), 24.8174);
    EXPECT_NEAR(measured_seconds(test::row_of(rate), s, gpu), 24.8174, 0.01 * 24.8);
}

TEST(CarriedRows, MilliSecondsOnOneNode) {
    const Row row = test::carried_row("megatron_papers", "megatron/readme20_v100_8B");
    const auto s = map_row(row, test::any_profile);
    EXPECT_EQ(s.cluster.preset, "dgx-2");
    EXPECT_EQ(s.cluster.nodes, 1U);
    EXPECT_DOUBLE_EQ(measured_seconds(row, s, topology::find_gpu(s.cluster.gpu)), 1.407);
}

TEST(CarriedRows, JeanZay) {
    const auto s = scenario("bigscience", "bigscience/v100/Megatron/18B/16g/tp4pp4dp1/mbs6/gbs768");
    EXPECT_EQ(s.cluster.preset, "v100-4");
    EXPECT_EQ(s.cluster.nics_per_node, 4U);
    // 23 to 55 Gb/s a node, as the row says they were measured.
    EXPECT_NEAR(4 * s.cluster.nic_bytes_per_second * hardware::omni_path_share * 8e-9, 39, 1e-9);
    EXPECT_EQ(reason("bigscience", "bigscience/v100/Megatron/7.5B/16g/tp4pp4dp1/mbs1/gbs4"),
              "model dimensions not published: layers");
    const auto more = scenario("bigscience_more", "bigscience2/tr3m/01");
    EXPECT_EQ(more.plan.strategy.sharding, Sharding::zero1);
    EXPECT_EQ(more.plan.micro_batches(), 64U);
}

TEST(CarriedRows, OneNicPerNode) {
    const auto s = scenario("oneflow_dlperf", "dlperf/gpt/On/MP_1x32x1_16_3072x32");
    EXPECT_EQ(s.cluster.preset, "dgx-1v");
    EXPECT_EQ(s.cluster.nics_per_node, 1U);
    EXPECT_EQ(s.plan.strategy.tensor, 32U);
    EXPECT_EQ(scenario("oneflow_dlperf", "dlperf/bert/fp16/= 64/OneFlow-W-O-clip/1").plan.training.grad_clip, 0.0);
}

TEST(CarriedRows, DataParallelBert) {
    const auto s = scenario("nvidia_dle", "dle/PyTorch/bert-large/A100-80GB/1g/mixed/seq128");
    EXPECT_EQ(s.plan.model.family, models::Family::bert);
    EXPECT_EQ(s.plan.training.micro_batch, 256U);
    EXPECT_EQ(s.plan.training.global_batch, 8192U);
    EXPECT_EQ(reason("nvidia_dle", "dle/PyTorch/bert-large/A100-80GB/1g/tf32/seq"), "sequence length not published");
}

TEST(CarriedRows, NeMoAndBridge) {
    const auto s = scenario("nvidia_dgxc_benchmarking", "dgxc/v24.11.1/nemo_megatron/gpt3-175b/BF16/pretrain/128xH100");
    EXPECT_EQ(s.cluster.preset, "dgx-h100");
    EXPECT_EQ(s.plan.strategy.virtual_pipeline, 12U);
    EXPECT_EQ(s.plan.strategy.sharding, Sharding::zero1);
    EXPECT_TRUE(s.plan.strategy.sequence_parallel);
    EXPECT_TRUE(s.plan.training.fused_attention);
    EXPECT_NO_THROW(strategies::validate(s.plan));
    const auto b = scenario("nvidia_megatron_bridge", "mbridge/26.06/LLAMA3_70B/DGX-GB300/FP8/32g/gbs32/SFT");
    EXPECT_EQ(b.plan.training.precision.compute, kernels::Dtype::fp8);
    EXPECT_EQ(b.cluster.preset, "gb300-nvl72");
    const auto n = scenario("nvidia_nemo_docs", "nemo/NeMo@v2.0.0/GPT3-5B/pretrain/64xH100/gbs2048");
    EXPECT_EQ(n.plan.micro_batches(), 8U);
    EXPECT_EQ(reason("nvidia_nemo_docs", "nemo/longseq/llama3-8b/B200/32K/withoutCP"), "parallelism not published");
}

TEST(CarriedRows, SmallModelsOnOneNode) {
    const auto s = scenario("vtrain_single", "vtrain/single/0000");
    EXPECT_EQ(s.gpus, 2U);
    EXPECT_EQ(s.cluster.nodes, 1U);
    EXPECT_EQ(s.plan.strategy.pipeline, 2U);
    EXPECT_FALSE(s.plan.strategy.overlap_grad_reduce);
    EXPECT_FALSE(s.plan.training.fused_attention);
    EXPECT_EQ(s.plan.strategy.recompute, strategies::Recompute::none) << "use_checkpoint is its simulator's";
    EXPECT_EQ(s.plan.padded_vocab(), 50257U);
    EXPECT_EQ(scenario("vtrain_single", "vtrain/single/0001").plan.padded_vocab(), 50256U) << "2 ranks of 25,128";
    const auto c = scenario("megatron_ci_tiny", "mcore/gpt/gpt3_mcore_tp1_pp2_resume_torch_dist/dev_dgx_gb200");
    EXPECT_FALSE(c.plan.training.fused_attention) << "transformer-impl local";
    EXPECT_FALSE(c.plan.training.gradient_accumulation_fusion);
}

TEST(CarriedRows, FullyShardedModels) {
    const auto s =
        scenario("mosaicml_llm_foundry", "llmfoundry/70b/H100-80GB/512g/seq2048/mbs8/ga1/FULL_SHARD/amp_bf16");
    EXPECT_EQ(s.plan.strategy.sharding, Sharding::zero3);
    EXPECT_TRUE(s.plan.strategy.overlap_grad_reduce);
    EXPECT_TRUE(s.plan.training.fused_attention);
    EXPECT_EQ(s.plan.training.attention_kernel, hardware::AttentionKernel::flash_triton);
    EXPECT_NO_THROW(strategies::validate(s.plan));
}

TEST(CarriedRows, RowsThatSayNotToUseThemAreLeftOut) {
    EXPECT_EQ(reason("bigscience_more", "bigscience2/tr8/01"), "row contradicts itself (flags)");
    const Row row = test::carried_row("bigscience_more", "bigscience2/tr8/01");
    const nlohmann::json* flags = row.find("flags");
    ASSERT_NE(flags, nullptr);
    EXPECT_EQ(flags->at(0), "FFN width unknown: do not use for compute") << "in the words of their source";
}

/// What a policy keeps, and what of it goes to the host.
TEST(CarriedRows, CheckpointsOfJaxAreTheirPolicies) {
    const strategies::Strategy s = scenario("google_maxtext", "maxtext/v5e/128B/1x").plan.strategy;
    EXPECT_EQ(s.recompute, strategies::Recompute::full);
    EXPECT_EQ(s.offload_names, "query_proj,key_proj,value_proj");
    EXPECT_EQ(s.cpu_offloading_num_layers, scenario("google_maxtext", "maxtext/v5e/128B/1x").plan.model.layers);
}

TEST(CarriedRows, SourcesOutOfReachAreNamed) {
    EXPECT_EQ(reason("bmtrain", "bmtrain/BMTrain/8"), "framework not understood: bmtrain");
    EXPECT_EQ(reason("torchgpipe", "torchgpipe/unet-5-64/baseline"), "model family not supported: u-net");
    EXPECT_EQ(reason("moe_papers", "dsmoe_6.7B_dense"), "pipeline not published");
    EXPECT_EQ(reason("galvatron", "galvatron/memory_profiling_bf16_llama2-7b_all/1_1_8_sp/L1b8s2048"),
              "not a step time");
}

TEST(CarriedRows, Collectives) {
    const auto one = map_collective(test::carried_row("vtrain_collectives", "vtrain/coll/a100/2"), test::any_profile);
    EXPECT_EQ(one.ranks, 2U);
    EXPECT_EQ(one.points.size(), 20U);
    EXPECT_DOUBLE_EQ(one.points[0].seconds, 44.21e-6);
    const auto efa = map_collective(test::carried_row("collectives", "coll/aws-p5/all_reduce/16"), test::any_profile);
    EXPECT_EQ(efa.cluster.preset, "efa");
    EXPECT_DOUBLE_EQ(efa.cluster.nics_per_node * efa.cluster.nic_bytes_per_second, 400e9);
    EXPECT_EQ(efa.cluster.nccl_version + efa.cluster.aws_ofi_nccl_version, "");
    const auto old =
        map_collective(test::carried_row("collectives", "coll/aws-p5-old/all_reduce/16"), test::any_profile);
    EXPECT_EQ(old.cluster.nccl_version, "2.18.5");
    EXPECT_EQ(old.cluster.aws_ofi_nccl_version, "1.7.3");
}

TEST(CarriedRows, EveryRowOfEveryFileIsMappedOrNamed) {
    std::size_t mapped = 0, rows = 0;
    for (const auto& file : carried_files()) {
        const RowFile all = load_rows(file);
        EXPECT_EQ(unread_fields(all), std::vector<std::string>{}) << file;
        for (const Row& row : all.rows) {
            ++rows;
            const std::string why = test::reason_of([&] {
                if (row.kind() == "collective") {
                    map_collective(row, test::any_profile);
                } else if (row.kind() == "ratio") {
                    read_ratio(row, all.rows);
                } else {
                    map_row(row, test::any_profile);
                }
                ++mapped;
            });
            EXPECT_EQ(why.find("wrong type"), std::string::npos) << row.id() << ": " << why;
        }
    }
    EXPECT_GE(rows, 3700U);
    EXPECT_GE(mapped, 2100U);
}

TEST(CarriedRows, TheSetIsSmallAndNamesItsOrigins) {
    std::uintmax_t bytes = 0;
    for (const auto& path : carried_files()) {
        bytes += std::filesystem::file_size(path);
        for (const Row& row : load_rows(path).rows) EXPECT_TRUE(row.has("source")) << row.id();
    }
    EXPECT_LT(bytes, 2'500'000U);
}

}  // namespace orrery::validate
