#!/usr/bin/env python3
"""Says which sources of a target may be compiled as one file.

    unity_groups.py MOST SOURCE... [-- SOURCE...]...

Prints a number per source, in their order, separated by semicolons; "--" stands between targets. Sources of a target
with the same number are a group of MOST at most, in which no name that is a file's own (it stands in an unnamed
namespace, or is static) is declared or called by another file. A local variable may have another file's name, so that
-Wshadow has to leave out what is not local. A file that cannot join another keeps a number of its own.
"""

import itertools
import pathlib
import re
import sys

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])\'', re.DOTALL)
DIRECTIVE = re.compile(r'^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', re.MULTILINE)
WORD = re.compile(r'[A-Za-z_]\w*')
TYPE = re.compile(r'\b(?:struct|class|enum(?:\s+class)?|union|concept)\s+([A-Za-z_]\w*)')
ENUMERATION = re.compile(r'\benum\s+class\s+(\w+)[^{;]*\{([^}]*)\}')
ENUMERATORS = re.compile(r'using enum [\w:]*?(\w+)$')
BROUGHT = re.compile(r'using\s+[\w:]+::(\w+)$')
LOCAL = re.compile(r'(?:static|const|constexpr|using|namespace)\b')
ALIAS = re.compile(r'\b(?:using|namespace)\s+([A-Za-z_]\w*)\s*=')
CALLED = re.compile(r'([A-Za-z_][\w:]*)\s*\(')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include "([^"]+)"', re.MULTILINE)
KEYWORDS = {'if', 'for', 'while', 'switch', 'return', 'sizeof', 'decltype', 'alignas', 'noexcept', 'requires',
            'static_assert'}
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
        self.enumerators = {name: set(re.findall(r'(\w+)\s*(?:=[^,]*)?(?:,|$)', values.strip()))
                            for name, values in ENUMERATION.findall(text)}
        self.opened_enumerations = []  # `using enum`: the name of the enumeration, the namespace that sees its names
        self.own = {}  # by name: its declaration and the namespace that sees it
        self.declared = set()
        for declaration, spaces in declarations(text):
            names = name_of(declaration)
            seen_from = '::'.join(filter(None, spaces))
            if (found := ENUMERATORS.match(declaration)):
                self.opened_enumerations.append((found[1], seen_from))
            self.declared |= {(seen_from, name) for name in names}
            if '' in spaces or LOCAL.match(declaration):
                self.own |= dict.fromkeys(names, (declaration, seen_from))
        # A member, or what says its namespace, is no call of another's function.
        self.called = set(re.findall(r'(?<![\w.:>])([A-Za-z_]\w*)\s*[(<]', text))


class Source:
    def __init__(self, path, root, headers):
        text = Text(path)
        self.own, self.called, self.alone, self.opened = text.own, text.called, text.alone, text.opened
        self.declared = set()
        enumerators = dict(text.enumerators)
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
            enumerators |= headers[name].enumerators
        for name, space in text.opened_enumerations:
            self.own |= dict.fromkeys(enumerators.get(name, ()), (f'using enum {name}', space))

    def hides_from(self, other):
        for name, (declaration, space) in self.own.items():
            if declaration.startswith(('using', 'namespace')) and other.own.get(name) == (declaration, space):
                continue  # the same alias
            around = [space.rsplit('::', up)[0] for up in range(space.count('::') + 1)] + ['']
            if name in other.own or name in other.called or any((each, name) in other.declared for each in around):
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
