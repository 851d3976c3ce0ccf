"""One rank of the check with PyTorch: torch_rank.py measure|step FOLDER, started by torchrun's variables.

measure  the operations of a step in order (nothing is timed then), seconds of each distinct one by itself, and of
         gloo's all_reduce between the ranks
step     real steps under DistributedDataParallel"""
import json
import os
import statistics
import sys
import time
from collections import namedtuple

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

Size = namedtuple("Size", "layers hidden heads vocab seq batch")
SIZE = Size(6, 384, 6, 2048, 64, 1)
TINY = Size(6, 12, 6, 8, 2, 1)  # as many operations, whose arithmetic takes no time
COLD_BYTES = 96 << 20  # three times the last-level cache of the machine that this was written on
MEGABYTE = 1 << 20
BYTES = [MEGABYTE // 4, MEGABYTE, 4 * MEGABYTE, 16 * MEGABYTE, 32 * MEGABYTE]


class Block(nn.Module):
    """A GPT layer out of PyTorch's plain operations."""

    def __init__(self, size):
        super().__init__()
        hidden, self.heads = size.hidden, size.heads
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        # No buffer: DDP would send it every step.
        self.mask = torch.ones(size.seq, size.seq).tril().view(1, 1, size.seq, size.seq) == 0

    def forward(self, x):
        batch, seq, hidden = x.shape
        q, k, v = (t.view(batch, seq, self.heads, hidden // self.heads).transpose(1, 2)
                   for t in self.qkv(self.norm1(x)).split(hidden, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (hidden // self.heads) ** -0.5
        shares = F.softmax(scores.masked_fill(self.mask, float("-inf")), dim=-1)
        x = x + self.out((shares @ v).transpose(1, 2).contiguous().view(batch, seq, hidden))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.words, self.places = nn.Embedding(size.vocab, size.hidden), nn.Embedding(size.seq, size.hidden)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.norm, self.head = nn.LayerNorm(size.hidden), nn.Linear(size.hidden, size.vocab, bias=False)

    def forward(self, ids, targets):
        x = self.words(ids) + self.places(torch.arange(self.size.seq))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).view(-1, self.size.vocab), targets.reshape(-1))


class Training:
    """Steps of the model under DDP with plain Adam, an operation for every line of its formula."""

    def __init__(self, size=SIZE, group=None):
        torch.manual_seed(1)
        self.model = DistributedDataParallel(Gpt(size), process_group=group)
        self.adam = torch.optim.Adam(self.model.parameters(), foreach=False)
        self.ids = torch.randint(size.vocab, (size.batch, size.seq + 1))

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


def trace(size, alone):
    """A step under DDP with one rank: the same buckets, and what leaves is noted instead of sent."""
    training = Training(size, alone)
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


def framework_seconds(alone):
    """What Python, autograd and DDP take of a step besides its operations: a step of as many operations on tiny
    tensors, less these operations by themselves."""
    recorded = trace(TINY, alone)
    times = [seconds_of(call, False) for call in recorded.calls]
    operations = sum(times[event] for event in recorded.events if isinstance(event, int))
    training, samples = Training(TINY, alone), []
    for _ in range(40):
        begin = time.thread_time()
        training.step()
        samples.append(time.thread_time() - begin)
    return statistics.median(samples[10:]) - operations


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
    """Of an all_reduce: alone, beside products of matrices, and what these lose meanwhile: computing, copying and the
    network's interrupts share the processor."""
    vector, left, out = torch.ones(size // 4), torch.rand(64, 384), torch.empty(64, 384)
    right = torch.rand(384, 384)
    product = statistics.median(timed(lambda: torch.mm(left, right, out=out)) for _ in range(100))
    alone, beside, lost = [], [], []
    for i in range(18):
        dist.barrier()
        alone.append(timed(lambda: dist.all_reduce(vector)))
        dist.barrier()
        begin, products = time.perf_counter(), 0
        work = dist.all_reduce(vector, async_op=True)
        while not work.is_completed():
            torch.mm(left, right, out=out)
            products += 1
        beside.append(time.perf_counter() - begin)
        lost.append(max(0.0, beside[-1] - products * product))
    return {"bytes": size, "alone": statistics.median(alone[3:]), "beside": statistics.median(beside[3:]),
            "lost": statistics.median(lost[3:])}


def timed(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def measure():
    groups = [dist.new_group([rank]) for rank in range(dist.get_world_size())]
    alone = groups[dist.get_rank()]
    recorded = trace(SIZE, alone)
    times = [(seconds_of(call, False), seconds_of(call, True)) for call in recorded.calls]
    return {"events": recorded.events, "names": [str(call[0]) for call in recorded.calls],
            "hot": [hot for hot, _ in times], "cold": [cold for _, cold in times],
            "framework": framework_seconds(alone), "all_reduce": [all_reduce_seconds(size) for size in BYTES]}


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
