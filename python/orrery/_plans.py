"""Answers with many plans."""
from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from orrery import _native, _tables
from orrery._reports import Prediction, Report

if TYPE_CHECKING:
    import numpy


class Plans(Report):
    """Has its table as CSV too."""

    @property
    def csv(self) -> str:
        """The table as CSV, byte for byte as the command writes it."""
        return self._answer.csv()

    def _forms(self) -> dict[str, Callable[[], str]]:
        return {**super()._forms(), ".csv": lambda: self.csv}


class Sweep(Plans):
    """Every combination of some keys' values. Its table has a row for each point, in the order of the grid."""

    _native_class = _native.Sweep

    def _headline(self) -> str:
        counts = self["counts"]
        return f"{counts['points']} points, {counts['fit']} fit, {counts['illegal']} are no legal scenario"

    @property
    def columns(self) -> dict[str, numpy.ndarray]:
        """The varied keys, `rank` (1: the best), what came of each point, and `problem` where nothing could."""
        keys = [axis["key"] for axis in self["axes"]]
        rows = []
        for point in self["points"]:
            known = {key: value for key, value in point.items() if key != "values"}
            rows.append({**dict(zip(keys, map(number, point["values"]))), **known, "problem": point.get("problem")})
        return _tables.columns(rows)


class Search(Plans):
    """The best plans. Its table has a row for each of them, the best first, then those of the Pareto front."""

    _native_class = _native.Search

    def _headline(self) -> str:
        proven = "proven" if self["proven"] else "not proven"
        return f"{len(self['best'])} of {self['counts']['enumerated']} plans, {proven}"

    @property
    def columns(self) -> dict[str, numpy.ndarray]:
        """`rank`, the plan's strategy, what comes of it, and whether no other is faster and leaves more memory."""
        best = {plan["plan"] for plan in self["best"]}
        front = {plan["plan"] for plan in self["front"]}
        listed = [*self["best"], *(plan for plan in self["front"] if plan["plan"] not in best)]
        return _tables.columns({"rank": i + 1 if plan["plan"] in best else None, **plan,
                                "on_front": plan["plan"] in front} for i, plan in enumerate(listed))

    def changes(self, place: int = 0) -> list[str]:
        """What turns the scenario into one of the best plans: for `set`."""
        return list(self["best"][place]["set"])

    def predict(self, place: int = 0) -> Prediction:
        """The step of one of the best plans."""
        asked = self._question[0]
        changed = asked._replace(set=[*asked.set, *self.changes(place)])
        return Prediction(f"{self._call}.predict({place})", changed)


def number(text: str) -> Any:
    """A varied value: a number or truth where it is one, else its text."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return value if isinstance(value, (int, float)) else text
