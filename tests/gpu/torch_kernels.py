#!/usr/bin/env python3
"""What a framework's kernels take on a GPU, to hold imported tables against: tests/gpu/torch_kernels.py --json FILE

Medians in seconds, of operands that the cache does not hold (a buffer of twice its size is written before each
sample): fused attention of PyTorch's two libraries forward and backward, products in bf16 and fp8, grouped products,
memory-bound kernels, the optimizer's; and what launching takes the host. A kernel that this PyTorch lacks is noted with
its error."""
import argparse
import json
import pathlib
import statistics
import sys
import time

try:
    import torch
    from torch.nn import functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError:
    print("torch_kernels: PyTorch is missing", file=sys.stderr)
    sys.exit(77)

SAMPLES = 15
SECONDS = 0.15  # of samples, together
# batch, heads, heads of keys, tokens, width
ATTENTION = [(4, 12, 12, 1024, 64), (4, 16, 16, 1024, 64), (4, 16, 16, 2048, 128), (4, 32, 4, 2048, 64),
             (1, 96, 96, 2048, 128), (2, 32, 8, 4096, 128), (1, 32, 8, 8192, 128), (1, 64, 8, 8192, 128),
             (1, 32, 8, 16384, 128), (1, 8, 1, 32768, 128), (2, 16, 16, 4096, 192)]
# m, n, k
PRODUCTS = [(512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192),
            (4096, 2304, 768), (4096, 50304, 768), (8192, 6144, 2048), (8192, 8192, 2048), (8192, 2048, 8192),
            (2048, 36864, 12288), (2048, 12288, 49152), (16384, 4096, 4096), (8192, 28672, 8192)]
# experts, tokens of each, outputs, inputs
GROUPED = [(8, 2048, 2816, 1024), (8, 2048, 1024, 2816), (8, 1024, 14336, 4096), (32, 512, 2048, 4096),
           (64, 256, 1408, 2048)]
ROWS = [(4096, 768), (8192, 2048), (8192, 8192)]


class Bench:
    def __init__(self, device):
        self.device = device
        cache = torch.cuda.get_device_properties(device).L2_cache_size
        self.flush = torch.empty(2 * cache, dtype=torch.int8, device=device)
        self.seconds, self.failed = {}, {}

    def measure(self, name, call):
        """call(): queues the kernel. Its time lies between two events behind a write that empties the cache."""
        try:
            for _ in range(3):
                call()
            torch.cuda.synchronize()
            found, begun = [], time.perf_counter()
            while len(found) < 5 or (len(found) < SAMPLES and time.perf_counter() - begun < SECONDS):
                self.flush.zero_()
                first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                first.record()
                call()
                last.record()
                torch.cuda.synchronize()
                found.append(1e-3 * first.elapsed_time(last))
            self.seconds[name] = statistics.median(found)
        except Exception as error:  # whatever a version lacks
            self.failed[name] = str(error).splitlines()[0][:200]

    def random(self, *shape, dtype=torch.bfloat16, grad=False):
        return torch.randn(*shape, device=self.device).to(dtype).requires_grad_(grad)


def attention(bench):
    for batch, heads, kv, seq, width in ATTENTION:
        q = bench.random(batch, heads, seq, width, grad=True)
        k, v = (bench.random(batch, kv, seq, width, grad=True) for _ in range(2))
        grad = bench.random(batch, heads, seq, width)
        for library, backend in (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION)):
            name = f"attention {library} {batch}x{heads}/{kv}x{seq}x{width}"

            def forward():
                with sdpa_kernel(backend):
                    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=heads != kv)

            bench.measure(name + " forward", forward)
            try:
                out = forward()
            except Exception as error:
                bench.failed[name + " backward"] = str(error).splitlines()[0][:200]
                continue
            bench.measure(name + " backward", lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True))
            del out


def products(bench):
    one = torch.ones((), device=bench.device)
    for m, n, k in PRODUCTS:
        a, b = bench.random(m, k), bench.random(n, k)
        bench.measure(f"gemm bf16 {m}x{n}x{k}", lambda: a @ b.t())
        a8, b8 = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn).t()
        for fast in (True, False):
            bench.measure(f"gemm fp8{'' if fast else ' exact'} {m}x{n}x{k}", lambda: torch._scaled_mm(
                a8, b8, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast))
    for experts, tokens, n, k in GROUPED:
        a, b = bench.random(experts * tokens, k), bench.random(experts, n, k).transpose(-2, -1)
        ends = torch.arange(1, experts + 1, device=bench.device, dtype=torch.int32) * tokens
        bench.measure(f"grouped bf16 {experts}x{tokens}x{n}x{k}", lambda: torch._grouped_mm(a, b, offs=ends))


def memory_bound(bench):
    for rows, cols in ROWS:
        at = f"{rows}x{cols}"
        x, y = bench.random(rows, cols, grad=True), bench.random(rows, cols)
        weight, bias = (bench.random(cols, grad=True) for _ in range(2))
        plain = x.detach()
        for name, call in (("layernorm", lambda: F.layer_norm(x, (cols,), weight, bias)),
                           ("rmsnorm", lambda: F.rms_norm(x, (cols,), weight)),
                           ("gelu", lambda: F.gelu(x, approximate="tanh")),
                           ("softmax", lambda: F.softmax(x, -1))):
            bench.measure(f"{name} {at}", call)
            out = call()
            inputs = (x,) if name in ("gelu", "softmax") else (x, weight)
            bench.measure(f"{name}-backward {at}", lambda: torch.autograd.grad(out, inputs, y, retain_graph=True))
            del out
        bench.measure(f"add {at}", lambda: plain + y)
        bench.measure(f"copy {at}", lambda: plain.clone())
        bench.measure(f"cast {at}", lambda: plain.float())
        bench.measure(f"fp8-cast {at}", lambda: plain.to(torch.float8_e4m3fn))
    for rows, words in ((4096, 50304), (8192, 32000)):
        logits = bench.random(rows, words, dtype=torch.float32, grad=True)
        targets = torch.randint(words, (rows,), device=bench.device)
        bench.measure(f"cross-entropy {rows}x{words}", lambda: F.cross_entropy(logits, targets))
        loss = F.cross_entropy(logits, targets)
        bench.measure(f"cross-entropy-backward {rows}x{words}",
                      lambda: torch.autograd.grad(loss, logits, retain_graph=True))
        table = bench.random(words, 2048)
        bench.measure(f"embedding {rows}x2048 of {words}", lambda: F.embedding(targets, table))
        del logits, loss


def optimizer(bench):
    for elements, tensors in ((124_000_000, 148), (1_300_000_000, 290)):
        one = elements // tensors
        parameters = [torch.nn.Parameter(bench.random(one, dtype=torch.float32)) for _ in range(tensors)]
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        adam = torch.optim.AdamW(parameters, lr=1e-4, fused=True)
        bench.measure(f"adam fused {elements} in {tensors}", adam.step)
        grads = [parameter.grad for parameter in parameters]
        bench.measure(f"norm foreach {elements} in {tensors}", lambda: torch._foreach_norm(grads))
        del adam, parameters, grads
        torch.cuda.empty_cache()


def host(bench):
    """Seconds a launch: of the smallest kernels, queued faster than the queue fills."""
    x = torch.ones(16, device=bench.device)
    w = torch.ones(16, device=bench.device, requires_grad=True)
    layer = torch.nn.Linear(64, 64, device=bench.device, dtype=torch.bfloat16)
    rows = torch.ones(64, 64, device=bench.device, dtype=torch.bfloat16)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(100):
            x.add_(1)

    def chain():
        y = w
        for _ in range(100):
            y = y * 1.5
        y.sum().backward()

    for name, call, launches in (("add", lambda: [x.add_(1) for _ in range(200)], 200),
                                 ("linear", lambda: [layer(rows) for _ in range(200)], 200),
                                 ("autograd chain, forward and backward", chain, 200),
                                 ("graph of 100, a node", graph.replay, 100)):
        found = []
        for _ in range(20):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            call()
            found.append((time.perf_counter() - begin) / launches)
            torch.cuda.synchronize()
        bench.seconds[f"host {name}"] = statistics.median(found)
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(20):
        graph.replay()
    last.record()
    torch.cuda.synchronize()
    bench.seconds["device, a node of a graph"] = 1e-3 * first.elapsed_time(last) / 2000


def copies(bench):
    for mib in (1, 16, 256):
        host_side = torch.empty(mib << 20, dtype=torch.int8, pin_memory=True)
        here = torch.empty(mib << 20, dtype=torch.int8, device=bench.device)
        there = torch.empty_like(here)
        bench.measure(f"copy host to device {mib} MiB", lambda: here.copy_(host_side, non_blocking=True))
        bench.measure(f"copy device to host {mib} MiB", lambda: host_side.copy_(here, non_blocking=True))
        bench.measure(f"copy device to device {mib} MiB", lambda: there.copy_(here))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--json", metavar="FILE", required=True)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("torch_kernels: PyTorch finds no GPU", file=sys.stderr)
        return 77
    bench = Bench(torch.device(arguments.device))
    for part in (host, copies, products, attention, memory_bound, optimizer):
        begun = time.perf_counter()
        try:
            part(bench)
        except Exception as error:
            bench.failed[part.__name__] = str(error)[:300]
        print(f"torch_kernels: {part.__name__}: {time.perf_counter() - begun:.1f} s", flush=True)
        pathlib.Path(arguments.json).write_text(json.dumps({
            "device": torch.cuda.get_device_name(arguments.device), "pytorch": torch.__version__,
            "cudnn": torch.backends.cudnn.version(), "seconds": bench.seconds, "failed": bench.failed}, indent=1))
    print(f"torch_kernels: {len(bench.seconds)} measured, {len(bench.failed)} failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
