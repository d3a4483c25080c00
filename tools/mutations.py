"""Small ways to break a function: each is one source edit that a test should notice.

Only code inside functions is mutated. Messages are left alone, because a test that repeats a
sentence proves nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Mutation", "apply", "mutations"]

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
}
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,30}")


@dataclass(frozen=True, slots=True)
class Mutation:
    """Replace the bytes from `start` to `end`, which begin on `line`, with `new`."""

    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{' '.join(self.old.split())[:60]!r} -> {self.new[:60]!r}"


def apply(source: str, mutation: Mutation) -> str:
    raw = source.encode()
    return (raw[: mutation.start] + mutation.new.encode() + raw[mutation.end :]).decode()


def mutations(source: str) -> Iterator[Mutation]:
    """Every mutation of the functions in a module, in source order."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def edit(node: ast.expr | ast.stmt, new: str) -> Mutation:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        return Mutation(node.lineno, start, end, source.encode()[start:end].decode(), new)

    for node in _inside_functions(ast.parse(source)):
        for new in _broken(node):
            yield edit(node, new)


def _inside_functions(tree: ast.Module) -> Iterator[ast.expr | ast.stmt]:
    """The statements and expressions inside functions, without docstrings."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, inside = waiting.pop(0)
        if isinstance(node, ast.JoinedStr | ast.Assert | ast.Raise | ast.AnnAssign):
            continue
        if inside and isinstance(node, ast.expr | ast.stmt) and not _is_text(node):
            yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting[:0] = [(child, True) for child in node.body]
        else:
            waiting[:0] = [(child, inside) for child in ast.iter_child_nodes(node)]


def _is_text(node: ast.AST) -> bool:
    """Whether this is a docstring or another bare constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _broken(node: ast.expr | ast.stmt) -> Iterator[str]:
    """The source texts that could replace this node."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARED:
            yield _paren(ast.Compare(node.left, [COMPARED[type(op)]()], node.comparators))
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield _paren(ast.BoolOp(other, node.values))
        case ast.UnaryOp(op=ast.Not()):
            yield f"(bool({ast.unparse(node.operand)}))"
        case ast.BinOp() if type(node.op) in COUNTED and not _has_text(node):
            yield _paren(ast.BinOp(node.left, COUNTED[type(node.op)](), node.right))
        case ast.IfExp():
            yield _paren(ast.IfExp(node.test, node.orelse, node.body))
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value)):
            yield str(value + 1)
        case ast.Constant(value=str(value)) if WORD.fullmatch(value):
            yield repr(value + "_")
        case ast.Return(value=ast.expr()) if not _is_nothing(node.value):
            yield "return None"
        case ast.Expr(value=ast.Call()):
            yield "pass"


def _paren(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


def _is_nothing(node: ast.expr | None) -> bool:
    """None, False or 0: a caller that only tests for truth cannot tell them apart."""
    return isinstance(node, ast.Constant) and node.value in (None, False)


def _has_text(node: ast.AST) -> bool:
    return any(
        isinstance(one, ast.JoinedStr)
        or (isinstance(one, ast.Constant) and isinstance(one.value, str))
        for one in ast.walk(node)
    )
