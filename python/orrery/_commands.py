"""The commands of `orrery` as functions."""
from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Union

from orrery import _inputs, _native
from orrery._inputs import Changes, ScenarioLike
from orrery._plans import Search, Sweep
from orrery._reports import Capacity, Explanation, Prediction

MOST_PLANS = 200_000  # of `orrery search --most`
Sizes = Union[str, int, "list[int]", None]


def call(name: str, scenario: ScenarioLike, **given: Any) -> str:
    """The words that ask the same again, for whoever reads a report."""
    words = [] if scenario is None else ["{...}" if isinstance(scenario, Mapping) else repr(os.fspath(scenario))]
    words += [f"{key}={value!r}" for key, value in given.items() if value is not None and value != {} and value != ()]
    return f"orrery.{name}({', '.join(words)})"


def predict(scenario: ScenarioLike = None, *, set: Changes = (), **keys: Any) -> Prediction:
    """Predicts one training step: `orrery simulate`.

    Raises Error for whatever makes the scenario impossible; one that does not fit into memory is an answer
    (`["fits"]`).
    """
    return Prediction(call("predict", scenario, set=set, **keys), _inputs.asked(scenario, set, keys))


def explain(scenario: ScenarioLike = None, *, rank: int = 0, set: Changes = (), **keys: Any) -> Explanation:
    """What one rank does in a step, and where the time of each kernel comes from: `orrery explain`.

    The dictionary holds `kernels` (text, count, seconds of one launch, flops, bytes, share of the step, source) and
    their `roof`; print() also shows the step program, the transfers and the profile's constants.
    """
    return Explanation(call("explain", scenario, rank=rank, set=set, **keys), _inputs.asked(scenario, set, keys),
                       _inputs.whole(rank, "rank", 0))


def sweep(scenario: ScenarioLike = None, *, vary: Mapping[str, Any], set: Changes = (), threads: int = 0,
          log: str | os.PathLike[str] = "", **keys: Any) -> Sweep:
    """Predicts every combination of some keys' values: `orrery sweep`.

    vary: {"strategy.tensor": [1, 2, 4], "gpus": "64..1024 x2"}; a text is a list or range as the command line takes it.
    threads: that simulate at once; 0: one for each core. log: a file that keeps what is done, so that the same call
    goes on after a kill.
    """
    return Sweep(call("sweep", scenario, vary=vary, set=set, **keys), _inputs.asked(scenario, set, keys),
                 _inputs.axes(vary), _inputs.whole(threads, "threads", 0), os.fspath(log))


def search(scenario: ScenarioLike = None, *, gpus: Sizes = None, gpu: Union[str, "list[str]", None] = None,
           objective: str = "step", fix: Changes = (), vary: Mapping[str, Any] | None = None,
           price: Mapping[str, float] | None = None, top: int = 10, idle: float = 0.125, most: int = MOST_PLANS,
           set: Changes = (), threads: int = 0, log: str | os.PathLike[str] = "", **keys: Any) -> Search:
    """Finds the best plans of a model on a cluster, and whether that is proven: `orrery search`.

    gpus, gpu: sizes of the cluster ("512..2048", [512, 1024]) and kinds of GPU. objective: what is least: step, time,
    cost or energy. fix, vary: keys held to a value, or to some. price: of a GPU-hour, by the GPU's name. idle: share of
    the GPUs that a plan may leave idle. most: simulate at most so many plans. threads, log: as in sweep().
    """
    wishes = _inputs.Wishes(_listed(gpus), _listed(gpu), objective, _inputs.settings(fix), _inputs.axes(vary or {}),
                            _inputs.settings(price or {}), _inputs.whole(top, "top", 1), float(idle))
    if not 0 <= idle <= 0.99:
        raise ValueError(f"idle={idle!r} is no share of the GPUs from 0 to 0.99")
    words = call("search", scenario, gpus=gpus, gpu=gpu, objective=objective, fix=fix, vary=vary, price=price, top=top,
                 set=set, **keys)
    return Search(words, _inputs.asked(scenario, set, keys), wishes, _inputs.whole(most, "most", 1),
                  _inputs.whole(threads, "threads", 0), os.fspath(log))


def _listed(values: Any) -> str | None:
    """512, ["A100", "H100"] or "512..2048" as the command line's list."""
    if values is None or isinstance(values, str):
        return values
    return ",".join(map(str, values)) if isinstance(values, (list, tuple)) else str(values)


def capacity(question: ScenarioLike, *, cache: str | os.PathLike[str] = "") -> Capacity:
    """Which cluster, how long and for how much: `orrery capacity`.

    question: a file or dictionary as scenarios/README.md describes it. cache: a file that keeps predictions, so that
    another price is answered at once.
    """
    file, document = _inputs.document_of(question, "question")
    return Capacity(call("capacity", question), file, document, os.fspath(cache))


def resolve(scenario: ScenarioLike = None, *, set: Changes = (), **keys: Any) -> dict[str, Any]:
    """The scenario with every value written out: a dictionary that predicts the same."""
    return json.loads(_inputs.asked(scenario, set, keys).native().resolved())
