"""Rows of a report as columns of numbers."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy


def flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"a": {"b": 1}} -> {"a.b": 1}; lists are left out: they are tables of their own."""
    cells: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            cells.update(flat(value, f"{prefix}{key}."))
        elif not isinstance(value, list):
            cells[prefix + key] = value
    return cells


def columns(rows: Iterable[Mapping[str, Any]]) -> dict[str, numpy.ndarray]:
    """A NumPy array for each key of any row."""
    cells = [flat(row) for row in rows]
    names = list(dict.fromkeys(name for row in cells for name in row))
    parents = {name.rpartition(".")[0] for name in names}  # an object that is missing in some rows
    names = [name for name in names if name not in parents]
    return {name: array([row.get(name) for row in cells]) for name in names}


def array(values: Sequence[Any]) -> numpy.ndarray:
    """Numbers as int64 or float64, truths as bool; where one is missing it is NaN, "" or False."""
    import numpy

    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return numpy.array([bool(value) for value in values])
    if known and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        if len(known) == len(values) and all(isinstance(value, int) for value in known):
            return numpy.array(values, dtype=numpy.int64)
        return numpy.array([numpy.nan if value is None else value for value in values], dtype=numpy.float64)
    return numpy.array(["" if value is None else value for value in values], dtype=object)
