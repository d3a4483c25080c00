"""An import-linter contract: these modules may import, of our own packages, only the allowed ones.

Unlike the `forbidden` contract it is a list of what may be, so a new package is out until somebody
lets it in, and modules that do not exist yet are no error. Modules `besides` are none of them: the
rest may not import them, and a contract of their own holds them. Only direct imports count: what
the allowed ones import is their affair.
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
