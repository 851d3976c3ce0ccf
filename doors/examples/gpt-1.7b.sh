#!/bin/bash
# GPT with 1.7 billion parameters (SC'21, table 1) on NNODES nodes of 8 GPUs.
#SBATCH --nodes=4
#SBATCH --gres=gpu:8

NNODES=${NNODES:-$SLURM_NNODES}
GPUS_PER_NODE=8
MICRO_BATCH=${MICRO_BATCH:-16}
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

LAUNCH_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NNODES
    --rdzv_backend c10d
    --rdzv_endpoint $MASTER_ADDR:29500
)

MODEL_ARGS=(
    --num-layers 24
    --hidden-size 2304
    --num-attention-heads 24
    --seq-length 2048
    --max-position-embeddings 2048
    --tokenizer-type GPT2BPETokenizer
)

TRAINING_ARGS=(
    --micro-batch-size $MICRO_BATCH
    --global-batch-size $(( MICRO_BATCH * GPUS_PER_NODE * 4 ))
    --train-iters 500000
    --lr 1.0e-4
    --lr-decay-style cosine
    --bf16
    --recompute-granularity selective  # attention alone
)

PARALLEL_ARGS=" \
    --tensor-model-parallel-size 1 \
    --pipeline-model-parallel-size 1 \
    --use-distributed-optimizer \
    --overlap-grad-reduce \
    "

if [[ "$GPUS_PER_NODE" -gt 4 ]]; then
    PARALLEL_ARGS+=" --overlap-param-gather"
fi

torchrun "${LAUNCH_ARGS[@]}" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" \
    "${TRAINING_ARGS[@]}" \
    $PARALLEL_ARGS \
    --data-path "$1" \
    --log-interval 10
