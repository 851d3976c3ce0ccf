#!/usr/bin/env python3
"""Runs every command of a document in a fresh copy of the tree and compares what it prints (tests/README.md)."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import commands
import compare

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = ["orrery", "orrery-device", "orrery-worker"]
LONG = 5  # seconds from which on a command's time is printed
UNTOUCHED = shutil.ignore_patterns("build", ".git", ".cache", "__pycache__")


class Table:
    """exceptions.json: commands of one document that are not run as they stand. Each entry must be met."""

    def __init__(self, document):
        entries = json.loads((HERE / "exceptions.json").read_text())
        self.entries = [entry for entry in entries if entry["in"] == document]
        self.met = set()

    def of(self, command):
        for number, entry in enumerate(self.entries):
            if command == entry["command"] or (command.startswith(entry["command"]) and not entry.get("whole")):
                self.met.add(number)
                return entry
        return {}

    def unmet(self):
        return [entry["command"] for number, entry in enumerate(self.entries) if number not in self.met]


class Clone:
    """A copy of the tree whose build/release is the build under test."""

    def __init__(self, folder, build):
        self.path = pathlib.Path(folder) / "orrery"
        shutil.copytree(ROOT, self.path, ignore=UNTOUCHED, symlinks=True)
        (self.path / "build").mkdir()
        (self.path / "build" / "release").symlink_to(build)
        self.environment = dict(os.environ, NO_COLOR="1",
                                PATH=f"{build}:{os.environ['PATH']}",
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        for name in ("COLUMNS", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # of a terminal; of the make that runs this
            self.environment.pop(name, None)

    def names(self, pattern):
        return sorted(str(file.relative_to(self.path)) for file in self.path.glob(pattern))

    def made_files(self, command):
        """Files of docs/ that the command writes, which are committed as it writes them."""
        return [name for name in re.findall(r"(?:>|--svg)\s*(docs/[\w./-]+)", command) if (ROOT / name).exists()]

    def differences(self, name):
        """A file that was made, against the committed one: numbers of a drawing may differ in their last place."""
        expected, made = ((root / name).read_text().splitlines() for root in (ROOT, self.path))
        if not name.endswith(".svg"):
            return [] if expected == made else [f"{name} is not what the command makes now"]
        same = len(expected) == len(made) and not compare.missing_lines(expected, made)
        return [] if same else [f"{name} is not what the command draws now: run it and look at the drawing"]

    def run(self, command, seconds):
        try:
            return subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.path, env=self.environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", f"stopped after {seconds} s")

    def recipe(self, target):
        """What `make target` runs beside the build, and what is wrong with it."""
        printed = self.run(f"make -n {target}", 60)
        if printed.returncode != 0:
            return [], [f"make has no recipe: {printed.stderr.strip()}"]
        lines = printed.stdout.replace("\\\n", " ").splitlines()
        built = {word for line in lines if "--target" in line for word in line.partition("--target")[2].split()}
        own = [line for line in lines if not re.match(r"(cmake|ctest|tools/setup)\b", line)]
        runs = re.findall(r"build/release/(\S+)", "\n".join(own))
        wrong = [f"runs {program}, which no build makes" for program in runs
                 if not (self.path / "build/release" / program).exists()]
        needed = PROGRAMS if target == "build" else set(PROGRAMS) & set(runs)
        wrong += [f"does not build {program}" for program in needed if program not in built]
        return own, wrong


def without_missing_filters(command):
    """`... | dot -Tpdf > x.pdf` without the filter where it is not installed."""
    parts = command.split(" | ")
    for number, part in enumerate(parts[1:], 1):
        if part.split()[0] not in PROGRAMS and shutil.which(part.split()[0]) is None:
            print(f"      without {part.split()[0]}, which is not installed here")
            return " | ".join(parts[:number]) + " > /dev/null"
    return command


def check_command(clone, command, entry):
    """What is wrong with it."""
    todo, wrong = entry.get("instead", command.text), []
    if todo.startswith("make "):
        own, wrong = clone.recipe(todo.split()[1])
        todo = " && ".join(own) or "true"
    if "skip" in entry:
        print(f"skip  {command.text}\n      {entry['skip']}")
        return wrong
    print(f"run   {todo}" + (f"\n      instead of {command.text}: {entry['because']}" if "because" in entry else ""),
          flush=True)
    if "before" in entry and clone.run(entry["before"], 120).returncode != 0:
        wrong.append(f"before: {entry['before']} fails")
    begun = time.monotonic()
    result = clone.run(without_missing_filters(todo), entry.get("seconds", 300))
    if (took := time.monotonic() - begun) > LONG:
        print(f"      {took:.0f} s", flush=True)
    if result.returncode not in entry.get("exit", [0]):
        wrong.append(f"exit code {result.returncode}: {result.stderr.strip()[-2000:]}")
    printed = result.stdout.splitlines()
    measured = entry.get("numbers") == "measured"
    for line in compare.missing_lines(command.output, printed, measured):
        wrong.append(f"is not printed: {line}\n      the nearest is: {compare.closest(line, printed)}")
    for name in clone.made_files(todo):
        wrong += clone.differences(name)
    return wrong


def check(clone, document, found, orphans):
    table, failures = Table(document), 0
    for command in found:
        wrong = check_command(clone, command, table.of(command.text))
        for message in wrong:
            print(f"FAIL  {document}:{command.line}: {command.text}\n      {message}")
        failures += len(wrong)
    for line, content in orphans:
        if "drawing" not in table.of(content[0]):
            print(f"FAIL  {document}:{line}: an output without its command")
            failures += 1
    for command in table.unmet():
        print(f"FAIL  exceptions.json: {document} has no command {command}")
        failures += 1
    return failures


def check_help(clone):
    """Every help text, that of `orrery` first."""
    failures, texts = 0, []
    waiting = [[program] for program in PROGRAMS]
    while waiting:
        path = waiting.pop(0)
        text = clone.run(" ".join(path + ["--help"]), 60).stdout
        texts.append((path, text))
        waiting += [path + [name] for name in commands.subcommands(text)]
    seen, found = set(), []
    for path, text in texts:
        examples = commands.help_text(text)
        if not examples:
            print(f"FAIL  {' '.join(path)} --help has no example")
            failures += 1
        found += [each for each in examples if each.text not in seen]
        seen |= {each.text for each in examples}
    return failures + check(clone, "help", found, [])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, type=pathlib.Path, help="folder with the programs")
    parser.add_argument("document", help="a Markdown file, relative to the root; folders: READMEs of folders; "
                        "documents: the others of docs/; help")
    arguments = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory(prefix="orrery-readme-") as folder:
        clone = Clone(folder, arguments.build.resolve())
        if arguments.document == "help":
            failures = check_help(clone)
        else:
            files = [arguments.document]
            if arguments.document == "folders":
                files = clone.names("*/**/README.md")
            elif arguments.document == "documents":
                files = [name for name in clone.names("docs/*.md") if name != "docs/README.md"]
            for file in files:
                failures += check(clone, file, *commands.markdown((clone.path / file).read_text()))
    print(f"{failures} failures" if failures else "all as printed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
