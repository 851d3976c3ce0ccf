// Where an imported training runs.
#include <gtest/gtest.h>

#include "tests/doors/importing.hpp"

namespace orrery::doors {
namespace {

const std::string launch =
    " pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 1024 "
    "--max-position-embeddings 1024 --micro-batch-size 1 --bf16\n";

Imported started(const std::string& launcher, Request request) {
    return imported("megatron", launcher + launch, request);
}

Request on(const std::string& cluster, const std::string& gpu = "", std::uint64_t gpus = 0) {
    Request request;
    request.cluster = cluster;
    request.gpu = gpu;
    request.gpus = gpus;
    return request;
}

TEST(Cluster, IsCountedByTheLauncher) {
    for (const char* launcher : {"torchrun --nnodes 4 --nproc_per_node 8", "torchrun --nnodes=4 --nproc-per-node=8",
                                 "python -m torch.distributed.run --nproc_per_node 8 --nnodes 4",
                                 "srun -N 4 --ntasks-per-node 8 python", "deepspeed --num_nodes 4 --num_gpus 8"}) {
        const Imported read = started(launcher, on("dgx-h100"));
        EXPECT_EQ(at(read, "/cluster/nodes"), 4) << launcher << refusals(read);
        EXPECT_EQ(at(read, "/strategy/data"), 32);
    }
}

/// Of a job whose srun says nothing of its own; a program that srun does not start runs where the script does.
TEST(Cluster, IsCountedBySlurmsLines) {
    for (const char* lines : {"#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=8\n", "#SBATCH -N 4 --gpus-per-node 8\n",
                              "#SBATCH --nodes=4\n#SBATCH --gres=gpu:h100:8\n"}) {
        const Imported read = started(std::string(lines) + "srun python -u", on("dgx-h100"));
        EXPECT_EQ(at(read, "/cluster/nodes"), 4) << lines << refusals(read);
        EXPECT_EQ(at(read, "/strategy/data"), 32);
    }
    const Imported one =
        started("#SBATCH --nodes=4 --ntasks-per-node=1\nsrun torchrun --nproc_per_node gpu", on("dgx-h100"));
    EXPECT_NE(at(one, "/strategy/data"), 4) << "a task starts all GPUs of its node";
    const Imported alone = started("#SBATCH --nodes=4\ntorchrun --nproc_per_node 8", on("dgx-h100"));
    EXPECT_NE(at(alone, "/cluster/nodes"), 4) << refusals(alone);
}

TEST(Cluster, IsTheUsualOneOfAGpu) {
    EXPECT_EQ(at(started("torchrun --nnodes 1 --nproc_per_node 8", on("", "V100-32GB")), "/cluster/preset"), "dgx-1v");
    EXPECT_EQ(at(started("torchrun --nnodes 1 --nproc_per_node 8", on("", "H200")), "/cluster/preset"), "hgx-h200");
    EXPECT_EQ(at(started("torchrun", on("", "A100-40GB", 16)), "/cluster/gpu"), "A100-SXM4-40GB");
    EXPECT_TRUE(says(started("torchrun", on("", "P100", 8)), Verdict::refused, "no usual node"));
}

/// torchrun's --nnodes is 1 unless it is given; a variable or srun may say another.
TEST(Cluster, OfATorchrunWithoutNodesIsOneNode) {
    EXPECT_EQ(at(started("torchrun --nproc_per_node 8", on("dgx-h100")), "/strategy/data"), 8);
    EXPECT_EQ(at(started("python -m torch.distributed.run --nproc-per-node=4", on("dgx-h100")), "/strategy/data"), 4);
    for (const char* launcher : {"torchrun --nnodes=$N --nproc_per_node 8", "srun torchrun --nproc_per_node 8"})
        EXPECT_TRUE(says(started(launcher, on("dgx-h100")), Verdict::refused, "on how many GPUs")) << launcher;
}

TEST(Cluster, HasWhatTheUserSays) {
    const Imported read = started("torchrun --nnodes 1 --nproc_per_node 8", on("dgx-a100", "", 128));
    EXPECT_EQ(at(read, "/cluster/nodes"), 16);
    EXPECT_EQ(at(read, "/strategy/data"), 128);
    const Imported few = started("torchrun --nnodes 1 --nproc_per_node 2", on("dgx-a100"));
    EXPECT_EQ(at(few, "/cluster/nodes"), 1) << refusals(few);
    EXPECT_EQ(at(few, "/strategy/data"), 2);
}

TEST(Cluster, IsAskedFor) {
    const Imported read = started("torchrun --nnodes $NNODES", {});
    EXPECT_TRUE(says(read, Verdict::refused, "on which GPUs")) << refusals(read);
    EXPECT_TRUE(says(read, Verdict::refused, "on how many GPUs"));
    EXPECT_TRUE(says(started("torchrun --nnodes 1 --nproc_per_node 8", on("dgx-x")), Verdict::refused, "dgx-x"));
}

}  // namespace
}  // namespace orrery::doors
