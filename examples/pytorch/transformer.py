# SPDX-License-Identifier: Apache-2.0
"""A two-layer transformer whose attention is swapped by one import:

    from flash_attn import flash_attn_func                 # before
    from zyfa.compat.flash_attn import flash_attn_func     # after

Runs on a gfx950 GPU of a ROCm PyTorch, else on the simulator, and compares with PyTorch's own attention.
"""

import torch
from torch import nn

import zyfa
from zyfa.compat.flash_attn import flash_attn_func


def sdpa(q, k, v, causal):
    """PyTorch's attention on tensors [batch, sequence, heads, head_dim]."""
    group = q.shape[2] // k.shape[2]
    q, k, v = (t.transpose(1, 2) for t in (q, k.repeat_interleave(group, 2), v.repeat_interleave(group, 2)))
    return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2)


class Attention(nn.Module):
    def __init__(self, width, heads, heads_kv, function):
        super().__init__()
        self.heads, self.heads_kv, self.function = heads, heads_kv, function
        self.q = nn.Linear(width, heads * 128, bias=False)
        self.kv = nn.Linear(width, 2 * heads_kv * 128, bias=False)
        self.out = nn.Linear(heads * 128, width, bias=False)

    def forward(self, x):
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, self.heads, 128)
        k, v = self.kv(x).view(batch, length, 2, self.heads_kv, 128).unbind(2)
        return self.out(self.function(q, k, v, causal=True).flatten(2))


class Layer(nn.Module):
    def __init__(self, width, function):
        super().__init__()
        self.attention = Attention(width, 4, 2, function)
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.mlp(self.between(x))


class Transformer(nn.Module):
    def __init__(self, function=flash_attn_func, width=256, vocabulary=500):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(width, function) for _ in range(2))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def main():
    on_gpu = torch.version.hip is not None and torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    if not on_gpu:
        zyfa.use_simulator()
    torch.manual_seed(0)
    swapped = Transformer().to(device, torch.bfloat16).eval()
    plain = Transformer(sdpa).to(device, torch.bfloat16).eval()
    plain.load_state_dict(swapped.state_dict())
    tokens = torch.randint(500, (2, 150), device=device)
    with torch.inference_mode():
        ours, theirs = swapped(tokens).float(), plain(tokens).float()
    difference = ((ours - theirs).norm() / theirs.norm()).item()
    print(f"logits with zyfa's attention differ from PyTorch's by {difference:.2e} (relative RMS, both in BF16)")
    return difference


if __name__ == "__main__":
    main()
