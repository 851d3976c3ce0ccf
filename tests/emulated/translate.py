#!/usr/bin/env python3
"""Turns a CUDA source into C++ that runs on the emulated GPU: what no macro can.

    translate.py SOURCE TARGET

- kernel<<<blocks, threads, bytes, stream>>>(arguments) becomes a call of emulated::launch_with;
- __shared__ T name[n] becomes a reference to the block's variable, extern __shared__ one to the launch's memory;
- __launch_bounds__(n) becomes a check as the kernel begins.
Lines stay where they are, so that errors and debuggers show the source."""
import re
import sys

OPEN, CLOSE = "([{", ")]}"


def closing(text, begin):
    """Where the bracket at `begin` closes."""
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] in OPEN) - (text[at] in CLOSE)
        if depth == 0:
            return at
    raise SyntaxError("a bracket stays open")


def parts(text):
    """Split at commas outside brackets."""
    depth, found = 0, [""]
    for c in text:
        depth += (c in OPEN) - (c in CLOSE)
        if c == "," and depth == 0:
            found.append("")
        else:
            found[-1] += c
    return found


def callee(text, end):
    """Where the expression begins that names the kernel before `end`: name or name<arguments>."""
    at = end
    while text[at - 1].isspace():
        at -= 1
    if text[at - 1] == ">":
        depth = 0
        while True:
            at -= 1
            depth += (text[at] == ">") - (text[at] == "<")
            if depth == 0:
                break
    while re.match(r"[\w:]", text[at - 1]):
        at -= 1
    return at


def launches(text):
    while (at := text.find("<<<")) >= 0:
        begin, end = callee(text, at), text.index(">>>", at)
        name = " ".join(text[begin:at].split())
        setup = parts(text[at + 3:end])
        if len(setup) != 4:
            raise SyntaxError(f"{name}: a launch gives blocks, threads, bytes and stream")
        opened = text.index("(", end)
        closed = closing(text, opened)
        lines = "\n" * text[begin:at].count("\n")
        call = (f"{lines}::orrery::emulated::launch_with({','.join(setup)}, \"{name}\", "
                f"[=](auto... arguments) {{ {name}(arguments...); }},{text[opened + 1:closed]})")
        text = text[:begin] + call + text[closed + 1:]
    return text


def shared(text):
    text = re.sub(r"extern __shared__ (?:__align__\(\d+\) )?([\w ]+?) (\w+)\[\];",
                  r"\1* const \2 = static_cast<\1*>(::orrery::emulated::dynamic_shared());", text)
    return re.sub(r"__shared__ ([\w:]+) (\w+)((?:\[[^;]*?\])*);",
                  r"typedef \1 \2_type\3; static char \2_identity; "
                  r"auto& \2 = ::orrery::emulated::shared<\2_type>(&\2_identity);", text)


def bounds(text):
    while (at := text.find("__launch_bounds__")) >= 0:
        opened = text.index("(", at)
        closed = closing(text, opened)
        most = parts(text[opened + 1:closed])[0]
        body = text.index("{", closing(text, text.index("(", closed + 1)))
        text = (text[:at] + text[closed + 1:body + 1] + f" ::orrery::emulated::require_threads({most});" +
                text[body + 1:])
    return text


def main():
    source, target = sys.argv[1:3]
    with open(source, encoding="utf-8") as file:
        text = launches(bounds(shared(file.read())))
    # Included files are translated too, beside this one.
    with open(target, "w", encoding="utf-8") as file:
        file.write(f'#line 1 "{source}"\n{text}')


if __name__ == "__main__":
    main()
