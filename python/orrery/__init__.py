"""Orrery predicts how the training of a large model will run on a cluster.

    import orrery

    step = orrery.predict("gpt3-175b-superpod-a100", set={"strategy.recompute": "selective"})
    step["mfu"], step["fits"]           # a dictionary: what `orrery simulate --json` writes
    print(step)                         # the report as text; a notebook shows the page

    table = orrery.sweep("gpt-1.7b-dgx-a100", vary={"strategy.tensor": [1, 2, 4, 8]})
    table.columns["tokens_per_s"]       # NumPy arrays; table.frame() is a pandas.DataFrame

    found = orrery.search(model="llama3-70b", cluster="dgx-h100", gpus=512, global_batch=512, seq_length=8192)
    found.predict()                     # the best plan's step

A scenario is a file's path, the name of a shipped one (`scenarios()`), a dictionary with a scenario's keys, or, without
any of them, the usual keys as arguments: model, hf, cluster, gpu, gpus, nodes, tensor, context, pipeline,
virtual_pipeline, data, expert, sharding, recompute, micro_batch, global_batch, seq_length, precision, tokens. `set`
changes any key of it, as --set does on the command line.

Work runs in this process, without the interpreter's lock: threads go on meanwhile, and predict side by side. Ctrl-C
ends it. Input that is wrong raises Error, with the text of the command line's message.
"""

from orrery._commands import capacity, explain, predict, resolve, search, sweep
from orrery._native import Error, clusters, gpus, models, scenarios
from orrery._native import version as __version__
from orrery._plans import Search, Sweep
from orrery._reports import Capacity, Explanation, Prediction, Report

__all__ = ["Capacity", "Error", "Explanation", "Prediction", "Report", "Search", "Sweep", "__version__", "capacity",
           "clusters", "explain", "gpus", "models", "predict", "resolve", "scenarios", "search", "sweep"]
