#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a model of zeros in the form that llama.cpp loads, two layers of 64 and a token for each byte: gguf.py FILE."""
import math
import struct
import sys

LAYERS, WIDTH, HEADS, FEED, LENGTH = 2, 64, 4, 128, 64
TOKENS = ['<unk>', '<s>', '</s>'] + [f'<0x{byte:02X}>' for byte in range(256)]
UINT32, INT32, FLOAT, TEXT, ARRAY = 4, 5, 6, 8, 9
FORMS = {UINT32: '<I', INT32: '<i', FLOAT: '<f'}


def packed(kind, value):
    if kind == TEXT:
        return struct.pack('<Q', len(value)) + value.encode()
    return struct.pack(FORMS[kind], value)


def key(name, kind, value):
    head = packed(TEXT, name)
    if isinstance(value, list):
        return head + struct.pack('<IIQ', ARRAY, kind, len(value)) + b''.join(packed(kind, item) for item in value)
    return head + struct.pack('<I', kind) + packed(kind, value)


KEYS = [key('general.architecture', TEXT, 'llama'), key('llama.block_count', UINT32, LAYERS),
        key('llama.context_length', UINT32, LENGTH), key('llama.embedding_length', UINT32, WIDTH),
        key('llama.feed_forward_length', UINT32, FEED), key('llama.attention.head_count', UINT32, HEADS),
        key('llama.attention.layer_norm_rms_epsilon', FLOAT, 1e-5), key('llama.vocab_size', UINT32, len(TOKENS)),
        key('llama.rope.dimension_count', UINT32, WIDTH // HEADS), key('tokenizer.ggml.model', TEXT, 'llama'),
        key('tokenizer.ggml.tokens', TEXT, TOKENS), key('tokenizer.ggml.scores', FLOAT, [0.0] * len(TOKENS)),
        key('tokenizer.ggml.token_type', INT32, [2, 3, 3] + [6] * 256)]
LAYER = {'attn_norm': (WIDTH,), 'attn_q': (WIDTH, WIDTH), 'attn_k': (WIDTH, WIDTH), 'attn_v': (WIDTH, WIDTH),
         'attn_output': (WIDTH, WIDTH), 'ffn_norm': (WIDTH,), 'ffn_gate': (WIDTH, FEED), 'ffn_up': (WIDTH, FEED),
         'ffn_down': (FEED, WIDTH)}
TENSORS = {'token_embd': (WIDTH, len(TOKENS)), 'output_norm': (WIDTH,), 'output': (WIDTH, len(TOKENS))}
TENSORS.update({f'blk.{layer}.{name}': shape for layer in range(LAYERS) for name, shape in LAYER.items()})

head = struct.pack('<4sIQQ', b'GGUF', 3, len(TENSORS), len(KEYS)) + b''.join(KEYS)
offset = 0
for name, shape in TENSORS.items():
    head += packed(TEXT, name + '.weight') + struct.pack('<I', len(shape))
    head += struct.pack(f'<{len(shape)}QIQ', *shape, 0, offset)  # of type 0, 32 bits
    offset += -(-4 * math.prod(shape) // 32) * 32
with open(sys.argv[1], 'wb') as file:
    file.write(head + bytes(-len(head) % 32) + bytes(offset))
