#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The model of a config.json in Megatron-Bridge's own provider and in an exported launch: providers.py PROGRAM ROOT.

providers.json has, for published models, fields of config.json, the class of Megatron-Bridge 0.6 that reads them, and
the fields of the provider that it makes; "own" lists those that the class chooses whatever config.json says. An export
has to say the same of each field. BRIDGE=FOLDER and MEGATRON=FOLDER, source trees of Megatron-Bridge 0.6 and Megatron
core 0.19, check the facts as well; --update writes them. Prints TAP.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

FIELDS = '''num_layers hidden_size ffn_hidden_size num_attention_heads num_query_groups kv_channels normalization
    layernorm_epsilon layernorm_zero_centered_gamma add_bias_linear add_qkv_bias gated_linear_unit activation_func
    activation_func_clamp_value glu_linear_offset qk_layernorm share_embeddings_and_output_weights vocab_size init_method_std
    attention_dropout position_embedding_type rotary_base rotary_percent rope_scaling rope_scaling_factor softmax_type
    window_size window_attn_skip_freq attention_output_gate num_moe_experts moe_ffn_hidden_size moe_router_topk
    moe_layer_freq moe_shared_expert_intermediate_size moe_shared_expert_gate moe_router_score_function
    moe_router_pre_softmax moe_router_enable_expert_bias moe_router_topk_scaling_factor moe_router_num_groups
    moe_router_group_topk moe_router_load_balancing_type moe_aux_loss_coeff q_lora_rank kv_lora_rank qk_head_dim
    qk_pos_emb_head_dim v_head_dim rotary_scaling_factor mscale mscale_all_dim yarn_rotary_scaling_factor
    yarn_original_max_position_embeddings mtp_num_layers experimental_attention_variant linear_attention_freq
    linear_num_key_heads linear_num_value_heads linear_key_head_dim linear_value_head_dim mamba_num_heads mamba_head_dim
    mamba_state_dim mamba_num_groups hybrid_override_pattern'''.split()
SEQUENCE = 4096

# Fields that mean something where another one is set.
NEEDS = {'rope_scaling_factor': 'rope_scaling', 'moe_router_topk_scaling_factor': 'num_moe_experts',
         'glu_linear_offset': 'activation_func_clamp_value'}
NEEDS |= {field: 'kv_lora_rank' for field in FIELDS if field.startswith(('mscale', 'rotary_scaling'))}
NEEDS |= {field: 'num_moe_experts' for field in FIELDS if field.startswith('moe_')}
NEEDS |= {field: 'linear_attention_freq' for field in FIELDS if field.startswith('linear_') and field != 'linear_attention_freq'}
NEEDS |= {field: 'hybrid_override_pattern' for field in FIELDS if field.startswith('mamba_')}


def repeated(frequency, layers, other):
    """Every so many layers as a list."""
    if not isinstance(frequency, int):
        return frequency
    return [1 - other if (i + 1) % frequency == 0 else other for i in range(layers)]


def settled(fields):
    """Two ways to say the same become one."""
    of = dict(fields)
    of['hybrid_override_pattern'] = of.get('hybrid_override_pattern') or of.get('hybrid_layer_pattern')
    of['kv_channels'] = of.get('kv_channels') or of['hidden_size'] // of['num_attention_heads']
    of['num_query_groups'] = of.get('num_query_groups') or of['num_attention_heads']
    of['add_qkv_bias'] = bool(of.get('add_qkv_bias') or of.get('add_bias_linear', True))
    of['moe_ffn_hidden_size'] = of.get('moe_ffn_hidden_size') or of['ffn_hidden_size']
    window = of.get('window_size')
    if window is not None and window[0] + 1 >= SEQUENCE:
        of['window_size'] = None
    if of.get('window_size') is None:
        of['window_attn_skip_freq'] = None
    of['window_attn_skip_freq'] = repeated(of.get('window_attn_skip_freq'), of['num_layers'], 1)
    of['linear_attention_freq'] = repeated(of.get('linear_attention_freq'), of['num_layers'], 1)
    of['moe_layer_freq'] = repeated(of.get('moe_layer_freq') or 1, of['num_layers'], 0)
    for field in ('moe_router_num_groups', 'moe_router_group_topk'):
        of[field] = of.get(field) or 1
    if of.get('moe_router_score_function') != 'softmax':
        of['moe_router_pre_softmax'] = None  # of weights that the scores' sum divides
    if of['hybrid_override_pattern']:
        of['moe_layer_freq'] = None
    for field in ('multi_latent_attention', 'mtp_num_layers', 'activation_func_clamp_value', 'rope_scaling',
                  'moe_router_topk_scaling_factor', 'hybrid_override_pattern', 'moe_router_load_balancing_type'):
        of[field] = of.get(field) or None
    for field, other in NEEDS.items():
        if not of.get(other):
            of[field] = None
    return {field: of.get(field) for field in FIELDS}


def value_of(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def exported(program, config, folder):
    """Fields of the model in the launch of a config.json; a text says why there is none."""
    path, job = os.path.join(folder, 'config.json'), os.path.join(folder, 'job.yaml')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(config, file)
    plan = ['batch.micro=1', 'parallel.dp=8', 'parallel.zero=1', 'recompute=none', 'overlap.ep=0', 'cluster.nodes=1']
    steps = [['import', 'hf', path, '--cluster', 'dgx-h100', '--set', f'batch.sequence={SEQUENCE}', '--set', 'batch.global=64',
              '-o', job],
             ['export', 'megatron-bridge', job, '--stack', 'megatron-bridge', '--target-version', '0.6',
              *[word for one in plan for word in ('--set', one)]]]
    for words in steps:
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done.stderr
    model = done.stdout.split('\nmodel:\n')[1].split('\ndataset:')[0]
    return dict((name, value_of(text)) for name, text in re.findall(r'^  (\w+): (.*)$', model, re.M))


def facts_of(entries, bridge, megatron):
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run([sys.executable, '-W', 'ignore', '-B', os.path.join(here, 'bridge_provider.py'), bridge, megatron],
                          input=json.dumps(entries), capture_output=True, text=True, check=True)
    return {model: {field: value for field, value in settled(fields).items() if value is not None}
            for model, fields in json.loads(done.stdout.splitlines()[-1]).items()}


def main():
    program, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    path = os.path.join(root, 'tests/frameworks/providers.json')
    with open(path, encoding='utf-8') as file:
        entries = json.load(file)
    real = facts_of(entries, os.environ['BRIDGE'], os.environ['MEGATRON']) if 'BRIDGE' in os.environ else {}
    if '--update' in sys.argv:
        for model, facts in real.items():
            entries[model]['provider'] = facts
        with open(path, 'w', encoding='utf-8') as file:
            lines = [f'{json.dumps(model)}: {{\n' + ',\n'.join(
                f'  {json.dumps(key)}: {json.dumps(value)}' for key, value in entry.items()) + '}'
                for model, entry in entries.items()]
            file.write('{\n' + ',\n'.join(lines) + '\n}\n')
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for index, (model, entry) in enumerate(entries.items()):
            fields = exported(program, entry['config'], folder)
            faults = [fields] if isinstance(fields, str) else []
            if not faults:
                wanted, got = entry['provider'], settled(fields)
                faults = [f'{field}: {got[field]}, its provider has {wanted.get(field)}' for field in FIELDS
                          if got[field] != wanted.get(field) and field not in entry.get('own', [])]
            if real and real[model] != entry['provider']:
                faults.append('Megatron-Bridge itself says otherwise: run with --update')
            bad += bool(faults)
            print(f"{'not ok' if faults else 'ok'} {index + 1} - {model}: {len(entry['provider'])} fields")
            for fault in faults:
                print('# ' + fault.replace('\n', '\n# '))
    print(f'1..{len(entries)}')
    return 1 if bad else 0


sys.exit(main())
