#!/usr/bin/env python3
"""The same training steps in plain PyTorch: an independent check of what a device does with a plan.

    tests/gpu/torch_steps.py PLAN.json... [--device cuda:0] [--ours FOLDER] [--json FILE] [--compile] [--host]

Takes plans of one rank as `orrery run --plan` writes them (GPT and Llama layers; fp32, tf32, bf16), trains on random
tokens and prints the fastest and the median step. --ours: a folder where `orrery-device run --out` left NAME.json (or
NAME.alone.json, of steps whose operations were not timed); the two are printed side by side. --json: every plan's
seconds; added to what the file holds. --compile: torch.compile of every block, as "NAME compiled". --host: what
queueing a step takes the host, and how many kernels it launches, as "NAME host". Attention is PyTorch's fused one
where it has one, Adam the fused one on a GPU.
bf16 is mixed precision as Megatron-LM's: bf16 parameters and activations, Adam on fp32 masters whose rounded copies are
the parameters, gradients summed over micro-batches in grad_reduce's format. They are summed by kernels of their own,
where ours add inside the product. Every loop over parameters is one of PyTorch's _foreach_ functions."""
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


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        if hasattr(F, "rms_norm"):
            return F.rms_norm(x, self.weight.shape, self.weight, 1e-5)
        return (x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.weight


def norm(model):
    width = model["hidden_size"]
    return nn.LayerNorm(width) if model["normalization"] == "layernorm" else RmsNorm(width)


def rotated(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def attention(q, k, v):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for t in (k, v))
    seq = q.shape[-2]
    mask = torch.ones(seq, seq, device=q.device).triu(1).bool()
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    return F.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ v


class Block(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m, kv = m, m["num_key_value_heads"] * m["head_dim"]
        inner, bias = m["num_attention_heads"] * m["head_dim"], m["add_bias_linear"]
        self.norm1, self.norm2 = norm(m), norm(m)
        self.qkv = nn.Linear(m["hidden_size"], inner + 2 * kv, bias=m["add_qkv_bias"])
        self.out = nn.Linear(inner, m["hidden_size"], bias=bias)
        self.up = nn.Linear(m["hidden_size"], m["intermediate_size"] * (2 if m["swiglu"] else 1), bias=bias)
        self.down = nn.Linear(m["intermediate_size"], m["hidden_size"], bias=bias)

    def forward(self, x, cos, sin):
        m, (batch, seq, _) = self.m, x.shape
        kv = m["num_key_value_heads"] * m["head_dim"]
        q, k, v = self.qkv(self.norm1(x)).split([m["num_attention_heads"] * m["head_dim"], kv, kv], dim=2)
        q, k, v = (t.view(batch, seq, -1, m["head_dim"]).transpose(1, 2) for t in (q, k, v))
        if m["position_embedding_type"] == "rope":
            q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        x = x + self.out(attention(q, k, v).transpose(1, 2).reshape(batch, seq, -1))
        y = self.up(self.norm2(x))
        if m["swiglu"]:
            gate, y = y.chunk(2, dim=-1)
            return x + self.down(F.silu(gate) * y)
        return x + self.down(F.gelu(y, approximate="tanh"))


class Model(nn.Module):
    def __init__(self, plan):
        super().__init__()
        m, seq = plan["model"], plan["training"]["seq_length"]
        self.m, self.recompute = m, plan["strategy"]["recompute"] == "full"
        vocab = -(-m["vocab_size"] // 128) * 128  # Megatron-LM's padding, as in the program
        self.words = nn.Embedding(vocab, m["hidden_size"])
        learned = m["position_embedding_type"] == "learned"
        self.places = nn.Embedding(m["max_position_embeddings"], m["hidden_size"]) if learned else None
        self.blocks = nn.ModuleList(Block(m) for _ in range(m["num_hidden_layers"]))
        self.norm, self.head = norm(m), nn.Linear(m["hidden_size"], vocab, bias=False)
        if m["tie_word_embeddings"]:
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
    if t["precision"] not in ("fp32", "tf32", "bf16"):
        return "this precision"
    if t["cuda_graph"] or not t["fused_attention"] or m["dropout"] or s["cpu_offloading_num_layers"]:
        return "a graph, unfused attention, dropout or offloading"
    if m["num_experts"] or m["post_norm"] or m["use_parallel_residual"] or m["qk_layernorm"]:
        return "this model"
    if m["position_embedding_type"] not in ("learned", "rope"):
        return "this model"
    if s["recompute"] == "selective":
        return "selective recomputation (PyTorch's fused attention does it by nature)"
    return None


def kernels_of(queue_step):
    """Kernels, copies and fills that a step puts on the device."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as trace:
        queue_step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    return sum(event.device_type != torch.autograd.DeviceType.CPU for event in trace.events())


def train(plan, device, compiled=False, host=None):
    """Seconds of each measured step. host: gets "queueing_s" of each, and the "kernels" of one more."""
    t, run = plan["training"], plan["run"]
    torch.manual_seed(run["seed"])
    torch.backends.cuda.matmul.allow_tf32 = t["precision"] == "tf32"
    with device:
        model = Model(plan)
    model.to(device)
    if compiled:
        for block in model.blocks:
            block.compile()
    half = t["precision"] == "bf16"
    parameters = list(model.parameters())
    weights = parameters
    singles = None
    if half:
        parameters = [p.detach().clone() for p in weights]
        sums = torch.float32 if t["grad_reduce_precision"] == "fp32" else torch.bfloat16
        totals = [torch.zeros_like(p, dtype=sums) for p in parameters]
        model.bfloat16()
    options = {"fused": True} if device.type == "cuda" else {}
    adam = torch.optim.AdamW(parameters, lr=run["rate"], betas=(run["b1"], run["b2"]), eps=run["epsilon"],
                             weight_decay=run["decay"], **options)
    vocab, count = plan["model"]["vocab_size"], t["global_batch_size"] // t["micro_batch_size"]
    ids = torch.randint(vocab, (count, t["micro_batch_size"], t["seq_length"] + 1), device=device)
    synchronize = torch.cuda.synchronize if device.type == "cuda" else (lambda: None)
    seconds = []

    def queue_step():
        nonlocal singles
        torch._foreach_zero_(totals) if half else adam.zero_grad(set_to_none=False)
        for batch in ids:
            (model(batch[:, :-1], batch[:, 1:]) / count).backward()
            if half:
                torch._foreach_add_(totals, [weight.grad for weight in weights])
                for weight in weights:
                    weight.grad = None
        if half:
            if sums == torch.float32:
                singles = totals
            elif singles is None:
                singles = [torch.empty_like(p) for p in parameters]
            if singles is not totals:
                torch._foreach_copy_(singles, totals)
            for master, single in zip(parameters, singles):
                master.grad = single
        if t["clip_grad"] > 0:
            torch.nn.utils.clip_grad_norm_(parameters, t["clip_grad"], foreach=True)
        adam.step()
        if half:
            with torch.no_grad():
                torch._foreach_copy_(weights, parameters)

    for step in range(run["steps"]):
        synchronize()
        begin = time.perf_counter()
        queue_step()
        queued = time.perf_counter()
        synchronize()
        if step >= run["warmup"]:
            seconds.append(time.perf_counter() - begin)
            if host is not None:
                host.setdefault("queueing_s", []).append(queued - begin)
    if host is not None:
        try:
            host["kernels"] = kernels_of(queue_step)
        except RuntimeError as error:  # a profiler that may not be used here
            host["kernels"] = None
            print(f"torch: no kernels counted: {error}", file=sys.stderr)
    return seconds


def ours(folder, name):
    """Median seconds of our measured steps, if they are there."""
    files = [pathlib.Path(folder, name + end) for end in (".alone.json", ".json")] if folder else []
    file = next((file for file in files if file.exists()), None)
    if file is None:
        return None
    measured = json.loads(file.read_text())
    return statistics.median(s["seconds"] for s in measured["steps"][measured["warmup"]:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plans", nargs="+", metavar="PLAN")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--ours", metavar="FOLDER")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--host", action="store_true")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    if device.type == "cpu":
        torch.set_num_threads(1)  # as orrery's CPU device
    elif not torch.cuda.is_available():
        print("torch_steps: PyTorch finds no GPU", file=sys.stderr)
        return 77
    kept = pathlib.Path(arguments.json) if arguments.json else None
    measured = json.loads(kept.read_text()) if kept and kept.exists() else {}
    for file in arguments.plans:
        plan = json.loads(pathlib.Path(file).read_text())
        reason = refuse(plan)
        if reason:
            print(f"torch: {plan['name']}: left out: {reason}")
            continue
        host = {} if arguments.host else None
        seconds = train(plan, device, arguments.compile, host)
        name = plan["name"] + (" compiled" if arguments.compile else "")
        text = f"torch: {name}: fastest step {1e3 * min(seconds):.3f} ms, median " \
               f"{1e3 * statistics.median(seconds):.3f} ms"
        own = ours(arguments.ours, plan["name"])
        if own:
            text += f"; ours {1e3 * own:.3f} ms, {statistics.median(seconds) / own:.2f} times as fast"
        if host:
            text += f"; host {1e3 * statistics.median(host['queueing_s']):.3f} ms for {host['kernels']} kernels"
            measured[name + " host"] = host
        print(text, flush=True)
        measured[name] = seconds
        if kept:
            kept.write_text(json.dumps(measured))
        if device.type == "cuda":
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
