"""Three questions about Llama 3 70B, asked from Python: does it fit, which plan, which cluster.

A script of cells, as editors and `jupytext` take it for a notebook; there each report is shown as its page.
"""
# %% Does it fit? A plan of one's own, and what would make room.
import orrery

PLAN = dict(model="llama3-70b", cluster="dgx-h100", gpus=512, global_batch=512, seq_length=8192)
step = orrery.predict(**PLAN, tensor=8, sharding="zero1")
room = min(step["memory_capacity_bytes"] - peak for peak in step["peak_memory_bytes"])
print(f"fits: {step['fits']}, room on the fullest GPU: {room / 2**30:.1f} GiB")
print(*step["advice"], sep="\n")

# %% How does recomputation trade memory for time? A table of numbers, for pandas or a plot.
table = orrery.sweep(**PLAN, tensor=8, pipeline=4, sharding="zero1",
                     vary={"strategy.recompute": ["none", "selective", "full"], "training.micro_batch_size": [1, 2]})
columns = table.columns
for i in columns["rank"].argsort():
    print(f"{columns['strategy.recompute'][i]:10} micro-batch {columns['training.micro_batch_size'][i]}: "
          f"step {columns['step_time_s'][i]:.2f} s, {columns['memory_needed_bytes'][i] / 2**30:.0f} GiB, "
          f"{'fits' if columns['fits'][i] else 'does not fit'}")

# %% Which plan? The best of all of them.
found = orrery.search(**PLAN, top=3,
                      fix={"strategy.sharding": "zero1", "strategy.cpu_offloading_num_layers": 0})
best = found["best"][0]
print(f"{found['counts']['enumerated']} plans, proven: {found['proven']}; "
      f"the best: TP{best['strategy']['tensor']} PP{best['strategy']['pipeline']}, "
      f"step {best['step_time_s']:.2f} s, MFU {best['mfu']:.1%}")
found.predict()

# %% Which cluster? 2T tokens within 60 days, at prices that are examples.
answer = orrery.capacity({
    "name": "Llama 3 70B on 2T tokens in 60 days",
    "model": {"name": PLAN["model"]},
    "training": {"seq_length": 8192, "micro_batch_size": 1, "global_batch_size": 512},
    "tokens": "2T",
    "deadline": "60 days",
    "strategies": [{"tensor": 4, "pipeline": 8, "virtual_pipeline": 5, "sharding": "zero1", "sequence_parallel": True,
                    "overlap_grad_reduce": True}],
    "candidates": [{"name": f"{8 * nodes} {gpu}", "cluster": {"preset": preset, "nodes": nodes},
                    "costs": {"price_per_gpu_hour": 2.0}}
                   for nodes, gpu, preset in [(128, "A100", "dgx-a100"), (64, "H100", "dgx-h100")]],
})
for candidate in answer["candidates"]:
    low, high = candidate["best"]["days"]
    print(f"{candidate['name']}: {low:.0f} to {high:.0f} days, {candidate['binds']}")
print(f"take: {answer['chosen']}")
answer
