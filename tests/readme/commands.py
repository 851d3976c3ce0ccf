"""Commands of documents: those of a Markdown file with the output that it prints, those of help texts."""
import dataclasses
import re

STARTS = re.compile(r"(build/release/|tools/|sudo |make |cmake --install |cpack |dpkg-deb |docker |"
                    r"(\w+=\S+ )*/usr/bin/python3 |"
                    r"(\w+=\S+ )*(mpirun -n \d+ |srun --\S+ )?(installed/bin/)?orrery(-device|-worker)? )")


@dataclasses.dataclass
class Command:
    text: str  # one line of shell, without remarks
    line: int  # in the document
    output: list[str]  # lines that the document prints below it, in order


def without_remark(text):
    return re.sub(r"\s+#\s.*$", "", text).strip()


def markdown(text):
    """Indented lines that begin with a program, and the fenced lines that follow; and fences without a command."""
    commands, orphans = [], []
    last, fence, part = [], None, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if fence is None:
                fence = (number, [])
            else:
                if last:
                    last[-1].output += fence[1]
                else:
                    orphans.append(fence)
                fence, last = None, []
        elif fence is not None:
            fence[1].append(line)
        elif line.startswith("    ") and (part or STARTS.match(line[4:])):
            part += line.strip()
            if part.endswith("\\"):
                part = part[:-1]
                continue
            command = Command(without_remark(part), number, [])
            commands.append(command)
            last.append(command)
            part = ""
        elif line.startswith("#"):
            last = []  # an output belongs to a command of its own section
    return commands, orphans


def help_text(text):
    """The lines below "Example" that begin with a program."""
    commands, shown, part = [], False, ""
    for number, line in enumerate(text.splitlines(), 1):
        shown = shown or line.startswith("Example")
        if not shown or not line.startswith("  ") or not (part or STARTS.match(line.strip())):
            continue
        part += line.strip()
        if part.endswith("\\"):
            part = part[:-1]
            continue
        commands.append(Command(without_remark(part), number, []))
        part = ""
    return commands


def subcommands(text):
    """Names below "Subcommands:" of a help text."""
    names, inside = [], False
    for line in text.splitlines():
        if line.startswith("Subcommands:"):
            inside = True
        elif inside and not line.startswith("  "):
            inside = False
        elif inside and (found := re.match(r"  ([a-z][\w-]*)(\s|$)", line)):
            names.append(found.group(1))
    return names
