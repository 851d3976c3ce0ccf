#!/usr/bin/env python3
"""Host time of DeepSpeed's hooks around a model's modules under ZeRO-3, for each linear layer.

Every tensor is tiny and every collective done at once, so that what is timed is Python: fetching and releasing
parameters, autograd's functions around modules, buckets of gradients. Layers are as Hugging Face's Llama has them: 14
modules, of which seven are linear; norms stay on every rank (stage3_param_persistence_threshold). Run with Debian's
python3-torch, python3-pydantic, python3-cpuinfo and python3-packaging and a source tree of DeepSpeed 0.14:

    /usr/bin/python3 tools/module_hooks.py DEEPSPEED

It prints, for a layer forward and backward, microseconds of one thread without and with DeepSpeed, and the difference
for each linear layer in calls of torch.nn.Linear; without and with activation checkpointing. hardware/README.md says
what is made of it.
"""
import json
import os
import sys
import time
import types

import torch
import torch.multiprocessing
from torch import nn
from torch.utils.checkpoint import checkpoint

WIDTH, HEADS, TOKENS = 16, 2, 4
LINEARS = 7  # of a layer
RANKS = 2
FEW, MANY = 2, 10  # layers of the two models whose difference is a layer
STEPS, FIRST = 60, 3


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        scaled = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * scaled.to(x.dtype)


class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("angles", torch.ones(TOKENS, WIDTH // HEADS))

    def forward(self, x):
        return self.angles.cos().to(x.dtype), self.angles.sin().to(x.dtype)


def turned(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), -1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.rotary = Rotary()

    def forward(self, x):
        shape = (*x.shape[:2], HEADS, WIDTH // HEADS)
        query, key, value = (of(x).view(shape).transpose(1, 2) for of in (self.query, self.key, self.value))
        cos, sin = self.rotary(value)
        query, key = (of * cos + turned(of) * sin for of in (query, key))
        shares = torch.softmax(query @ key.transpose(2, 3), -1)
        return self.output((shares @ value).transpose(1, 2).reshape(x.shape))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up = (nn.Linear(WIDTH, 2 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        self.activation = nn.SiLU()

    def forward(self, x):
        return self.down(self.activation(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.mlp, self.norm1, self.norm2 = Attention(), Mlp(), Norm(), Norm()

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, layers, recompute):
        super().__init__()
        self.layers, self.recompute = nn.ModuleList(Layer() for _ in range(layers)), recompute

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=True) if self.recompute else layer(x)
        return x.sum()


def settings():
    """Buckets as Hugging Face's "auto" makes them of a hidden size."""
    return {"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 1 << 20,
            "zero_allow_untested_optimizer": True,
            "zero_optimization": {"stage": 3, "overlap_comm": True, "contiguous_gradients": True,
                                  "reduce_bucket_size": WIDTH * WIDTH,
                                  "stage3_prefetch_bucket_size": int(0.9 * WIDTH * WIDTH),
                                  "stage3_param_persistence_threshold": 10 * WIDTH}}


class Done:
    def wait(self):
        pass


def without_traffic(backend):
    """Collectives of floats are done at once; those of the numbers that ranks compare run."""
    def at_once(self, output_tensor, *_, **__):
        return Done()

    def unless_float(real):
        return lambda self, tensor, *a, **k: Done() if tensor.is_floating_point() else real(self, tensor, *a, **k)

    backend.all_gather_into_tensor = backend.reduce_scatter_tensor = at_once
    backend.broadcast, backend.all_reduce = unless_float(backend.broadcast), unless_float(backend.all_reduce)


def imported(tree):
    sys.path.insert(0, tree)
    sys.modules["hjson"] = types.SimpleNamespace(load=json.load, loads=json.loads)
    import logging
    logging.disable(logging.CRITICAL)
    import deepspeed
    comm = sys.modules["deepspeed.comm.torch"]
    comm.build_shm_op = lambda: None
    deepspeed.init_distributed(dist_backend="gloo")
    without_traffic(comm.TorchBackend)
    return deepspeed


def seconds(forward, backward):
    begin = time.thread_time()
    loss = forward(torch.ones(1, TOKENS, WIDTH, requires_grad=True))
    middle = time.thread_time()
    backward(loss)
    return middle - begin, time.thread_time() - middle


def undisturbed(times):
    return sorted(times)[len(times) // 10]


def measure(rank, tree, recompute, answer):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29577", RANK=str(rank), LOCAL_RANK=str(rank),
                      WORLD_SIZE=str(RANKS), LOCAL_SIZE=str(RANKS), DS_ACCELERATOR="cpu")
    torch.set_num_threads(1)
    deepspeed = imported(tree)
    cases = {}
    for layers in (FEW, MANY):
        plain, model = Model(layers, recompute), Model(layers, recompute)
        engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters()),
                                          config=settings())
        cases["plain", layers] = (plain, torch.Tensor.backward)
        cases["zero3", layers] = (engine, engine.backward)
    times, linears, linear = {case: [] for case in cases}, [], nn.Linear(WIDTH, WIDTH)
    for _ in range(STEPS):
        for case, run in cases.items():
            times[case] += [seconds(*run) for _ in range(2)]
        tokens = torch.ones(TOKENS, WIDTH, requires_grad=True)
        begin = time.thread_time()
        for _ in range(100):
            linear(tokens)
        linears.append((time.thread_time() - begin) / 100)
    way = {case: [undisturbed(part) for part in zip(*of[FIRST:])] for case, of in times.items()}
    layer = {kind: [(many - few) / (MANY - FEW) for many, few in zip(way[kind, MANY], way[kind, FEW])]
             for kind in ("plain", "zero3")}
    if rank == 0:
        answer.put((layer, undisturbed(linears)))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    context = torch.multiprocessing.get_context("spawn")
    for recompute in (False, True):
        answer = context.SimpleQueue()
        ranks = [context.Process(target=measure, args=(rank, sys.argv[1], recompute, answer)) for rank in range(RANKS)]
        for rank in ranks:
            rank.start()
        layer, linear = answer.get()
        for rank in ranks:
            rank.join()
        for number, way in enumerate(("forward", "backward")):
            plain, hooked = layer["plain"][number], layer["zero3"][number]
            print(f"{'checkpointed: ' if recompute else ''}{way:9} {plain * 1e6:7.0f} us a layer, {hooked * 1e6:7.0f} "
                  f"with ZeRO-3: {(hooked - plain) / LINEARS / linear:5.1f} of torch.nn.Linear's {linear * 1e6:.1f} us "
                  "for each linear layer")


if __name__ == "__main__":
    main()
