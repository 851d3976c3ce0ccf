// Reports of Nsight Systems, made by hand in the form of its export to SQLite.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "doors/nsys/annotation.hpp"
#include "doors/nsys/report.hpp"
#include "doors/trace/product.hpp"
#include "doors/trace/steps.hpp"

namespace orrery::doors::nsys {
namespace {

using kernels::Dtype;
using kernels::GemmPass;
using trace::Measurement;

constexpr const char* example = "doors/examples/gpt2-nsys.sqlite";

constexpr const char* tables =
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT);"
    "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, streamId "
    "INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId "
    "INTEGER);";

/// A report in the making. Times in microseconds.
class Reports : public testing::Test {
protected:
    Reports() {
        EXPECT_EQ(sqlite3_open(file().c_str(), &database_), SQLITE_OK);
        sql(tables);
    }
    ~Reports() override { sqlite3_close(database_); }

    [[nodiscard]] std::string file() const { return (folder_.path() / "report.sqlite").string(); }
    void sql(const std::string& text) {
        char* error = nullptr;
        EXPECT_EQ(sqlite3_exec(database_, text.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error << '\n' << text;
        sqlite3_free(error);
    }
    [[nodiscard]] std::int64_t thread(int number) const { return (1LL << 48) + (process << 24) + number; }

    void range(const std::string& text, int on, double begin, double duration) {
        sql(fmt::format("INSERT INTO NVTX_EVENTS VALUES ({:.0f}, {:.0f}, 59, '{}', {}, NULL)", 1e3 * begin,
                        1e3 * (begin + duration), text, thread(on)));
    }
    /// A kernel and its launch.
    void kernel(const std::string& name, int on, double launch, double begin, double duration, int stream = 7) {
        ++correlation_;
        sql(fmt::format("INSERT OR IGNORE INTO StringIds SELECT count(*), '{}' FROM StringIds", name));
        sql(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({:.0f}, {:.0f}, {}, {})", 1e3 * launch,
                        1e3 * launch + 500, thread(on), correlation_));
        sql(
            fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT {:.0f}, {:.0f}, 0, {}, {}, {}, max(id) FROM "
                        "StringIds",
                        1e3 * begin, 1e3 * (begin + duration), stream, correlation_, thread(0)));
    }

    /// Forward and backward of one linear layer in block 5, an optimizer, a collective beside the backward pass.
    void one_step() {
        sql("INSERT INTO TARGET_INFO_GPU VALUES (0, 'other'), (3, 'NVIDIA H100 80GB HBM3')");
        sql("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 1), (3, 0, 77)");
        range("step 7", 1, 990, 1000);
        range("layer 5", 1, 995, 100);
        range("aten::addmm, seq = 40, op_id = 3, sizes = [[32], [64, 16], [16, 32], [], []]", 1, 1000, 10);
        kernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn", 1, 1002, 1000, 100);
        range("autograd::engine::evaluate_function: AddmmBackward0, op_id = 8", 2, 1200, 100);
        range("AddmmBackward0, seq = 40, op_id = 9", 2, 1201, 98);
        range("aten::mm, op_id = 10, sizes = [[64, 32], [32, 16]]", 2, 1210, 10);
        kernel("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT", 2, 1212, 1100, 50);
        range("aten::mm, op_id = 11, sizes = [[32, 64], [64, 16]]", 2, 1230, 10);
        kernel("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NTT", 2, 1232, 1150, 60);
        kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 2, 1290, 1180, 100, 20);
        range("Optimizer.step#Adam.step", 1, 1400, 50);
        kernel("multi_tensor_apply_kernel", 1, 1410, 1500, 40);
    }

    Error refused(Request request = {}) {
        request.file = file();
        try {
            (void)measure(request);
        } catch (const Error& error) {
            EXPECT_EQ(error.file(), file());
            EXPECT_FALSE(error.hint().empty());
            return error;
        }
        ADD_FAILURE() << "was taken";
        return Error("");
    }

    std::int64_t process = 77;

private:
    TemporaryFolder folder_{"nsys-test"};
    sqlite3* database_ = nullptr;
    int correlation_ = 0;
};

double seconds(const Measurement& m, std::optional<int> layer, const char* phase, const char* kind) {
    for (const trace::Group& group : m.groups)
        if (group.layer == layer && group.phase == phase && group.kind == kind) return group.seconds;
    return 0;
}

TEST_F(Reports, SayWhereAStepGoes) {
    one_step();
    const Measured measured = measure({.file = file(), .rank = 3});
    const Measurement& m = measured.step;
    EXPECT_EQ(measured.processes, std::vector<std::int64_t>{77});
    EXPECT_EQ(m.rank, 3U);
    EXPECT_EQ(m.device, "NVIDIA H100 80GB HBM3") << "CUDA's device 0 of this process is the machine's GPU 3";
    EXPECT_EQ(m.step_names, std::vector<std::string>{"step 7"});
    EXPECT_NEAR(m.step_seconds[0], 1000e-6, 1e-12) << "its range ends after its last kernel";
    const auto use = [&](trace::Use one) { return m.breakdown[static_cast<std::size_t>(one)]; };
    EXPECT_NEAR(use(trace::Use::gemm), 210e-6, 1e-12);
    EXPECT_NEAR(use(trace::Use::communication), 70e-6, 1e-12);
    EXPECT_NEAR(use(trace::Use::optimizer), 40e-6, 1e-12);
    EXPECT_NEAR(seconds(m, 5, "forward", "gemm"), 100e-6, 1e-12);
    EXPECT_NEAR(seconds(m, 5, "backward", "gemm"), 110e-6, 1e-12) << "by the number at the node inside the engine's";
    const nlohmann::ordered_json written = m.json().at("trace");
    EXPECT_EQ(written.at("of"), "Nsight Systems");
    EXPECT_EQ(written.at("collectives").at(0).at("name"), "AllReduce");
    EXPECT_EQ(written.at("collectives").at(0).at("dtype"), "bf16");
    EXPECT_TRUE(written.at("collectives").at(0).at("elements_in").is_null()) << "not told is not zero";
}

TEST_F(Reports, GiveTimesOfProductsByTheirKernelsNames) {
    one_step();
    const Measurement m = measure({.file = file()}).step;
    ASSERT_EQ(m.products.size(), 3U);
    const auto has = [&](kernels::Gemm gemm, double time) {
        for (const trace::TimedProduct& p : m.products)
            if (p.gemm == gemm) return std::abs(p.seconds - time) < 1e-12 && p.times == 1;
        return false;
    };
    EXPECT_TRUE(has({Dtype::bf16, 1, 64, 32, 16, GemmPass::forward}, 100e-6));
    EXPECT_TRUE(has({Dtype::bf16, 1, 64, 16, 32, GemmPass::data_gradient}, 50e-6));
    EXPECT_TRUE(has({Dtype::bf16, 1, 16, 32, 64, GemmPass::weight_gradient}, 60e-6));
    range("aten::mm, op_id = 12, sizes = [[8, 8], [8, 8]]", 1, 1420, 10);
    kernel("my_gemm", 1, 1421, 1600, 10);
    EXPECT_EQ(measure({.file = file()}).step.products_left_out, 1U) << "a product of unknown type";
}

TEST_F(Reports, AreReadProcessByProcess) {
    one_step();
    process = 78;
    range("step 7", 1, 990, 1000);
    kernel("void at::native::fill", 1, 1000, 1300, 5);
    EXPECT_EQ(measure({.file = file()}).process, 77) << "the one of most kernels";
    const Measured other = measure({.file = file(), .process = 78});
    EXPECT_EQ(other.processes, (std::vector<std::int64_t>{77, 78}));
    EXPECT_EQ(other.step.kernels, 1U) << "the other's have the same correlation ids";
    EXPECT_NEAR(seconds(other.step, std::nullopt, "forward", "memory-bound"), 5e-6, 1e-12);
    EXPECT_NE(refused({.file = "", .process = 1}).hint().find("77, 78"), std::string::npos);
}

/// The example is the other one as Nsight Systems would have recorded it.
TEST(Report, OfAStepSaysWhatItsTraceByPyTorchSays) {
    const Measurement ours = measure({.file = example}).step;
    const Measurement theirs = trace::measure({"doors/examples/gpt2-trace.json.gz"});
    ASSERT_EQ(ours.step_seconds.size(), theirs.step_seconds.size());
    for (std::size_t s = 0; s < ours.step_seconds.size(); ++s)
        EXPECT_NEAR(ours.step_seconds[s], theirs.step_seconds[s], 3e-9);
    for (std::size_t use = 0; use < ours.breakdown.size(); ++use)
        EXPECT_NEAR(ours.breakdown[use], theirs.breakdown[use], 200e-9) << Measurement::use_name(use);
    ASSERT_EQ(ours.groups.size(), theirs.groups.size());
    for (std::size_t g = 0; g < ours.groups.size(); ++g) {
        const trace::Group &a = ours.groups[g], &b = theirs.groups[g];
        EXPECT_EQ(std::tie(a.layer, a.phase, a.kind, a.count), std::tie(b.layer, b.phase, b.kind, b.count));
        EXPECT_NEAR(a.seconds, b.seconds, 200e-9);
    }
    EXPECT_EQ(ours.device, theirs.device);
    const auto time = [](const Measurement& m) {
        double sum = 0;
        for (const trace::CollectiveUse& use : m.collectives) sum += use.seconds;
        return sum;
    };
    EXPECT_EQ(ours.collectives.size(), 1U) << "all-reduces of two sizes, which a report does not tell";
    EXPECT_NEAR(time(ours), time(theirs), 200e-9);
    EXPECT_GE(ours.products.size(), 9U);
    for (const trace::TimedProduct& p : ours.products) {
        const auto same = [&](const trace::TimedProduct& other) { return other.gemm == p.gemm; };
        EXPECT_TRUE(std::ranges::any_of(theirs.products, same)) << kernels::to_text(p.gemm);
    }
}

TEST_F(Reports, AreRefusedWithPlaceAndRemedy) {
    EXPECT_NE(refused().message().find("no kernel"), std::string::npos);
    one_step();
    const auto refuses = [&](const std::string& change, const std::string& pointer) {
        sql("SAVEPOINT before; " + change + "; RELEASE before");
        EXPECT_EQ(refused().pointer(), pointer) << change;
    };
    refuses("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start - 1 WHERE rowid = 3",
            "/CUPTI_ACTIVITY_KIND_KERNEL/2/end");
    refuses("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = -5 WHERE rowid = 2", "/CUPTI_ACTIVITY_KIND_KERNEL/1/start");
    refuses("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'soon' WHERE rowid = 1",
            "/CUPTI_ACTIVITY_KIND_KERNEL/0/start");
    refuses("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid < 4; UPDATE StringIds SET id = 90 WHERE id = 3",
            "/CUPTI_ACTIVITY_KIND_KERNEL/0/demangledName");
    refuses("UPDATE StringIds SET value = x'00ff' WHERE id = 90", "/StringIds/4/value");
    refuses(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE "
        "VALUES (1)",
        "/CUPTI_ACTIVITY_KIND_GRAPH_TRACE");
    refuses(
        "DROP TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE; UPDATE StringIds SET value = 'k'; ALTER TABLE "
        "CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid",
        "/CUPTI_ACTIVITY_KIND_KERNEL/globalPid");
    refuses(
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(i) AS "
        "(SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i AS end FROM n",
        "/CUPTI_ACTIVITY_KIND_KERNEL");
    refuses("DROP TABLE StringIds", "/StringIds");
}

std::string bytes_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Whether it is read; whatever comes of it besides an Error is a fault.
bool read(const std::string& file) {
    try {
        return measure({.file = file}).step.kernels > 0;
    } catch (const Error& error) {
        EXPECT_EQ(error.file(), file);
        EXPECT_FALSE(error.hint().empty()) << error.what();
        return false;
    }
}

TEST(Report, ThatIsDamagedIsRefusedAndNothingIsWritten) {
    const TemporaryFolder folder("nsys-damage");
    const std::filesystem::path alone = folder.path() / "alone";
    std::filesystem::create_directory(alone);
    const std::string whole = bytes_of(example), file = (alone / "is it? 100%#.sqlite").string();
    const auto write = [&](const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; };
    write(whole);
    EXPECT_TRUE(read(file)) << "a name that is no URI by itself";
    for (const std::size_t length : {std::size_t{0}, std::size_t{10}, std::size_t{100}, std::size_t{1024},
                                     whole.size() / 2, whole.size() - 1024}) {
        write(whole.substr(0, length));
        EXPECT_FALSE(read(file)) << length << " bytes";
    }
    write("{\"traceEvents\": []}" + std::string(1000, ' '));
    EXPECT_FALSE(read(file));
    std::mt19937_64 random(7);
    int taken = 0;
    for (int turn = 0; turn < 200; ++turn) {
        std::string bytes = whole;
        for (int i = 0; i < 8; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
        write(bytes);
        taken += read(file) ? 1 : 0;
        EXPECT_EQ(bytes_of(file), bytes);
    }
    EXPECT_GT(taken, 0);
    EXPECT_LT(taken, 200);
    EXPECT_FALSE(read(folder.path().string()));
    EXPECT_FALSE(read((folder.path() / "none").string()));
    for (const auto& entry : std::filesystem::directory_iterator(alone))
        EXPECT_EQ(entry.path().string(), file) << "beside it";
}

TEST(Annotations, OfOperatorsAreTakenApart) {
    const Annotation full = annotation_in(
        "aten::addmm, seq = 40, op_id = 7, sizes = [[64], [32, 16], [16, 64], [], []], input_op_ids = []");
    EXPECT_EQ(full.name, "aten::addmm");
    EXPECT_EQ(full.sequence, 40);
    EXPECT_EQ(full.sizes, (std::vector<std::vector<std::int64_t>>{{64}, {32, 16}, {16, 64}, {}, {}}));
    EXPECT_EQ(annotation_in("step 3").name, "step 3");
    EXPECT_EQ(annotation_in("forward, layer 3").name, "forward, layer 3") << "no label of PyTorch's";
    EXPECT_EQ(annotation_in("aten::mm, op_id = 7").name, "aten::mm");
    EXPECT_EQ(annotation_in("x, seq = -4").sequence, -1);
    EXPECT_EQ(annotation_in("x, seq = 99999999999999999999").sequence, -1);
    for (const char* damaged : {"x, sizes = ", "x, sizes = [[1, 2]", "x, sizes = [[99999999999999999999]]"})
        EXPECT_TRUE(annotation_in(damaged).sizes.empty()) << damaged;
}

TEST(Products, HaveTheTypeThatTheirKernelsNameTells) {
    using trace::dtype_in;
    EXPECT_EQ(dtype_in("ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn"), Dtype::bf16);
    EXPECT_EQ(dtype_in("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_nn"), Dtype::fp16);
    EXPECT_EQ(dtype_in("sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64"), Dtype::fp16);
    EXPECT_EQ(dtype_in("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n"), Dtype::fp8) << "operands before outputs";
    EXPECT_EQ(dtype_in("ampere_sgemm_128x64_tn"), Dtype::fp32);
    EXPECT_EQ(dtype_in("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n"), Dtype::tf32);
    EXPECT_EQ(dtype_in("void splitKreduce_kernel<32, 16, int>"), std::nullopt);
}

}  // namespace
}  // namespace orrery::doors::nsys
