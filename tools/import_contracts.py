"""Two import-linter contracts of our own: `only` and `doors`. Both look at direct imports only.

`only`: of our own packages, these modules may import only the allowed ones. Unlike the `forbidden`
contract it is an allowlist: a new package is excluded until it is added, and modules that do not
exist yet are not an error. `besides` exempts submodules: the others may not import them, and they
need a contract of their own.

`doors`: others import from these packages only what their `__init__.py` lists
(`longhouse.kernel.doors`), the modules that each may have under a name in `open`, such as `types`,
and those in `modules`, which a door offers as a whole.
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


class DoorsContract(Contract):
    type_name = "doors"

    packages = fields.ListField(subfield=fields.StringField())
    open = fields.ListField(subfield=fields.StringField())
    modules = fields.ListField(subfield=fields.StringField(), required=False, default=())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        packages = cast("list[str]", self.packages)
        names = cast("list[str]", self.open)
        free = [f"{package}.{name}" for package in packages for name in names]
        free += cast("list[str]", self.modules)
        strays = sorted(
            f"{importer} imports {imported}"
            for imported in graph.modules
            if _inside(imported, packages) and imported not in packages
            if not _inside(imported, free)
            for importer in graph.find_modules_that_directly_import(imported)
            if _room(importer) != _room(imported)
        )
        return ContractCheck(kept=not strays, metadata={"strays": strays})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for stray in check.metadata["strays"]:
            output.print_error(stray)
        output.print_error("import it from the package; what others need is listed in __init__.py")


def _inside(module: str, packages: list[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _room(module: str) -> list[str]:
    """A room sees all of itself: a package inside it has a door for others only."""
    return module.split(".")[:2]
