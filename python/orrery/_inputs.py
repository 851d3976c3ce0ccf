"""What users hand in, as the native module takes it: text."""
from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Union

from orrery import _native

ScenarioLike = Union[str, os.PathLike, Mapping[str, Any], None]
Changes = Union[Mapping[str, Any], Iterable[str]]


class Asked(NamedTuple):
    """The arguments of a native Request; they can be pickled."""

    file: str
    document: str | None
    set: list[str]
    keys: dict[str, str]
    gpus: int

    def native(self) -> _native.Request:
        return _native.Request(*self)


class Wishes(NamedTuple):
    """The arguments of native SearchWishes."""

    gpus: str | None
    gpu: str | None
    objective: str
    fix: list[str]
    vary: list[str]
    price: list[str]
    top: int
    idle: float

    def native(self) -> _native.SearchWishes:
        return _native.SearchWishes(*self)


def document_of(question: ScenarioLike, name: str) -> tuple[str, str | None]:
    """A file and, of a dictionary, its text; `name` is what messages call that."""
    if question is None:
        return "", None
    if isinstance(question, Mapping):
        return name, json.dumps(question, default=plain, allow_nan=False)
    return os.fspath(question), None


def asked(scenario: ScenarioLike, changes: Changes, keys: Mapping[str, Any], **taken: Any) -> Asked:
    """taken: arguments of the caller that are usual keys too."""
    file, document = document_of(scenario, "scenario")
    given = {name: value for name, value in {**keys, **taken}.items() if value is not None}
    gpus = whole(given.pop("gpus"), "gpus", 1) if "gpus" in given else 0
    known = {name.replace("-", "_"): name for name in _native.key_names()}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0)
            raise TypeError(f"'{name}' is no usual key of a scenario; the nearest is '{near[0]}'. "
                            f"Any other goes into set={{...}}")
    return Asked(file, document, settings(changes), {known[name]: text(value) for name, value in given.items()}, gpus)


def settings(changes: Changes) -> list[str]:
    """{"strategy.tensor": 8} -> ["strategy.tensor=8"]; such texts are taken as they are."""
    if isinstance(changes, str):
        raise TypeError("changes are a dictionary {'strategy.tensor': 8}, or a list of texts ['strategy.tensor=8']")
    if isinstance(changes, Mapping):
        return [f"{key}={text(value)}" for key, value in changes.items()]
    return list(changes)


def axes(varied: Mapping[str, Any]) -> list[str]:
    """{"gpus": "64..1024 x2", "strategy.tensor": [1, 2]} -> ["gpus=64..1024 x2", "strategy.tensor=1,2"]."""
    return [f"{key}={values_of(values)}" for key, values in varied.items()]


def values_of(values: Any) -> str:
    """A text is a list or range as the command line takes it; anything else is gone through."""
    if isinstance(values, str):
        return values
    if isinstance(values, (int, float)):
        return text(values)
    return ",".join(_entry(value) for value in values)


def _entry(value: Any) -> str:
    """One value of a list; a text that could be taken for several stands between quotes."""
    quoted = isinstance(value, str) and (".." in value or any(mark in value for mark in ',"\'[]{}'))
    return json.dumps(value) if quoted else text(value)


def text(value: Any) -> str:
    """A value as --set takes it: JSON, or a text as it is."""
    return value if isinstance(value, str) else json.dumps(value, default=plain, allow_nan=False)


def plain(value: Any) -> Any:
    """What JSON has no word for: NumPy's numbers and arrays, paths, other mappings."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} is no value of a scenario")


def whole(value: Any, name: str, least: int) -> int:
    """A whole number that the native module can hold."""
    number = value.__index__() if hasattr(value, "__index__") else None
    if number is None or not least <= number < 2**31:
        raise ValueError(f"{name}={value!r} is no whole number from {least} to {2**31 - 1}")
    return number
