# SPDX-License-Identifier: Apache-2.0
"""What results are compared with: scaled_dot_product_attention in fp64, on the inputs that the kernel received."""

import torch


def mask_of(seq_q, seq_kv):
    """The bottom-right causal mask, True where a key is visible."""
    return torch.ones(seq_q, seq_kv, dtype=torch.bool).tril(seq_kv - seq_q)


def attention(q, k, v, causal=False, scale=None, descales=(1.0, 1.0, 1.0)):
    """(o, lse) in fp64; tensors [B, S, H, D]. Rows that see no key give 0 and -inf."""
    q, k, v = (t.detach().to(torch.float32).double().transpose(1, 2) * d for t, d in zip((q, k, v), descales))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    mask = mask_of(q.shape[2], k.shape[2]) if causal else torch.ones(q.shape[2], k.shape[2], dtype=torch.bool)
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    o = torch.where(mask.any(-1)[:, None], o, 0.0)
    lse = (q @ k.transpose(-1, -2) * scale).masked_fill(~mask, float("-inf")).logsumexp(-1)
    return o.transpose(1, 2), lse


def relative_rms(value, wanted):
    return ((value.double() - wanted).norm() / wanted.norm()).item()


def draw(batch, seq_q, seq_kv, heads_q, heads_kv, dim=128, dtype=torch.bfloat16):
    shape_q, shape_kv = (batch, seq_q, heads_q, dim), (batch, seq_kv, heads_kv, dim)
    return tuple(torch.randn(s).to(dtype) for s in (shape_q, shape_kv, shape_kv))
