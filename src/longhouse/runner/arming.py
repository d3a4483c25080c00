"""Which files of a change would arm a later session, and so wait for a person's word.

They make a program run, or tell an agent what to do, as soon as somebody opens the project, starts
a session, commits, checks out or pushes. Code that runs only when the project itself is run or
tested is not here: that is what jobs are asked to write. Names are compared as the most forgiving
file system would: without case, in one Unicode form, without characters that are ignored there.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from longhouse.executors import SUFFIXES, beside, imports_of

__all__ = ["Changed", "arming", "imports", "reason"]

_AGENT = "an agent's settings: its hooks and servers start with a session"
_TOLD = "instructions that every later agent follows"
_EDITOR = "an editor runs tasks or programs that it names when the folder is opened"
_SHELL = "a shell or a tool loads it, and it sets what runs"
_GIT = "git runs programs by it, or treats files by it"
_HOOK = "a hook runs it when somebody commits or pushes"
_CI = "it runs on a build server, with that server's secrets"
_OURS = "Longhouse reads its settings there"

_FOLDERS = {
    **dict.fromkeys(
        [
            ".claude",
            ".codex",
            ".cursor",
            ".gemini",
            ".qwen",
            ".opencode",
            ".windsurf",
            ".roo",
            ".continue",
            ".kiro",
            ".junie",
            ".augment",
            ".amp",
            ".crush",
            ".goose",
            ".agents",
            ".agent",
            ".clinerules",
            ".mcp",
        ],
        _AGENT,
    ),
    **dict.fromkeys(
        [".vscode", ".idea", ".devcontainer", ".zed", ".fleet", ".vim", ".nvim"], _EDITOR
    ),
    **dict.fromkeys([".mise", ".direnv"], _SHELL),
    **dict.fromkeys([".githooks", ".git-hooks", ".husky", ".lefthook"], _HOOK),
    **dict.fromkeys(
        [
            ".github",
            ".gitlab",
            ".circleci",
            ".buildkite",
            ".woodpecker",
            ".forgejo",
            ".gitea",
            ".teamcity",
            ".semaphore",
            ".azure-pipelines",
            ".builds",
        ],
        _CI,
    ),
    ".git": _GIT,
    ".longhouse": _OURS,
}
"""Folders, anywhere in the tree: everything in them counts, and so does a file of that name."""

_FILES = {
    r"\.mcp\.json|opencode\.jsonc?|\.?crush\.json|\.aider.*|\.continuerc.*": _AGENT,
    r"(agents|claude|gemini|qwen|warp|crush)(\..{1,200})?\.md|\.(cursor|windsurf|roo|cline)rules.{0,200}"
    r"|\.goosehints|\.rules|copilot-instructions\.md": _TOLD,
    r"\.envrc.{0,200}|\.env(?!\.(example|sample|template|dist)$)(\..{0,200})?|\.?mise(\..{1,200})?\.toml"
    r"|\.autoenv.{0,200}|\.tool-versions": _SHELL,
    r".{0,200}\.code-workspace|\.?devcontainer\.json|\.exrc|\.(n|l)?vimrc|\.nvim\.lua|\.dir-locals\.el"
    r"|\.dir-locals-2\.el": _EDITOR,
    r"\.gitattributes|\.gitmodules|\.gitconfig|\.lfsconfig": _GIT,
    r"\.?lefthook(-local)?\.(ya?ml|toml|json)|\.pre-commit-(config|hooks)\.ya?ml"
    r"|\.lintstagedrc.*|\.huskyrc.*|\.overcommit\.yml": _HOOK,
    r"\.gitlab-ci\.ya?ml|jenkinsfile.{0,200}|\.travis\.ya?ml|azure-pipelines.{0,200}\.ya?ml"
    r"|bitbucket-pipelines\.ya?ml|\.drone\.(ya?ml|star|jsonnet)|\.woodpecker\.ya?ml"
    r"|\.?appveyor\.ya?ml|\.cirrus\.(ya?ml|star)|\.builds?\.ya?ml|cloudbuild\.ya?ml"
    r"|buildspec\.ya?ml": _CI,
}
"""Patterns of file names, anywhere in the tree."""
_PATTERNS = [(re.compile(f"(?:{pattern})", re.DOTALL), why) for pattern, why in _FILES.items()]

_IGNORED = re.compile(
    "[\u00ad\u034f\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
_LINK, _SUBMODULE = "120000", "160000"
_HOPS = 10
MOST_READ = 2_000
"""Files read for their imports. A job that adds more must first change one that is held."""


class Changed(NamedTuple):
    """One changed path: its mode after the change (000000 if it is gone) and a link's target."""

    path: str
    mode: str
    target: str = ""


def arming(
    changes: Iterable[Changed], links: Mapping[str, str], imported: Iterable[str] = ()
) -> dict[str, str]:
    """The paths that need a person's word, each with the reason.

    `links` are all symbolic links of the tree after the change: what a link with such a name
    leads to counts as well. `imported` is what instruction files name (`imports`).
    """
    behind = {_through(path, links): why for path in links if (why := reason(path)) is not None}
    told = frozenset(imported)
    found = {}
    for one in changes:
        if why := _why(one, behind):
            found[one.path] = why
        elif _folded_path(one.path) in told:
            found[one.path] = f"an instruction file imports it: {_TOLD}"
    return found


def imports(names: Iterable[str], links: Mapping[str, str], read: Callable[[str], str]) -> set[str]:
    """The paths that the instruction files of a tree import, or those imports do, in folded form.

    `names` are all files and links of the tree; `read` gives the text of a file. An import is
    meant from the place of a link and from that of its target; if it names a link, both count.
    """
    spelled = {_folded_path(name): name for name in names}
    waiting = [name for name in spelled.values() if reason(name) and _is_prose(name)]
    seen, found = set(waiting), set[str]()
    for name in waiting:  # grows
        place = _through(name, links)
        target = spelled.get(place)
        if target is None or target in links:
            continue
        for word in _named_in(read(target)):
            for start in {name, target}:
                path = beside(start, word)
                reached = {_folded_path(path), _through(path, links)}
                found |= reached
                fresh = {spelled[one] for one in reached if one in spelled} - seen
                if len(seen) < MOST_READ:
                    seen |= fresh
                    waiting += sorted(fresh)
    return found


def _is_prose(name: str) -> bool:
    return name.casefold().endswith(SUFFIXES)


def _named_in(text: str) -> set[str]:
    """What a text imports: a line of its own, as we read it, or a word, as Claude Code does."""
    words = {word[1:] for word in text.split() if word.startswith("@") and len(word) > 1}
    return {*imports_of(text), *words, *(word.rstrip(".,;:!?)]}'\"`*") for word in words)}


def reason(path: str) -> str | None:
    """Why a path needs a person's word by its name; None if it does not."""
    *folders, last = (_folded(part) for part in path.split("/"))
    for name in (*folders, last):
        if name in _FOLDERS:
            return _FOLDERS[name]
    return next((why for pattern, why in _PATTERNS if pattern.fullmatch(last)), None)


def _why(one: Changed, behind: Mapping[str, str]) -> str | None:
    if one.mode == _SUBMODULE:
        return "a submodule brings the code of another repository"
    if why := reason(one.path):
        return why
    folded = _folded_path(one.path)
    for place, why in behind.items():
        if folded == place or folded.startswith(f"{place}/"):
            return f"a link leads to it: {why}"
    if one.mode == _LINK:
        if one.target.startswith("/") or _leaves(one):
            return "a link that leads out of the project"
        if why := reason(one.target):
            return f"a link to such a file: {why}"
    return None


def _leaves(one: Changed) -> bool:
    to = posixpath.normpath(posixpath.join(posixpath.dirname(one.path), one.target))
    return to == ".." or to.startswith("../")


def _through(path: str, links: Mapping[str, str]) -> str:
    """Where a link in the tree leads, through further links, in folded form."""
    for _ in range(_HOPS):
        parts = path.split("/")
        heads = ("/".join(parts[:n]) for n in range(1, len(parts) + 1))
        link = next((head for head in heads if head in links), None)
        if link is None:
            break
        to = posixpath.join(posixpath.dirname(link), links[link])
        path = posixpath.normpath(posixpath.join(to, path[len(link) + 1 :]))
    return _folded_path(path)


def _folded_path(path: str) -> str:
    return "/".join(_folded(part) for part in path.split("/"))


def _folded(name: str) -> str:
    """A name as file systems that ignore case, Unicode form and some characters compare it.

    Windows also drops trailing dots and blanks, and what follows a colon.
    """
    flat = unicodedata.normalize("NFKD", _IGNORED.sub("", name)).casefold()
    return unicodedata.normalize("NFKD", flat).partition(":")[0].rstrip(". ") or name
