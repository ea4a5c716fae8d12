"""What is changed in a module to see whether a test notices: one place at a time.

Comparisons move by one or turn round; and/or, plus/minus and the like are swapped; a condition is always true, or never; a
result is None; a call, an assignment to a part of something, or a raise is left out; a number is one more or one less; a
flag turns round; a word has one letter more. Sentences, regular expressions with spaces, annotations and decorators stay.
"""

import ast
from collections.abc import Callable
from typing import Final, cast


_COMPARED: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_COUNTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.Pow: ast.Mult,
}
_NAMED: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
_CALLED: Final = {
    "startswith": "endswith",
    "endswith": "startswith",
    "partition": "rpartition",
    "rpartition": "partition",
    "find": "rfind",
    "fullmatch": "match",
    "match": "search",
    "search": "match",
    "lower": "upper",
    "casefold": "upper",
    "lstrip": "rstrip",
    "rstrip": "lstrip",
    "removeprefix": "removesuffix",
    "removesuffix": "removeprefix",
}


class Changes(ast.NodeTransformer):
    """Finds every place, as line and description, and makes the change that is `wanted`."""

    def __init__(self, wanted: int | None = None) -> None:
        self.places: list[tuple[int, str]] = []
        self._wanted = wanted

    def of(self, source: str) -> ast.Module:
        """The module with the wanted change, if any."""
        tree = self.visit(ast.parse(source))
        return cast("ast.Module", ast.fix_missing_locations(tree))

    def _is_wanted(self, node: ast.AST, what: str) -> bool:
        self.places.append((getattr(node, "lineno", 0), what))
        return len(self.places) - 1 == self._wanted

    def _or(self, node: ast.AST, what: str, changed: Callable[[], ast.AST]) -> ast.AST:
        return changed() if self._is_wanted(node, what) else self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> ast.AST:
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.args = self.visit(node.args)
        node.body = [self.visit(one) for one in node.body]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = [self.visit(one) for one in node.body]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant):  # a docstring
            return node
        return self._or(node, f"without {ast.unparse(node)}", ast.Pass)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return ast.Pass() if self._is_wanted(node, f"without {ast.unparse(node)}") else node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        is_part = isinstance(node.targets[0], ast.Attribute | ast.Subscript)
        if is_part and self._is_wanted(node, f"without {ast.unparse(node)}"):
            return ast.Pass()
        node.value = self.visit(node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if self._is_wanted(node, f"without {ast.unparse(node)}"):
            return ast.Pass()
        self._swap(node)
        node.value = self.visit(node.value)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if node.value is None or ast.unparse(node.value) in {"None", "False"}:
            return self.generic_visit(node)
        nothing = ast.Return(ast.Constant(None))
        return self._or(node, f"{ast.unparse(node)}: None", lambda: nothing)

    def visit_Break(self, node: ast.Break) -> ast.AST:
        return self._or(node, "break: continue", ast.Continue)

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return self._or(node, "continue: break", ast.Break)

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._decided(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._decided(node)

    def _decided(self, node: ast.If | ast.IfExp) -> ast.AST:
        for value in (False, True):
            if self._is_wanted(node, f"if {ast.unparse(node.test)}: {value}"):
                node.test = ast.Constant(value)
                return node
        return self.generic_visit(node)

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        if node.guard is not None:
            if self._is_wanted(node.guard, f"case if {ast.unparse(node.guard)}: False"):
                node.guard = ast.Constant(value=False)
                return node
            node.guard = self.visit(node.guard)
        node.body = [self.visit(one) for one in node.body]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        for at, test in enumerate(node.ifs):
            if self._is_wanted(test, f"for if {ast.unparse(test)}: True"):
                node.ifs[at] = ast.Constant(value=True)
                return node
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        for at, found in enumerate(node.ops):
            for swapped in _COMPARED[type(found)]:
                if self._is_wanted(node, f"{ast.unparse(node)}: {swapped.__name__}"):
                    node.ops[at] = swapped()
                    return node
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        swapped = ast.And if isinstance(node.op, ast.Or) else ast.Or
        if self._is_wanted(node, f"{ast.unparse(node)}: {swapped.__name__}"):
            node.op = swapped()
            return node
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not):
            return self._or(node, f"{ast.unparse(node)}: without not", lambda: node.operand)
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        return node if self._swap(node) else self.generic_visit(node)

    def _swap(self, node: ast.BinOp | ast.AugAssign) -> bool:
        swapped = _COUNTED.get(type(node.op))
        if swapped is None or not self._is_wanted(node, f"{ast.unparse(node)}: {swapped.__name__}"):
            return False
        node.op = swapped()
        return True

    def visit_Name(self, node: ast.Name) -> ast.AST:
        other = _NAMED.get(node.id)
        if other is None or not self._is_wanted(node, f"{node.id}: {other}"):
            return node
        return ast.Name(other, ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        other = _CALLED.get(node.attr)
        if other is not None and self._is_wanted(node, f".{node.attr}: .{other}"):
            node.attr = other
            return node
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        for other in _others(node.value):
            if self._is_wanted(node, f"{node.value!r}: {other!r}"):
                return ast.Constant(other)
        return node


def _others(value: object) -> tuple[bool | float | str | bytes, ...]:
    """What else could stand there."""
    match value:
        case bool():
            return (not value,)
        case int():
            return (value + 1, value - 1) if value > 1 else (value + 1,)
        case float():
            return (value * 1.5 + 0.5,)
        case str() if value and " " not in value and value.isprintable():
            return (value + "~",)
        case bytes() if value:
            return (value + b"~",)
        case _:
            return ()
