"""Can this be an expression in CEL at all? Brackets and operators only, no meaning.

Expressions are stored and published, not evaluated yet; what can never compile is refused where it
is written all the same, in the words of Kubernetes' compiler where the text just ends too early.
"""

import re

_TOKEN = re.compile(
    r"""\s+|//[^\n]*"""
    r"""|(?P<text>[rRbB]{0,2}(?:\"\"\"(?s:.*?)\"\"\"|'''(?s:.*?)'''"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))"""
    r"""|(?P<word>[A-Za-z_]\w*|`[^`]*`)"""
    r"""|(?P<number>(?:0x[0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)u?)"""
    r"""|(?P<operator>==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,])"""
    r"""|(?P<open>[(\[{])|(?P<close>[)\]}])""",
    re.ASCII,
)
_MAX_CHECKED = 16 * 1024  # longer ones are left to whoever evaluates them
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_EXPECTED = (
    "'.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES,"
    " IDENTIFIER"
)


def syntax_problem(expression: str) -> str:
    """Why this can never compile, '' when nothing is obviously wrong."""
    if len(expression) > _MAX_CHECKED:
        return ""
    at, last, opened = 0, "", [""]
    while at < len(expression):
        found = _TOKEN.match(expression, at)
        if found is None:
            odd = expression[at : at + 20]
            return _shown(expression, at, f"Syntax error: token recognition error at: '{odd}'")
        if found.lastgroup == "open":
            opened.append(found[0])
        elif found.lastgroup == "close" and _PAIRS.get(opened.pop()) != found[0]:
            return _shown(expression, at, f"Syntax error: extraneous input '{found[0]}'")
        if found.lastgroup:
            last = found[0] if found.lastgroup in ("open", "operator") else "value"
        at = found.end()
    if last == "value" and len(opened) == 1:
        return ""
    if last == "value":
        return _shown(expression, at, f"Syntax error: missing '{_PAIRS[opened[-1]]}' at '<EOF>'")
    first = "'[', '{', '(', ')', " if last == "(" else "'[', '{', '(', "
    return _shown(
        expression, at, f"Syntax error: mismatched input '<EOF>' expecting {{{first}{_EXPECTED}}}"
    )


def _shown(expression: str, at: int, problem: str) -> str:
    """The problem with its place, as the compiler draws it."""
    line = expression.count("\n", 0, at) + 1
    start = expression.rfind("\n", 0, at) + 1
    text = expression[start:].split("\n", 1)[0]
    place = f"<input>:{line}:{at - start + 1}"
    drawing = f"\n | {text}\n | {'.' * (at - start)}^"
    return f"compilation failed: ERROR: {place}: {problem}{drawing}"
