# SPDX-License-Identifier: Apache-2.0
"""GPT-2 as a training script has it, with a switch for each way that PyTorch can run it.

gpt2.py MODE [--layers N] [--batch N] ...; the last line of each rank is its allocator's own report.
"""
import argparse
import contextlib
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width, heads, eager):
        super().__init__()
        self.heads, self.eager = heads, eager
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).split(self.out.in_features, dim=2))
        if self.eager:
            scores = (q @ k.transpose(-2, -1)) * (q.size(-1) ** -0.5)
            mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
            y = F.softmax(scores.masked_fill(~mask, float('-inf')), dim=-1) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, -1))

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.down(F.gelu(self.up(self.norm_2(x)), approximate='tanh'))


class Model(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.checkpointing = o.mode == 'checkpointing'
        self.tokens, self.places = nn.Embedding(o.vocabulary, o.width), nn.Embedding(o.length, o.width)
        self.blocks = nn.ModuleList(Block(o.width, o.heads, o.mode == 'eager') for _ in range(o.layers))
        self.norm = nn.LayerNorm(o.width)
        self.head = nn.Linear(o.width, o.vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointing else block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.view(-1))


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument('mode', choices=(
        'plain', 'autocast', 'eager', 'ddp', 'fsdp1', 'fsdp2', 'tensor', 'accumulation', 'checkpointing',
        'graphs', 'scaler', 'profiler'))
    for name, number in (('layers', 12), ('width', 768), ('heads', 12), ('vocabulary', 50304),
                         ('length', 1024), ('batch', 8), ('steps', 4)):
        parser.add_argument('--' + name, type=int, default=number)
    return parser.parse_args()


def distributed(o, model):
    dist.init_process_group('nccl')
    if o.mode == 'ddp':
        return nn.parallel.DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])
    if o.mode == 'fsdp1':
        import functools
        from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
        from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
        wrap = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})
        return FullyShardedDataParallel(
            model, auto_wrap_policy=wrap, device_id=torch.cuda.current_device(), use_orig_params=True,
            mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
    if o.mode == 'fsdp2':
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for block in model.blocks:
            fully_shard(block, mp_policy=policy)
        fully_shard(model, mp_policy=policy)
        return model
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    mesh = init_device_mesh('cuda', (dist.get_world_size(),))
    for block in model.blocks:
        parallelize_module(block, mesh, {'up': ColwiseParallel(), 'down': RowwiseParallel()})
    return model


def main():
    o = options()
    torch.manual_seed(2385)
    torch.backends.cuda.matmul.allow_tf32 = o.mode == 'plain'
    torch.cuda.set_device(int(os.environ.get('LOCAL_RANK', 0)))
    model = Model(o).cuda()
    if o.mode in ('ddp', 'fsdp1', 'fsdp2', 'tensor'):
        model = distributed(o, model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=o.mode not in ('eager', 'tensor'),
                                  foreach=False if o.mode == 'tensor' else None)
    scaler = torch.amp.GradScaler('cuda') if o.mode == 'scaler' else None
    casts = o.mode not in ('plain', 'fsdp1', 'fsdp2')
    kind = torch.float16 if scaler else torch.bfloat16

    tokens = torch.randint(0, o.vocabulary, (o.batch, o.length), device='cuda')
    targets = torch.randint(0, o.vocabulary, (o.batch, o.length), device='cuda')

    def passes(parts=1):
        for _ in range(parts):
            with torch.autocast('cuda', dtype=kind) if casts else contextlib.nullcontext():
                loss = model(tokens, targets)
            (scaler.scale(loss) if scaler else loss).backward()
        return loss

    graph = None
    if o.mode == 'graphs':
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            passes()
        torch.cuda.current_stream().wait_stream(side)
        optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            passes()
    profiler = torch.profiler.profile() if o.mode == 'profiler' else contextlib.nullcontext()
    with profiler:
        for _ in range(o.steps):
            if graph is not None:
                graph.replay()
            else:
                loss = passes(4 if o.mode == 'accumulation' else 1)
            if scaler:
                scaler.step(optimizer)
                scaler.update()
            else:
                if o.mode != 'tensor':
                    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            if graph is None:
                optimizer.zero_grad(set_to_none=True)
                loss.item()
    torch.cuda.synchronize()
    print('peak', torch.cuda.max_memory_reserved(), torch.cuda.max_memory_allocated(), flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()


main()
