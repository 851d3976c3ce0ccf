#!/usr/bin/env python3
"""Host time of eager PyTorch for one GPT layer, per kernel of Orrery's step program.

Every tensor is tiny, so that what is timed is Python, the dispatcher and autograd, not arithmetic. The layer follows
Megatron-LM (transformer.py of 2021: bias and residual fused by a scripted function, random states forked around
dropout, activation checkpointing by torch.autograd.Function). Run with Debian's python3-torch:

    /usr/bin/python3 tools/host_overhead.py

It prints microseconds per layer and per kernel for forward and backward, without and with activation checkpointing,
and per parameter for counting zeros in gradients. What CUDA's launches take comes on top; hardware/README.md says what
is made of it.
"""
import contextlib
import time

import torch
import torch.nn.functional as F
from torch import nn

SEQUENCE, BATCH, HEADS, WIDTH = 4, 1, 2, 8
KERNELS_FORWARD = 14   # of one layer's forward block without tensor parallelism, unfused attention with dropout
KERNELS_BACKWARD = 27  # of its backward, without recomputation


@torch.jit.script
def bias_dropout_add(x: torch.Tensor, bias: torch.Tensor, residual: torch.Tensor, p: float) -> torch.Tensor:
    return residual + F.dropout(x + bias, p=p, training=True)


@torch.jit.script
def bias_gelu(bias: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = bias + y
    return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))


class RandomStates:
    """As CudaRNGStatesTracker: swaps to the tensor-parallel state around dropout."""

    def __init__(self):
        self.states = {"model-parallel": torch.get_rng_state()}

    @contextlib.contextmanager
    def fork(self, name="model-parallel"):
        if name not in self.states:
            raise KeyError(name)
        original = torch.get_rng_state()
        torch.set_rng_state(self.states[name])
        try:
            yield
        finally:
            self.states[name] = torch.get_rng_state()
            torch.set_rng_state(original)

    def copy(self):
        return {name: state for name, state in self.states.items()}


TRACKER = RandomStates()


class TensorRegion(torch.autograd.Function):
    """As mpu.mappings' copy to and reduce from the tensor-parallel region, whose all-reduce one rank skips."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class FusedNorm(torch.autograd.Function):
    """As apex's FusedLayerNormAffineFunction: a Python autograd function around one kernel each way."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        x, weight, bias = x.contiguous(), weight.contiguous(), bias.contiguous()
        output, mean, inverse = torch.native_layer_norm(x, (WIDTH,), weight, bias, 1e-5)
        ctx.save_for_backward(x, weight, bias, mean, inverse)
        return output

    @staticmethod
    def backward(ctx, gradient):
        x, weight, bias, mean, inverse = ctx.saved_tensors
        return torch.ops.aten.native_layer_norm_backward(
            gradient.contiguous(), x, (WIDTH,), mean, inverse, weight, bias, [True, True, True])


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        return FusedNorm.apply(x, self.weight, self.bias)


class ColumnParallel(nn.Module):
    def __init__(self, inputs, outputs, skip_bias=False):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.skip_bias = skip_bias

    def forward(self, x):
        x = TensorRegion.apply(x)
        bias = None if self.skip_bias else self.bias
        return F.linear(x, self.weight, bias), self.bias if self.skip_bias else None


class RowParallel(ColumnParallel):
    def forward(self, x):
        return TensorRegion.apply(F.linear(x, self.weight)), self.bias


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = Norm(), Norm()
        self.qkv = ColumnParallel(WIDTH, 3 * WIDTH)
        self.dense = RowParallel(WIDTH, WIDTH)
        self.up = ColumnParallel(WIDTH, 4 * WIDTH, True)
        self.down = RowParallel(4 * WIDTH, WIDTH)
        self.attention_dropout = nn.Dropout(0.1)

    def attention(self, x, mask):
        mixed, _ = self.qkv(x)
        mixed = mixed.view(*mixed.shape[:-1], HEADS, 3 * WIDTH // HEADS)
        query, key, value = torch.split(mixed, WIDTH // HEADS, dim=3)
        size = (query.size(1), query.size(2), query.size(0), key.size(0))
        query = query.reshape(size[2], size[0] * size[1], -1)
        key = key.reshape(size[3], size[0] * size[1], -1)
        scores = torch.empty(size[0] * size[1], size[2], size[3], dtype=query.dtype)
        key = key.transpose(0, 1).transpose(1, 2)
        scores = torch.baddbmm(scores, query.transpose(0, 1), key, beta=0.0, alpha=0.5)
        scores = scores.view(*size).masked_fill(mask, -10000.0)
        probabilities = torch.softmax(scores, dim=-1)
        with TRACKER.fork():
            probabilities = self.attention_dropout(probabilities)
        value = value.reshape(value.size(0), size[0] * size[1], -1)
        probabilities = probabilities.view(size[0] * size[1], size[2], -1)
        context = torch.bmm(probabilities, value.transpose(0, 1)).view(size[0], size[1], size[2], -1)
        context = context.permute(2, 0, 1, 3).contiguous()
        return self.dense(context.view(*context.shape[:-2], WIDTH))

    def forward(self, x, mask):
        attention, bias = self.attention(self.norm1(x), mask)
        x = bias_dropout_add(attention, bias.expand_as(x), x, 0.1)
        up, bias = self.up(self.norm2(x))
        down, down_bias = self.down(bias_gelu(bias, up))
        return bias_dropout_add(down, down_bias.expand_as(x), x, 0.1)


class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, *inputs):
        ctx.run, ctx.random_state, ctx.device_state = run, torch.get_rng_state(), torch.get_rng_state()
        ctx.tracker = TRACKER.copy()
        with torch.no_grad():
            output = run(*inputs)
        ctx.save_for_backward(*inputs)
        return output

    @staticmethod
    def backward(ctx, *gradients):
        inputs = [x.detach().requires_grad_(x.is_floating_point()) for x in ctx.saved_tensors]
        now, device_now, tracker_now = torch.get_rng_state(), torch.get_rng_state(), TRACKER.copy()
        torch.set_rng_state(ctx.random_state)
        torch.set_rng_state(ctx.device_state)
        TRACKER.states = ctx.tracker
        with torch.enable_grad():
            output = ctx.run(*inputs)
        torch.set_rng_state(now)
        torch.set_rng_state(device_now)
        TRACKER.states = tracker_now
        torch.autograd.backward((output,), gradients)
        return (None,) + tuple(x.grad for x in inputs)


def zeros_among(parameters):
    """As count_zeros_fp32 of Megatron-Core (optimizer/clip_grads.py), whose checks of a parameter are attributes."""
    total = torch.zeros(1, dtype=torch.int64)
    for parameter in parameters:
        gradient = parameter.main_grad
        if gradient is None or getattr(parameter, "shared", False) or not getattr(parameter, "unique", True):
            continue
        gradient = gradient.detach()
        zeros = gradient.numel() - torch.count_nonzero(gradient)
        total = zeros + total
    return total.item()


def layers_with_buffers():
    """Gradients are added to a main buffer by hooks, as in Megatron-LM's DistributedDataParallel."""
    layers = [Layer() for _ in range(12)]
    for layer in layers:
        for parameter in layer.parameters():
            parameter.main_grad = torch.zeros_like(parameter)
            accumulator = parameter.expand_as(parameter).grad_fn.next_functions[0][0]

            def accumulate(*_, p=parameter):
                if p.grad is not None:
                    p.main_grad.add_(p.grad)
                    p.grad = None

            accumulator.register_hook(accumulate)
            parameter.accumulator = accumulator
    return layers


def median_us(seconds):
    return 1e6 * sorted(seconds)[len(seconds) // 2]


def passes(layers, run):
    """Microseconds of a layer's forward and backward."""
    mask = torch.zeros(1, 1, SEQUENCE, SEQUENCE, dtype=torch.bool)
    forward, backward = [], []
    for step in range(60):
        x = torch.randn(SEQUENCE, BATCH, WIDTH, requires_grad=True)
        begin = time.thread_time()
        for layer in layers:
            x = run(layer, x, mask)
        middle = time.thread_time()
        x.sum().backward()
        end = time.thread_time()
        if step >= 10:
            forward.append((middle - begin) / len(layers))
            backward.append((end - middle) / len(layers))
    return median_us(forward), median_us(backward)


def counting(layers):
    """Microseconds of a parameter whose gradient's zeros are counted."""
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    counted = []
    for step in range(60):
        begin = time.thread_time()
        zeros_among(parameters)
        if step >= 10:
            counted.append((time.thread_time() - begin) / len(parameters))
    return median_us(counted)


def line(name, us, kernels, note=""):
    print(f"{name:32} {us:7.0f} us a layer  {us / kernels:5.1f} us a kernel{note}")


def main():
    torch.set_num_threads(1)
    layers = layers_with_buffers()
    forward, backward = passes(layers, lambda layer, x, mask: layer(x, mask))
    line("forward", forward, KERNELS_FORWARD)
    line("backward", backward, KERNELS_BACKWARD)
    line("both", forward + backward, KERNELS_FORWARD + KERNELS_BACKWARD)
    forward, backward = passes(layers, Checkpoint.apply)
    line("checkpointed: forward", forward, KERNELS_FORWARD)
    line("checkpointed: backward", backward - forward, KERNELS_BACKWARD, " (recompute taken off)")
    line("checkpointed: all", forward + backward, 2 * KERNELS_FORWARD + KERNELS_BACKWARD)
    print(f"zeros in gradients {counting(layers):7.1f} us a parameter")


if __name__ == "__main__":
    main()
