#!/bin/bash
# Runs --num-layers 99 in a comment
GPUS_PER_NODE=8
NNODES=${NUM_NODES:-4}
TP=4
WORLD_SIZE=$(($GPUS_PER_NODE*$NNODES))
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NNODES
)
GPT_MODEL_ARGS=(
    --num-layers 96 
    --hidden-size 12288 
    --num-attention-heads 96 
    --seq-length 2048 
    --max-position-embeddings 2048 
    --attention-backend auto # Can use (flash/fused/unfused/local)
)
TRAINING_ARGS=(--micro-batch-size 1 --global-batch-size 1536 --rampup-batch-size 16 16 5859375 --train-iters 500000 --weight-decay 0.1 --fp16 --lr 6.0e-5 --recompute-granularity full --recompute-method uniform)
EXTRA="--untie-embeddings-and-output-weights --disable-bias-linear \
   --use-flash-attn"
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${GPT_MODEL_ARGS[@]} --tensor-model-parallel-size $TP --pipeline-model-parallel-size=8 \
    --split 949,50,1 --tokenizer-type GPT2BPETokenizer --brand-new-option 3 ${TRAINING_ARGS[@]} 2>&1 | tee log
