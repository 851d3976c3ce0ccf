#!/usr/bin/env python3
"""Says which sources of a target may be compiled as one file.

    unity_groups.py MOST SOURCE... [-- SOURCE...]...

Prints a number per source, in their order, separated by semicolons; "--" stands between targets. Sources of a target
with the same number are a group of MOST at most, in which no name that is a file's own (it stands in an unnamed
namespace, or is static) is used by another file. A file that cannot join another keeps a number of its own.
"""

import itertools
import pathlib
import re
import sys

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])\'', re.DOTALL)
DIRECTIVE = re.compile(r'^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', re.MULTILINE)
WORD = re.compile(r'[A-Za-z_]\w*')
TYPE = re.compile(r'\b(?:struct|class|enum(?:\s+class)?|union|concept)\s+([A-Za-z_]\w*)')
BROUGHT = re.compile(r'using\s+[\w:]+::(\w+)$')
LOCAL = re.compile(r'(?:static|const|constexpr|using|namespace)\b')
VALUE = re.compile(r'(?:inline\s+|static\s+)*(?:const|constexpr)\b')
ALIAS = re.compile(r'\b(?:using|namespace)\s+([A-Za-z_]\w*)\s*=')
CALLED = re.compile(r'([A-Za-z_][\w:]*)\s*\(')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include "([^"]+)"', re.MULTILINE)
KEYWORDS = {'if', 'for', 'while', 'switch', 'return', 'sizeof', 'decltype', 'alignas', 'noexcept', 'requires'}
TESTS = re.compile(r'(?:TYPED_|)TEST(?:_F|_P|)$|INSTANTIATE_\w+|BENCHMARK\w*')


def declarations(text):
    """What stands outside of functions and types: (its text without bodies, the namespaces around it)."""
    found, depth, spaces, start, kept = [], 0, [], 0, ''
    for at, sign in enumerate(text):
        if depth == 0 and sign in '{};':
            head = kept + text[start:at]
            start, kept = at + 1, ''
            if sign == '{' and (named := re.fullmatch(r'\s*(?:inline\s+)?namespace(\s+[\w:]+)?\s*', head)):
                spaces.append((named[1] or '').strip())
            elif sign == '{':
                kept, depth = head + ' {} ', 1
            elif sign == '}':
                if spaces:
                    spaces.pop()
            else:
                found.append((head.strip(), tuple(spaces)))
        elif depth > 0 and sign in '{}':
            depth += 1 if sign == '{' else -1
            if depth == 0:
                start = at + 1
                if re.search(r'\)[\w\s&>:-]*\{\} $', kept) and not kept.lstrip().startswith('struct'):
                    found.append((kept.strip(), tuple(spaces)))  # a function: no semicolon ends it
                    kept = ''
    return found


def name_of(declaration):
    """The names that a declaration brings."""
    declaration = re.sub(r'\btemplate\s*<[^;]*?>\s*(?=\w)', '', declaration)
    found = ALIAS.match(declaration) or TYPE.match(declaration.removeprefix('static '))
    if found:
        return {found[1]}
    if re.match(r'(?:using|namespace)\b', declaration):
        brought = BROUGHT.match(declaration)
        return {brought[1]} if brought else set()
    head = declaration.split('=', 1)[0]
    called = CALLED.search(head)
    if called:
        name = called[1]
        return set() if '::' in name or name in KEYWORDS or TESTS.match(name) else {name}
    plain = re.sub(r'<[^<>]*>|\[[^\]]*\]', '', re.sub(r'<[^<>]*>', '', declaration)).replace('{}', '')
    return {words[-1] for part in plain.split(',') if (words := WORD.findall(part.split('=')[0]))}


class Text:
    """Of a file: the names declared outside of its functions and types, those that it uses, what it includes."""

    def __init__(self, path):
        with open(path, encoding='utf-8') as file:
            raw = file.read()
        text = COMMENT_OR_TEXT.sub(lambda found: ' ' if found[0][0] == '/' else '""', raw)
        self.alone = bool(re.search(r'^[ \t]*#[ \t]*(?:define|undef)\b', text, re.MULTILINE))
        self.opened = sorted(re.findall(r'^using namespace ([^;]+);', text, re.MULTILINE))
        self.includes = INCLUDE.findall(raw)
        text = DIRECTIVE.sub('', text)
        self.own = {}  # by name: its declaration and the namespace that sees it
        self.declared, self.values = set(), set()
        for declaration, spaces in declarations(text):
            names = name_of(declaration)
            seen_from = '::'.join(filter(None, spaces))
            self.declared |= {(seen_from, name) for name in names}
            if VALUE.match(declaration):
                self.values |= names
            if '' in spaces or LOCAL.match(declaration):
                self.own |= dict.fromkeys(names, (declaration, seen_from))
        # A member's name, or one that says its namespace, is nobody's own.
        self.used = set(re.findall(r'(?<![\w.:>])[A-Za-z_]\w*', text)) | set(re.findall(r'[^-]>([A-Za-z_]\w*)', text))


class Source:
    def __init__(self, path, root, headers):
        text = Text(path)
        self.own, self.used, self.alone, self.opened = text.own, text.used, text.alone, text.opened
        self.declared, self.values = set(), set()
        waiting, seen = text.includes, set()
        while waiting:
            name = waiting.pop()
            if name in seen or not (root / name).is_file():
                continue
            seen.add(name)
            if name not in headers:
                headers[name] = Text(root / name)
            waiting = waiting + headers[name].includes
            self.declared |= headers[name].declared
            self.values |= headers[name].values

    def hides_from(self, other):
        if other.used & (self.values - other.values):  # its own variables would hide what another's headers bring
            return True
        for name, (declaration, space) in self.own.items():
            around = [space.rsplit('::', up)[0] for up in range(space.count('::') + 1)] + ['']
            if any((each, name) in other.declared for each in around):
                return True
            same = declaration.startswith(('using', 'namespace')) and other.own.get(name) == (declaration, space)
            if name in other.used and not same:
                return True
        return False

    def meets(self, other):
        return self.opened != other.opened or self.hides_from(other) or other.hides_from(self)


def groups(paths, most, root, headers):
    sources = [Source(path, root, headers) for path in paths]
    made = []
    numbers = []
    for source in sources:
        number = next((at for at, group in enumerate(made) if len(group) < most and not source.alone
                       and not any(each.alone or source.meets(each) for each in group)), len(made))
        if number == len(made):
            made.append([])
        made[number].append(source)
        numbers.append(number)
    return numbers


if __name__ == '__main__':
    targets = [list(paths) for between, paths in itertools.groupby(sys.argv[2:], '--'.__eq__) if not between]
    read_headers, project = {}, pathlib.Path(__file__).parent.parent
    print(';'.join(str(number) for paths in targets
                   for number in groups(paths, int(sys.argv[1]), project, read_headers)))
