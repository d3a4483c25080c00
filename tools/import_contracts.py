"""An import-linter contract: of our own packages, these modules may import only the allowed ones.

Unlike the `forbidden` contract it is an allowlist: a new package is excluded until it is added, and
modules that do not exist yet are not an error. `besides` exempts submodules: the others may not
import them, and they need a contract of their own. Only direct imports count, not what the allowed
modules import in turn.
"""

from __future__ import annotations

from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class OnlyContract(Contract):
    type_name = "only"

    modules = fields.ListField(subfield=fields.StringField())
    allowed = fields.ListField(subfield=fields.StringField())
    besides = fields.ListField(subfield=fields.StringField(), required=False, default=())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        ours = cast("list[str]", self.modules)
        allowed = cast("list[str]", self.allowed)
        besides = cast("list[str]", self.besides)
        fine = [*ours, *allowed]
        strays = sorted(
            f"{importer} imports {imported}"
            for importer in graph.modules
            if _inside(importer, ours) and not _inside(importer, besides)
            for imported in graph.find_modules_directly_imported_by(importer)
            if imported in graph.modules
            and (not _inside(imported, fine) or _inside(imported, besides))
        )
        return ContractCheck(
            kept=not strays, metadata={"strays": strays, "allowed": sorted(allowed)}
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        for stray in check.metadata["strays"]:
            output.print_error(stray)
        output.print_error(f"allowed: {', '.join(check.metadata['allowed'])}")


def _inside(module: str, packages: list[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)
