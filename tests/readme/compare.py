"""What a document prints, held against what a command prints."""
import re

NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
# A measurement takes 940 us here and 1.1 ms there.
UNITS = re.compile(r"\b(ns|us|ms|s|min|[KMGT]iB|B|[kMGT]?B/s|[kMGT]?FLOP/s)\b")


def words(line, measured):
    """The line without its numbers; how wide columns are does not matter."""
    text = NUMBER.sub("0", line)
    text = UNITS.sub("unit", text) if measured else text
    return " ".join(re.sub(r"-{2,}", "--", text).split())


def numbers(line):
    """Value, and what one in the last printed place is worth."""
    found = []
    for text in NUMBER.findall(line):
        plain = text.replace(",", "")
        decimals = len(plain.split("e")[0].partition(".")[2])
        exponent = int(plain.partition("e")[2] or 0)
        found.append((float(plain), 10.0 ** (exponent - decimals)))
    return found


def same_line(expected, actual, measured=False):
    """Words alike; numbers alike to one in the last place that is printed. measured: numbers may be any."""
    if words(expected, measured) != words(actual, measured):
        return False
    if measured:
        return True
    pairs = zip(numbers(expected), numbers(actual))
    return all(abs(a - b) <= 1.000001 * place for (a, place), (b, _) in pairs)


def missing_lines(expected, actual, measured=False):
    """Expected lines that are not among the actual ones in this order."""
    missing, at = [], 0
    for line in expected:
        if not line.strip():
            continue
        found = next((i for i in range(at, len(actual)) if same_line(line, actual[i], measured)), None)
        if found is None:
            missing.append(line)
        else:
            at = found + 1
    return missing


def closest(line, actual):
    """The line that looks most like it, for messages."""
    def common(other):
        return len(set(line.split()) & set(other.split()))
    return max(actual, key=common, default="")
