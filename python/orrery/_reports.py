"""Answers: dictionaries that can also be read, looked at and kept."""
from __future__ import annotations

import html
import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from orrery import _native, _tables

if TYPE_CHECKING:
    import numpy
    import pandas

FRAME_HEIGHT = 760  # pixels of a report in a notebook


class Report(dict):
    """What a command writes with --json, as a dictionary; print() shows what it prints, a notebook its page.

    A report can be pickled. What is asked of a copy in another process beyond the dictionary (its text, its page) is
    worked out there again.
    """

    _native_class: ClassVar[Callable[..., Any]]
    _rows: ClassVar[str] = ""

    def __init__(self, call: str, *question: Any) -> None:
        self._call, self._question = call, question
        self._kept: Any = self._ask()
        super().__init__(json.loads(self._kept.json()))

    def _ask(self) -> Any:
        asked = [each.native() if hasattr(each, "native") else each for each in self._question]
        return type(self)._native_class(*asked)

    @property
    def _answer(self) -> Any:
        if self._kept is None:
            self._kept = self._ask()
        return self._kept

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), self._call, self._question, dict(self))

    @property
    def json(self) -> str:
        """The text of this dictionary, byte for byte as the command writes it."""
        return self._answer.json()

    def text(self, columns: int = 0) -> str:
        """What the command prints, in tables of that many columns (0: as many as they take)."""
        return self._answer.text(columns)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{self._call}: {self._headline()}>"

    def _headline(self) -> str:
        return f"{len(self)} keys"

    @property
    def html(self) -> str:
        """The report as one page that needs nothing else, as --html writes it."""
        return self._answer.html(self._call)

    def _repr_html_(self) -> str:
        if not _native.has_page():
            return f"<pre>{html.escape(self.text())}</pre>"
        return (f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads allow-modals" '
                f'title="{html.escape(repr(self))}" style="width: 100%; height: {FRAME_HEIGHT}px; border: 0"></iframe>')

    def _forms(self) -> dict[str, Callable[[], str]]:
        return {".json": lambda: self.json, ".html": lambda: self.html, ".txt": self.text}

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the form that the file's ending names (.json, .html, .txt, of plans .csv), whole or not at all."""
        name, forms = os.fspath(file), self._forms()
        ending = os.path.splitext(name.removesuffix(".gz"))[1]
        if ending not in forms:
            raise ValueError(f"{name}: a report is written as {', '.join(forms)}, each also with .gz behind it")
        _native.write(name, forms[ending]())

    @property
    def columns(self) -> dict[str, numpy.ndarray]:
        """The report's main table: of each column its numbers (int64, float64, bool) or texts."""
        return _tables.columns(self[self._rows])

    def frame(self) -> pandas.DataFrame:
        """The same as a table of pandas, which must be installed."""
        import pandas

        return pandas.DataFrame(self.columns)


def _unpickled(kind: type[Report], call: str, question: tuple[Any, ...], content: dict[str, Any]) -> Report:
    report = kind.__new__(kind)
    report._call, report._question, report._kept = call, question, None
    report.update(content)
    return report


def _ranges(best: dict[str, Any] | None) -> dict[str, Any] | None:
    if best is None:
        return None
    return {key: dict(zip(("low", "high"), value)) if isinstance(value, list) else value for key, value in best.items()}


class Prediction(Report):
    """A predicted step: report/prediction.schema.json describes it. Its table has a row for each pipeline stage."""

    _native_class = _native.Prediction
    _rows = "stages"

    def _headline(self) -> str:
        fits = "" if self["fits"] else ", does not fit"
        return f"step {self['step_time_s']:.4g} s, MFU {100 * self['mfu']:.1f}%{fits}"

    def trace(self, file: str | os.PathLike[str]) -> str:
        """Writes the timeline as a Chrome trace (compressed when the name ends in .gz); what it left out, in words."""
        return self._answer.trace(os.fspath(file))


class Explanation(Report):
    """What one rank does. Its table has a row for each distinct kernel, the most expensive first."""

    _native_class = _native.Explanation
    _rows = "kernels"

    def _headline(self) -> str:
        return f"rank {self['rank']}, {len(self['kernels'])} kernels"

    def _forms(self) -> dict[str, Callable[[], str]]:
        return {".json": lambda: self.json, ".txt": self.text}

    @property
    def html(self) -> str:
        return f"<!DOCTYPE html><pre>{html.escape(self.text())}</pre>"


class Capacity(Report):
    """Clusters beside each other. Its table has a row for each candidate; ranges are two columns, .low and .high."""

    _native_class = _native.Capacity

    @property
    def columns(self) -> dict[str, numpy.ndarray]:
        return _tables.columns({**candidate, "best": _ranges(candidate["best"])} for candidate in self["candidates"])

    def _headline(self) -> str:
        return f"chosen: {self['chosen']}"
