#!/usr/bin/env python3
"""The same training steps in plain PyTorch: an independent check of what a device does with a plan.

    tests/gpu/torch_steps.py PLAN.json... [--device cuda:0] [--ours FOLDER]

Takes plans of one rank as `orrery run --plan` writes them (GPT and Llama layers; fp32, tf32, bf16), trains on random
tokens and prints the fastest and the median step. --ours: a folder where `orrery-device run --out` left NAME.json; the
two are printed side by side. Attention is PyTorch's fused one where it has one, Adam the fused one on a GPU.
bf16 is mixed precision as Megatron-LM's: bf16 parameters and activations, Adam on fp32 masters whose rounded copies are
the parameters, gradients summed over micro-batches in grad_reduce's format. They are summed by kernels of their own,
where ours add inside the product."""
import argparse
import json
import pathlib
import statistics
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.checkpoint import checkpoint
except ImportError:
    print("torch_steps: PyTorch is missing", file=sys.stderr)
    sys.exit(77)

# Numbers of the enumerations in a plan: kernels/kernel.hpp, models/model_spec.hpp, strategies/plan.hpp.
FP32, TF32, FP16, BF16 = range(4)
LAYERNORM, RMSNORM = range(2)
LEARNED, ROPE = range(2)
RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL = range(3)


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return (x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.weight


def norm(model):
    return nn.LayerNorm(model["hidden"]) if model["norm"] == LAYERNORM else RmsNorm(model["hidden"])


def rotated(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def attention(q, k, v):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    seq = q.shape[-2]
    mask = torch.ones(seq, seq, device=q.device).triu(1).bool()
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    return F.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ v


class Block(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m, kv = m, m["kv_heads"] * m["head_dim"]
        inner, bias = m["heads"] * m["head_dim"], m["linear_bias"]
        self.norm1, self.norm2 = norm(m), norm(m)
        self.qkv = nn.Linear(m["hidden"], inner + 2 * kv, bias=m["qkv_bias"])
        self.out = nn.Linear(inner, m["hidden"], bias=bias)
        self.up = nn.Linear(m["hidden"], m["ffn"] * (2 if m["gated"] else 1), bias=bias)
        self.down = nn.Linear(m["ffn"], m["hidden"], bias=bias)

    def forward(self, x, cos, sin):
        m, (batch, seq, _) = self.m, x.shape
        kv = m["kv_heads"] * m["head_dim"]
        q, k, v = self.qkv(self.norm1(x)).split([m["heads"] * m["head_dim"], kv, kv], dim=2)
        q, k, v = (t.view(batch, seq, -1, m["head_dim"]).transpose(1, 2) for t in (q, k, v))
        if m["position"] == ROPE:
            q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        if m["kv_heads"] < m["heads"]:
            k, v = (t.repeat_interleave(m["heads"] // m["kv_heads"], dim=1) for t in (k, v))
        x = x + self.out(attention(q, k, v).transpose(1, 2).reshape(batch, seq, -1))
        y = self.up(self.norm2(x))
        if m["gated"]:
            gate, y = y.chunk(2, dim=-1)
            return x + self.down(F.silu(gate) * y)
        return x + self.down(F.gelu(y, approximate="tanh"))


class Model(nn.Module):
    def __init__(self, plan):
        super().__init__()
        m, seq = plan["model"], plan["training"]["seq"]
        self.m, self.recompute = m, plan["strategy"]["recompute"] == RECOMPUTE_FULL
        vocab = -(-m["vocab"] // 128) * 128  # Megatron-LM's padding, as in the program
        self.words = nn.Embedding(vocab, m["hidden"])
        self.places = nn.Embedding(m["max_positions"], m["hidden"]) if m["position"] == LEARNED else None
        self.blocks = nn.ModuleList(Block(m) for _ in range(m["layers"]))
        self.norm, self.head = norm(m), nn.Linear(m["hidden"], vocab, bias=False)
        if m["tied_embeddings"]:
            self.head.weight = self.words.weight
        turn = torch.arange(seq)[:, None] * 10000.0 ** (-torch.arange(0, m["head_dim"], 2) / m["head_dim"])
        self.register_buffer("cos", turn.cos())
        self.register_buffer("sin", turn.sin())

    def forward(self, ids, targets):
        x = self.words(ids)
        if self.places is not None:
            x = x + self.places.weight[: ids.shape[1]]
        for block in self.blocks:
            x = checkpoint(block, x, self.cos, self.sin, use_reentrant=False) if self.recompute else block(
                x, self.cos, self.sin)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), targets.flatten())


def refuse(plan):
    """Why a plan is not for this script, or nothing."""
    m, s, t = plan["model"], plan["strategy"], plan["training"]
    if s["tensor"] * s["pipeline"] * s["data"] != 1:
        return "more than one rank"
    if t["compute"] not in (FP32, TF32, BF16):
        return "this precision"
    if m["experts"] or m["post_norm"] or m["parallel_residual"] or m["qk_norm"] or m["position"] not in (LEARNED, ROPE):
        return "this model"
    if s["recompute"] == RECOMPUTE_SELECTIVE:
        return "selective recomputation (PyTorch's fused attention does it by nature)"
    return None


def train(plan, device):
    """Seconds of each measured step."""
    t, run = plan["training"], plan["run"]
    torch.manual_seed(run["seed"])
    torch.backends.cuda.matmul.allow_tf32 = t["compute"] == TF32
    model = Model(plan).to(device)
    half = t["compute"] == BF16
    parameters = list(model.parameters())
    weights = parameters
    if half:
        parameters = [p.detach().clone() for p in weights]
        sums = torch.float32 if t["grad_reduce"] == FP32 else torch.bfloat16
        totals = [torch.zeros_like(p, dtype=sums) for p in parameters]
        model.bfloat16()
    options = {"fused": True} if device.type == "cuda" else {}
    adam = torch.optim.AdamW(parameters, lr=run["rate"], betas=(run["b1"], run["b2"]), eps=run["epsilon"],
                             weight_decay=run["decay"], **options)
    vocab, count = plan["model"]["vocab"], t["global_batch"] // t["micro_batch"]
    ids = torch.randint(vocab, (count, t["micro_batch"], t["seq"] + 1), device=device)
    synchronize = torch.cuda.synchronize if device.type == "cuda" else (lambda: None)
    seconds = []
    for step in range(run["steps"]):
        synchronize()
        begin = time.perf_counter()
        torch._foreach_zero_(totals) if half else adam.zero_grad(set_to_none=False)
        for batch in ids:
            (model(batch[:, :-1], batch[:, 1:]) / count).backward()
            if half:
                for total, weight in zip(totals, weights):
                    total += weight.grad
                    weight.grad = None
        if half:
            for master, total in zip(parameters, totals):
                master.grad = total.float()
        if t["grad_clip"] > 0:
            torch.nn.utils.clip_grad_norm_(parameters, t["grad_clip"])
        adam.step()
        if half:
            with torch.no_grad():
                for weight, master in zip(weights, parameters):
                    weight.copy_(master)
        synchronize()
        if step >= run["warmup"]:
            seconds.append(time.perf_counter() - begin)
    return seconds


def ours(folder, name):
    """Median seconds of our measured steps, if they are there."""
    file = pathlib.Path(folder, name + ".json") if folder else None
    if file is None or not file.exists():
        return None
    measured = json.loads(file.read_text())
    return statistics.median(s["seconds"] for s in measured["steps"][measured["warmup"]:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plans", nargs="+", metavar="PLAN")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--ours", metavar="FOLDER")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    if device.type == "cpu":
        torch.set_num_threads(1)  # as orrery's CPU device
    elif not torch.cuda.is_available():
        print("torch_steps: PyTorch finds no GPU", file=sys.stderr)
        return 77
    for file in arguments.plans:
        plan = json.loads(pathlib.Path(file).read_text())
        reason = refuse(plan)
        if reason:
            print(f"torch: {plan['name']}: left out: {reason}")
            continue
        seconds = train(plan, device)
        text = f"torch: {plan['name']}: fastest step {1e3 * min(seconds):.3f} ms, median " \
               f"{1e3 * statistics.median(seconds):.3f} ms"
        own = ours(arguments.ours, plan["name"])
        if own:
            text += f"; ours {1e3 * own:.3f} ms, {statistics.median(seconds) / own:.2f} times as fast"
        print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
