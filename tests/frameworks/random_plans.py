# SPDX-License-Identifier: Apache-2.0
"""Random plans of random models: a plain plan of a shipped model, and up to four changes of it."""
import os
import random
import re

LLAMA3 = 'llama3 factor=8 low_freq_factor=1 high_freq_factor=4 original_max_position_embeddings=8192'
YARN = 'yarn factor=40 original_max_position_embeddings=4096'

# A change is one of these values for a key, or for several at once.
CHANGES = {
    'overlap.tp': [0.5], 'overlap.gradients': [0.7], 'overlap.gradients overlap.parameters': [0.7, 0.7],
    'overlap.parameters': [0.7], 'overlap.ep': [0.5], 'graphs': ['layer', 'scoped', 'full'], 'optimizer': ['muon'],
    'precision.recipe': ['bf16', 'fp8_delayed', 'fp8_current', 'fp8_block', 'mxfp8', 'nvfp4'],
    'precision.fp8': ['true'], 'precision.weights': ['fp16', 'fp32'], 'precision.gradients': ['bf16', 'fp16'],
    'precision.gather precision.recipe': [('fp8', 'fp8_current'), ('fp8', 'fp8_block'), ('fp8', 'fp8_delayed')],
    'precision.first_last_bf16 precision.recipe': [(1, 'fp8_current'), (2, 'fp8_block'), (1, 'fp8_delayed')],
    'precision.attention_fp8 precision.recipe': [('true', 'fp8_current'), ('true', 'fp8_delayed')],
    'precision.optimizer': ['bf16', 'fp16', 'fp8'], 'precision.master': ['fp16'], 'precision.fused_wgrad': ['false'],
    'attention': ['unfused'], 'offload.optimizer': [0.37, 1], 'parallel.cp_method': ['alltoall', 'hierarchical'],
    'parallel.scatter_gather': ['false'], 'parallel.sequence_parallel': ['true', 'false'], 'batch.sequence': [4100],
    'recompute recomputed.layers': [('full', 0), ('full', 1), ('full', 2)],
    'recompute recomputed.attention': [('selective', 'true')], 'recompute recomputed.mlp': [('selective', 'true')],
    'recompute recomputed.moe': [('selective', 'true')], 'recompute recomputed.activation': [('selective', 'true')],
    'recompute recomputed.norms': [('selective', 'true')], 'recompute recomputed.latent': [('selective', 'true')],
    'recompute recomputed.shared_experts': [('selective', 'true')], 'parallel.layout': ['auto'],
    'parallel.first_stage_layers': [1, 2, 5], 'parallel.last_stage_layers': [1, 2, 5],
    'parallel.first_stage_layers parallel.last_stage_layers': [(1, 1), (2, 3)],
    'parallel.account_embedding': ['true'], 'parallel.account_loss': ['true'],
    'parallel.account_embedding parallel.account_loss': [('true', 'true')], 'parallel.order': ['tp-cp-ep-pp-dp'],
    'parallel.dispatcher': ['allgather', 'deepep', 'hybridep'], 'parallel.expert_tp': [1, 2],
    'parallel.zero': [0, 2, 3], 'parallel.virtual_stages': [2, 3], 'train.task': ['sft'],
}

# What a config.json says of a model; the second table of those with experts.
FACTS = {
    'qk_norm': ['true'], 'qkv_bias': ['true'], 'rope_base': ['1000000', '12345.5'], 'rope_share': ['0.5'],
    'norm_epsilon': ['1e-6'], 'zero_centered_norm': ['true'], 'init_std': ['0.02'], 'activation_clamp': ['7'],
    'activation': ['silu', 'gelu', 'relu2', 'quick_gelu', 'relu'], 'glu_offset': ['1'], 'rotary': ['false'],
    'mtp': ['1', '2'], 'gated_attention': ['true'], 'sinks': ['true'], 'bias': ['true', 'false'],
    'dropout': ['true', 'false'], 'tied': ['true', 'false'], 'norm': ['layer', 'rms'], 'kv_heads': ['1', '2', '8'],
    'positions': ['8192', '0'], 'layers': ['12', '30', '61'], 'gated': ['true', 'false'],
    'rope_scaling': [YARN, LLAMA3, 'linear factor=2'], 'vocabulary_multiple': ['128'],
}
EXPERT_FACTS = {
    'router_score': ['softmax', 'sigmoid', 'sqrtsoftplus'], 'router_bias': ['true'], 'router_scale': ['2.385'],
    'router_pre_softmax': ['true'], 'shared_gate': ['true'], 'router_balance_weight': ['0.001'],
    'router_balance': ['none', 'aux_loss', 'seq_aux_loss', 'global_aux_loss'], 'capacity_factor': ['1.25'],
    'top_k': ['1', '2'], 'moe_every': ['2'], 'dense_layers': ['1'], 'shared_ffn': ['1024'],
    'expert_groups top_groups': [('4', '2'), ('8', '4')], 'moe_latent': ['1024'],
}


def models(root):
    """{name: numbers of its file} of the shipped transformers."""
    folder = os.path.join(root, 'configs/models')
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding='utf-8') as file:
            text = file.read()
        if re.search('^heads:', text, re.M):
            found[name[:-5]] = {key: int(value) for key, value in re.findall(r'^(\w+): (?:\{.*value: )?(\d+)', text, re.M)}
    return found


def change(draw, sets, table, prefix=''):
    keys = draw.choice(sorted(table))
    values = draw.choice(table[keys])
    for key, value in zip(keys.split(' '), values if isinstance(values, tuple) else [values] * 2):
        sets[prefix + key] = value


def plan(draw, shipped):
    name = draw.choice(sorted(shipped))
    model = shipped[name]
    heads, layers, experts = model.get('heads', 32), model.get('layers', 12), model.get('experts', 0)
    tp = draw.choice([n for n in (1, 1, 2, 4, 8) if heads % n == 0 or draw.random() < 0.1])
    cp = draw.choice([1, 1, 1, 2, 4])
    pp = draw.choice([1, *[n for n in (2, 3, 4, 6, 8) if layers % n == 0 or draw.random() < 0.1]])
    chunks = draw.choice([1, 1, *[n for n in (2, 3, 4) if layers % (n * pp) == 0]]) if pp > 1 else 1
    dp = draw.choice([1, 2, 4, 8])
    micro, accumulation = draw.choice([1, 1, 2, 3]), draw.choice([pp, 2 * pp] if chunks > 1 else [1, 2, 3, pp])
    gpus = tp * cp * pp * dp
    sets = {
        'model': name, 'parallel.tp': tp, 'parallel.cp': cp, 'parallel.pp': pp, 'parallel.dp': dp,
        'parallel.virtual_stages': chunks, 'cluster.nodes': -(-gpus // 8), 'cluster.gpus_per_node': min(8, gpus),
        'parallel.sequence_parallel': str(tp > 1).lower(), 'parallel.zero': 1, 'recompute': 'none',
        'batch.micro': micro, 'batch.global': dp * micro * accumulation, 'overlap.gradients': 0,
        'overlap.parameters': 0, 'batch.sequence': draw.choice(
            [n for n in (512, 2048, 4096, 8192) if n <= (model.get('positions') or 8192)]),
    }
    if experts > 0:
        sets['parallel.dispatcher'] = draw.choice(['alltoall', 'alltoall', 'allgather', 'deepep', 'hybridep'])
        sets['parallel.ep'] = draw.choice([n for n in (1, 2, 4, 8) if dp * cp * tp % n == 0 and experts % n == 0])
    for _ in range(draw.choice([0, 1, 1, 2, 2, 3])):
        change(draw, sets, CHANGES)
    for _ in range(draw.choice([0, 0, 1, 2])):
        change(draw, sets, FACTS | (EXPERT_FACTS if experts > 0 else {}), 'model.')
    return sets


# Models that torchtitan has a flavor of.
FLAVORS = ('llama3', 'qwen3-8b', 'qwen3-30b', 'deepseek-v2', 'gpt-oss')


def plans(root, count, seed, has_flavors=False):
    """Each model once on its own, and random plans; `has_flavors`: of models that torchtitan knows."""
    shipped = {name: model for name, model in models(root).items() if not has_flavors or name.startswith(FLAVORS)}
    draw = random.Random(seed)
    alone = [{'model': name, 'parallel.zero': 1} for name in shipped]
    return alone + [plan(draw, shipped) for _ in range(count)]
