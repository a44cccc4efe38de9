# SPDX-License-Identifier: Apache-2.0
"""C and C++ text without a compiler: masking, and finding function definitions by their braces.

Masking keeps every newline and every length, so offsets and line numbers stay right. Functions are
blocks at namespace or class scope whose header has a parameter list; lambdas and local blocks
belong to the function around them. Of #if ... #else only the first branch is read, so that braces
balance.
"""

import re
from dataclasses import dataclass

COMMENT_OR_LITERAL = re.compile(
    r'//(?:\\\n|[^\n])*'
    r'|/\*.*?\*/'
    r'|R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.DOTALL)
SCOPE = re.compile(r"^(?:template\s*<.*>\s*)?(?:inline\s+|typedef\s+|static\s+|const\s+)*"
                   r"(?:namespace|class|struct|union|enum)\b", re.DOTALL)
AFTER_PARAMETERS = re.compile(
    r"\)\s*(?:const|noexcept(?:\s*\(.*?\))?|override|final|mutable|&&?|->[^()]*|requires.*|try|\s)*$",
    re.DOTALL)
NOT_A_FUNCTION = {"if", "for", "while", "switch", "catch", "return", "do", "else"}
NOT_ITS_PARAMETERS = {"alignas", "decltype", "__attribute__", "noexcept", "explicit", "requires",
                      "defined", "reqd_work_group_size", "__launch_bounds__"}


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def mask_comments(text):
    """Comments become blanks; literals stay."""
    return COMMENT_OR_LITERAL.sub(
        lambda m: blank(m[0]) if m[0].startswith("/") else m[0], text)


def mask_code(text):
    """Comments, literals and preprocessor lines become blanks, and all but the first branch of #if."""
    text = COMMENT_OR_LITERAL.sub(
        lambda m: blank(m[0]) if m[0].startswith("/") else m[0][0] + blank(m[0][1:-1]) + m[0][-1],
        text)
    lines, out, skipping = text.split("\n"), [], []
    continued = False
    for line in lines:
        directive = re.match(r"\s*#\s*(\w*)", line) if not continued else None
        if directive:
            word = directive[1]
            if word in ("if", "ifdef", "ifndef"):
                skipping.append(False)
            elif word in ("else", "elif") and skipping:
                skipping[-1] = True
            elif word == "endif" and skipping:
                skipping.pop()
        is_preprocessor = directive is not None or continued
        continued = is_preprocessor and line.endswith("\\")
        out.append(blank(line) if is_preprocessor or any(skipping) else line)
    return "\n".join(out)


@dataclass(frozen=True)
class Function:
    name: str
    first_line: int
    num_lines: int
    num_parameters: int


def functions(text):
    """Every function defined in the text, in order."""
    code = mask_code(text)
    found, open_scopes = [], []  # of each open brace: "scope", "other", or the header's offset
    header_at, parens, inside = 0, 0, 0
    for match in re.finditer(r"[(){};]", code):
        mark, at = match[0], match.start()
        if mark in "()":
            parens = max(0, parens + (1 if mark == "(" else -1))
        elif mark == "{":
            kind = "other" if inside or parens else classify(code[header_at:at])
            open_scopes.append((kind, header_at, parens))
            inside += kind != "scope"
            parens = 0
            if kind == "scope":
                header_at = at + 1
        elif mark == "}" and open_scopes:
            kind, start, parens = open_scopes.pop()
            inside -= kind != "scope"
            following = code[at + 1:].lstrip()[:1]
            if inside == 0 and parens == 0 and not (kind != "scope" and following in (",", "{", ")")):
                if kind == "function":
                    found.append(describe(code, start, at))
                header_at = at + 1
        elif mark == ";" and not inside and parens == 0:
            header_at = at + 1
    return found


def classify(header):
    header = header.strip()
    header = re.sub(r"^(?:(?:public|private|protected)\s*:\s*)+", "", header)
    if not header or re.fullmatch(r'extern\s*"[^"]*"', header):
        return "scope"
    ends_in_parameters = AFTER_PARAMETERS.search(header) is not None
    if SCOPE.match(header) and not ends_in_parameters:
        return "scope"
    first_word = re.match(r"\w*", header)[0]
    return "function" if "(" in header and first_word not in NOT_A_FUNCTION else "other"


def describe(code, start, end):
    start += len(code[start:end]) - len(code[start:end].lstrip())
    name, parameters = signature(code[start:code.index("{", start)])
    first_line = code.count("\n", 0, start) + 1
    return Function(name, first_line, code.count("\n", start, end) + 1, parameters)


def signature(header):
    """The name, and how many parameters stand in its list."""
    for match in re.finditer(r"(operator\s*\(\s*\)|operator\s*[^\s\w(]+|[\w:~]+)\s*\(", header):
        name = match[1]
        if name.split("::")[-1] in NOT_ITS_PARAMETERS:
            continue
        depth, commas, has_any = 1, 0, False
        for position in range(match.end(), len(header)):
            letter = header[position]
            if letter in "([{<":
                depth += 1
            elif letter in ")]}" or letter == ">" and header[position - 1] != "-":
                depth -= 1
            if depth == 0:
                break
            commas += letter == "," and depth == 1
            has_any = has_any or not letter.isspace()
        return name, commas + 1 if has_any else 0
    return header.strip()[:40], 0
