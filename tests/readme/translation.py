#!/usr/bin/env python3
"""README.zh.md says what README.md says: the same commands, outputs, links, and numbers of tables."""
import pathlib
import re
import sys

import commands

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ORIGINAL, TRANSLATION = "README.md", "README.zh.md"
LINK = re.compile(r"\]\(([^)]+)\)")
NUMBER = re.compile(r"\d[\d,.]*%?")


def blocks(text):
    """Each command with its output, in order; and outputs without one."""
    found, orphans = commands.markdown(text)
    return [(each.text, each.output) for each in found] + [("", output) for _, output in orphans]


def links(text):
    return sorted(target for target in LINK.findall(text) if target not in (ORIGINAL, TRANSLATION))


def table_numbers(text):
    """Of the rows of tables, in order; rows without a number say something in words."""
    rows = [NUMBER.findall(line) for line in text.splitlines() if line.startswith("|")]
    return [row for row in rows if row]


def headings(text):
    return [len(line) - len(line.lstrip("#")) for line in text.splitlines() if re.match(r"#+ ", line)]


def differences(original, translation):
    wrong = []
    for what, parts in (("commands and outputs", blocks), ("links", links), ("numbers of tables", table_numbers),
                        ("sections", headings)):
        ours, theirs = parts(original), parts(translation)
        if ours != theirs:
            first = next((pair for pair in zip(ours, theirs) if pair[0] != pair[1]), (len(ours), len(theirs)))
            wrong.append(f"{what} are not alike: {first[0]!r} and {first[1]!r}")
    return wrong


def main():
    wrong = differences(*((ROOT / name).read_text() for name in (ORIGINAL, TRANSLATION)))
    for message in wrong:
        print(f"FAIL  {TRANSLATION}: {message}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
