"""`longhouse up`: start this store's server and print how to reach it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhouse.client import launch, locate
from longhouse.config import Settings
from longhouse.surfaces.cli import disk
from longhouse.surfaces.cli.clients import entries, spoken
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import GLOBALS, Command, Flag, Shown

_FOR_THE_START = (
    "host",
    "port",
    "policy",
    "toolset",
    "workspace_lock",
    "workspace_allowlist",
    "project_guard",
    "runner_autostart",
)
_SERVER_FLAGS = ("dir", "workspace", "agent_id", *_FOR_THE_START)


def run(cli: Cli, foreground: bool = False) -> Shown | int:
    from longhouse.surfaces.cli.adopting import settle_store

    settle_store(cli)
    settings = cli.settings
    if foreground and not launch.alive(settings.dir):
        return _foreground(cli)
    cli.out.progress(f"starting the server for {settings.dir} …")
    started = launch.start(settings, server_arguments(cli), environment=server_environment(cli))
    if started.fresh:
        _renew_runners(cli)
    data = described(settings, started.running)
    if not started.fresh and (unheard := _unheard(cli, started.running)):
        cli.out.note(
            "note", f"the server keeps its settings: {unheard} applies after `longhouse down`"
        )
    _say_if_moved(cli, started.running)
    if wrong := disk.trouble(settings.dir):
        cli.out.note("disk", "; ".join(wrong))
    return Shown({**data, "started": started.fresh}, _lines(cli, data, fresh=started.fresh))


def _say_if_moved(cli: Cli, running: locate.Running) -> None:
    """Tell the person if other programs may now get what was meant for the server."""
    from longhouse.surfaces.cli.setup.present import stray_entries

    if running.moved_from:
        cli.out.note(
            "moved",
            f"another program listens on port {running.moved_from}, where this store's server was; "
            f"the server is now at {running.url}. Close pages that are open at the old address. "
            "The command line, runners and `longhouse mcp` find the server by themselves",
        )
    for entry in stray_entries(running.url):
        cli.out.note(
            "moved",
            f"{entry.path} still tells {entry.client} to send its token to {entry.url}: change it "
            f"to {running.url}/mcp, or run `longhouse init`. If a program that you do not know "
            "listens there, replace the token: `longhouse token list`, `longhouse token revoke ID`",
        )


def _renew_runners(cli: Cli) -> None:
    """Retire runners that an earlier server started with settings that have changed since."""
    from longhouse.executors import load_options
    from longhouse.presence import retire, runners_here, settings_digest

    here = [one for one in runners_here(cli.settings.dir) if one.background]
    options = load_options({}, cli.settings.place) if here else None
    now = settings_digest(options, cli.settings.policy) if options else ""
    for one in here:
        if one.settings != now:
            retire(one)
            cli.out.note(
                "note",
                f"runner {one.runner_id} finishes its jobs with its old settings, then exits; "
                "the next runner uses the current ones",
            )


def _unheard(cli: Cli, running: locate.Running) -> str:
    """The flags given here that only apply when a server starts, though one already runs."""
    has_it = ("0", running.url.rpartition(":")[2])
    return ", ".join(
        f"--no-{flag.name}" if cli.flags[flag.key] is False else f"--{flag.name}"
        for flag in GLOBALS
        if flag.key in _FOR_THE_START and flag.key in cli.flags
        if flag.key != "port" or str(cli.flags["port"]) not in has_it
    )


def server_arguments(cli: Cli) -> list[str]:
    """The flags of this command line to pass on to the server."""
    given = {"dir": str(cli.settings.dir), **cli.flags}
    words = []
    for flag in GLOBALS:
        if flag.key not in _SERVER_FLAGS or given.get(flag.key) is None:
            continue
        if flag.value:
            words += [f"--{flag.name}", str(given[flag.key])]
        else:
            words.append(f"--{flag.name}" if given[flag.key] else f"--no-{flag.name}")
    return words


def server_environment(cli: Cli) -> dict[str, str]:
    """Settings that must not show up in the process list."""
    given = cli.flags.get("token") or cli.flags.get("token_file")
    token = cli.settings.token if given else None
    secret = {"LONGHOUSE_TOKEN": token, "LONGHOUSE_DB": cli.flags.get("db")}
    return {name: value for name, value in secret.items() if value}


def described(settings: Settings, running: locate.Running) -> dict[str, Any]:
    """Where the server is, and what to paste into a client. No secrets: output may be saved."""
    return {
        "url": running.url,
        "token_file": str(settings.dir / "token"),
        "pid": running.pid,
        "version": running.version,
        "dir": str(settings.dir),
        "workspace": settings.workspace,
        "clients": entries(settings),
    }


def _foreground(cli: Cli) -> int:
    """Run the server in this process; print its address as soon as it listens."""
    from longhouse.surfaces.server import serve

    def announce(running: Any, _sign_in_url: str) -> None:
        _say_if_moved(cli, running)
        for text in _lines(cli, described(cli.settings, running), fresh=True):
            cli.out.line(text)
        cli.out.flush()

    serve(cli.settings, announce=announce)
    return 0


def _lines(cli: Cli, data: dict[str, Any], *, fresh: bool) -> Iterator[str]:
    bold = cli.out.style
    state = "is up" if fresh else "is already up"
    yield bold(f"Longhouse {data['version']} {state} for workspace {data['workspace']}", "bold")
    yield f"  page   {bold(_page(cli, data['url']), 'blue')}"
    if not cli.out.for_people:
        yield f"  token  in {data['token_file']}"
    yield f"  store  {data['dir']}"
    clients = data["clients"]
    yield ""
    yield bold("Connect Claude Code", "bold")
    yield f"  {clients['claude_code']}"
    yield bold("Connect Codex: add to ~/.codex/config.toml", "bold")
    yield from (f"  {line}" for line in clients["codex"].splitlines())
    yield bold("Connect another MCP client", "bold")
    yield f"  {clients['json']}"
    yield ""
    say = spoken()
    yield f"next: {say} status      stop: {say} down"


def _page(cli: Cli, url: str) -> str:
    """The page's address; on a terminal it includes the token, so that a click signs in."""
    token = cli.settings.token or locate.token_of(cli.settings.dir)
    return f"{url}/#token={token}" if token and cli.out.for_people else url


command = Command(
    "up",
    "Start the server in the background; print its address and how to connect clients",
    flags=[Flag("foreground", "stay in this terminal and show the log; Ctrl-C stops the server")],
    run=run,
    details="""\
Running it twice is safe: the second run finds the server that is already up. On a terminal the
address includes the token that signs you in; otherwise only the token's file is named.""",
    examples=["longhouse up", "longhouse up --port 7331", "longhouse up --json"],
)
