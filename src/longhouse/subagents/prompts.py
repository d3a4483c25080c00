"""Prompts made of markdown sections that carry their tools.

A section holds no session, and rendering has no side effects, so children can use the sections of
their parent's prompt unchanged.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from string import Template
from textwrap import dedent
from typing import Any

from longhouse.subagents.errors import PromptValidationError
from longhouse.subagents.tools import Tool

__all__ = ["MarkdownSection", "Prompt", "RenderedPrompt", "Section"]

KEY = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")

Path = tuple[str, ...]


class Section(ABC):
    """A heading, a body, tools, and subsections."""

    def __init__(self, *, title: str, key: str, children: Iterable[Section] = ()) -> None:
        key = key.strip().lower()
        if not KEY.fullmatch(key):
            raise PromptValidationError(
                f"section key {key!r} must be 1 to 64 of a-z, 0-9, dot, underscore and hyphen, "
                "and start with a letter or digit"
            )
        self.title = title
        self.key = key
        self.children = tuple(children)

    @abstractmethod
    def body(self) -> str:
        """The markdown below the heading."""

    def tools(self) -> tuple[Tool[Any, Any], ...]:
        return ()

    def enabled(self) -> bool:
        """Whether the section, its tools and its subsections are shown."""
        return True

    def render(self, depth: int = 0) -> str:
        heading = f"{'#' * (depth + 2)} {self.title}"
        return f"{heading}\n\n{self.body()}".strip()


class MarkdownSection(Section):
    """A section whose text is a template; its `$names` are fields of `params`."""

    def __init__(
        self,
        *,
        title: str,
        key: str,
        text: str,
        params: object = None,
        tools: Iterable[Tool[Any, Any]] = (),
        children: Iterable[Section] = (),
        enabled: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(title=title, key=key, children=children)
        self._template = Template(dedent(text).strip())
        self._tools = tuple(tools)
        self._enabled = enabled
        self._params: dict[str, object] = {}
        if params is not None:
            if not is_dataclass(params) or isinstance(params, type):
                raise PromptValidationError(
                    "params must be a dataclass instance", section_path=(self.key,)
                )
            self._params = {one.name: getattr(params, one.name) for one in fields(params)}
        if not self._template.is_valid():
            raise PromptValidationError(
                "a $ in the text must be $$ or start a name", section_path=(self.key,)
            )
        for name in self._template.get_identifiers():
            if name not in self._params:
                raise PromptValidationError(
                    f"${name} in the text is not a field of params", section_path=(self.key,)
                )

    def body(self) -> str:
        return self._template.substitute(self._params)

    def tools(self) -> tuple[Tool[Any, Any], ...]:
        return self._tools

    def enabled(self) -> bool:
        return self._enabled()


@dataclass(slots=True, frozen=True)
class RenderedPrompt:
    text: str
    tools: tuple[Tool[Any, Any], ...]


class Prompt:
    """Sections under a namespace and a key."""

    def __init__(
        self, *, ns: str, key: str, sections: Iterable[Section] = (), name: str | None = None
    ) -> None:
        for field, value in (("ns", ns), ("key", key)):
            if not value.strip():
                raise PromptValidationError(f"the prompt's {field} must not be blank")
        self.ns = ns
        self.key = key
        self.name = f"{ns}/{key}" if name is None else name
        self.sections = tuple(sections)
        owners: dict[str, str] = {}
        for path, section in _walk(self.sections, enabled_only=False):
            for tool in section.tools():
                if tool.name in owners:
                    raise PromptValidationError(
                        f"tool {tool.name} is already in section {owners[tool.name]}",
                        section_path=path,
                    )
                owners[tool.name] = "/".join(path)
        self.tool_names = frozenset(owners)
        """The names of all tools, including those in disabled sections."""

    def render(self) -> RenderedPrompt:
        shown = [(len(path) - 1, section) for path, section in _walk(self.sections)]
        return RenderedPrompt(
            text="\n\n".join(section.render(depth) for depth, section in shown),
            tools=tuple(tool for _, section in shown for tool in section.tools()),
        )


def _walk(
    sections: Iterable[Section], above: Path = (), *, enabled_only: bool = True
) -> Iterator[tuple[Path, Section]]:
    for section in sections:
        if enabled_only and not section.enabled():
            continue
        path = (*above, section.key)
        yield path, section
        yield from _walk(section.children, path, enabled_only=enabled_only)
