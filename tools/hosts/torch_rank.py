"""One rank of the check with PyTorch: torch_rank.py measure|step FOLDER, started by torchrun's variables.

measure  the operations of a step in order (nothing is timed then), seconds of each distinct one by itself, and of
         gloo's all_reduce between the ranks
step     real steps under DistributedDataParallel"""
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

LAYERS, HIDDEN, HEADS, VOCAB, SEQ, BATCH = 6, 384, 6, 2048, 64, 1
COLD_BYTES = 96 << 20  # three times the last-level cache of the machine that this was written on
MEGABYTE = 1 << 20
SIZES = [MEGABYTE // 4, MEGABYTE, 4 * MEGABYTE, 16 * MEGABYTE, 32 * MEGABYTE]


class Block(nn.Module):
    """A GPT layer out of PyTorch's plain operations."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        self.qkv, self.out = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.up, self.down = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)
        self.mask = torch.ones(SEQ, SEQ).tril().view(1, 1, SEQ, SEQ) == 0  # no buffer: DDP would send it every step

    def forward(self, x):
        batch, seq, hidden = x.shape
        q, k, v = (t.view(batch, seq, HEADS, hidden // HEADS).transpose(1, 2)
                   for t in self.qkv(self.norm1(x)).split(hidden, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (hidden // HEADS) ** -0.5
        shares = F.softmax(scores.masked_fill(self.mask, float("-inf")), dim=-1)
        x = x + self.out((shares @ v).transpose(1, 2).contiguous().view(batch, seq, hidden))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCAB, HIDDEN), nn.Embedding(SEQ, HIDDEN)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, VOCAB, bias=False)

    def forward(self, ids, targets):
        x = self.words(ids) + self.places(torch.arange(SEQ))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).view(-1, VOCAB), targets.reshape(-1))


class Training:
    """Steps of the model under DDP with plain Adam, an operation for every line of its formula."""

    def __init__(self):
        torch.manual_seed(1)
        self.model = DistributedDataParallel(Gpt())
        self.adam = torch.optim.Adam(self.model.parameters(), foreach=False)
        self.ids = torch.randint(VOCAB, (BATCH, SEQ + 1))

    def step(self):
        self.adam.zero_grad(set_to_none=True)
        loss = self.model(self.ids[:, :-1], self.ids[:, 1:])
        loss.backward()
        self.adam.step()
        return loss.item()


def described(value):
    """What it takes to make the argument again: floats are drawn anew, integers are kept."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.is_floating_point():
        return ("tensor", tuple(value.shape), tuple(value.stride()))
    return value.clone()


class Trace(TorchDispatchMode):
    """Writes down every operation; `events` holds indices into `distinct`, and bytes of buckets as they leave."""

    def __init__(self):
        super().__init__()
        self.events, self.distinct, self.calls = [], {}, []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        flat, shape = tree_flatten((args, kwargs or {}))
        values = [described(v) for v in flat]
        key = str((str(function), str(shape), [v if not isinstance(v, torch.Tensor) else (v.shape, v.dtype)
                                               for v in values]))
        if key not in self.distinct:
            self.distinct[key] = len(self.calls)
            self.calls.append((function, values, shape))
        self.events.append(self.distinct[key])
        return function(*args, **(kwargs or {}))


def trace():
    """A step under DDP with one rank: the same buckets, and what leaves is noted instead of sent."""
    training = Training()
    recorded = Trace()

    def leave(_, bucket):
        recorded.events.append({"bytes": bucket.buffer().numel() * 4, "last": bucket.is_last()})
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    training.model.register_comm_hook(None, leave)
    for _ in range(3):  # DDP orders its buckets after the first step
        training.step()
    recorded.events.clear()
    with recorded:
        training.step()
    return recorded


def made(value):
    if not (isinstance(value, tuple) and len(value) == 3 and value[0] == "tensor"):
        return value.clone() if isinstance(value, torch.Tensor) else value
    _, shape, stride = value
    tensor = torch.empty_strided(shape, stride)
    return tensor.uniform_(0.5, 1.5)


def bytes_of(values):
    return sum(v.numel() * v.element_size() for v in values if isinstance(v, torch.Tensor))


def seconds_of(call, cold):
    """Median thread CPU time. cold: operands and results cycle through more memory than the caches hold."""
    function, values, shape = call
    sets = [[made(v) for v in values]]
    if cold:
        for _ in range(min(400, COLD_BYTES // max(bytes_of(sets[0]), 1))):
            sets.append([made(v) for v in values])
    arguments = [tree_unflatten(s, shape) for s in sets]
    kept, samples, spent = [None] * len(sets), [], 0.0
    for i in range(2000):
        args, kwargs = arguments[i % len(sets)]
        begin = time.thread_time()
        kept[i % len(sets)] = function(*args, **kwargs)
        samples.append(time.thread_time() - begin)
        spent += samples[-1]
        if i >= len(sets) + 8 and (spent > 0.15 or i > len(sets) + 200):
            break
    samples = samples[len(sets):] if len(samples) > len(sets) + 4 else samples
    return statistics.median(samples)


def all_reduce_seconds(size):
    """Wall seconds alone, and seconds of processor time that all of it takes on a host."""
    vector = torch.ones(size // 4)
    for _ in range(3):
        dist.all_reduce(vector)
    wall, used = [], time.process_time()
    for _ in range(15):
        dist.barrier()
        begin = time.perf_counter()
        dist.all_reduce(vector)
        wall.append(time.perf_counter() - begin)
    return {"bytes": size, "seconds": statistics.median(wall), "processor": (time.process_time() - used) / 15}


def measure():
    recorded = trace_alone()
    times = [(seconds_of(call, False), seconds_of(call, True)) for call in recorded.calls]
    return {"events": recorded.events, "names": [str(call[0]) for call in recorded.calls],
            "hot": [hot for hot, _ in times], "cold": [cold for _, cold in times],
            "all_reduce": [all_reduce_seconds(size) for size in SIZES]}


def trace_alone():
    """The trace needs a group of one: made beside that of all ranks."""
    groups = [dist.new_group([r]) for r in range(dist.get_world_size())]
    original = DistributedDataParallel.__init__

    def alone(self, module):
        original(self, module, process_group=groups[dist.get_rank()])

    DistributedDataParallel.__init__ = alone
    try:
        return trace()
    finally:
        DistributedDataParallel.__init__ = original


def step(count=14):
    training, samples = Training(), []
    for _ in range(count):
        dist.barrier()
        begin = time.perf_counter()
        training.step()
        samples.append(time.perf_counter() - begin)
    return {"seconds": samples[4:], "parameters": sum(p.numel() for p in training.model.parameters())}


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    result = {"measure": measure, "step": step}[sys.argv[1]]()
    with open(os.path.join(sys.argv[2], f"{sys.argv[1]}-{dist.get_rank()}.json"), "w", encoding="utf-8") as file:
        json.dump(result, file)
    dist.barrier()


main()
