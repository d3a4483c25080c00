"""Access control: decides once, before routing, who is calling and whether it may.

Host and Origin are checked against DNS rebinding; then the bearer token determines the role. `/`
and its files, `/healthz` and `/readyz` need no token, because they reveal nothing from the store.
A request may ask for less than its token allows (`Longhouse-Role`); each session is then a separate
caller, so that two processes of one MCP client have separate claims and keys. A job's agent has no
row in the token table: its token is valid as long as the claim that named it.
"""

from __future__ import annotations

import hmac
import re
import time
from collections.abc import Collection, Mapping
from typing import NamedTuple

import anyio
import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from longhouse.desk import TOKENS, digest_of, workspaces_of
from longhouse.dispatch import Caller, Turns
from longhouse.house import House
from longhouse.jobs import claim_of_agent
from longhouse.kernel.errors import (
    InternalError,
    InvalidInput,
    LonghouseError,
    Unauthenticated,
)
from longhouse.kernel.registry import Role
from longhouse.kernel.standing import PERSON
from longhouse.store.database import CHECKS, HOUSE
from longhouse.store.engine import Row, SignalCounts
from longhouse.store.tx import Call, Tx, sql
from longhouse.surfaces.http.hosts import Hosts, is_loopback
from longhouse.surfaces.http.responses import (
    RepeatedHeader,
    respond,
)
from longhouse.surfaces.sessions import AGENT_HEADER, ROLE_HEADER, SESSION_HEADER

__all__ = [
    "STREAMS",
    "VIEWS",
    "WATCH_S",
    "AccessGate",
    "Activity",
    "Hosts",
    "Identity",
    "Tokens",
    "caller_of",
    "is_loopback",
    "owner_of",
]

VIEWS = ("sessions", "work", "jobs", "files", "memory", "processes", "history")
"""Views of the page that have their own path; the start view is at `/`."""
OPEN_PATHS = frozenset({"/", "/healthz", "/readyz", "/favicon.ico", *(f"/{v}" for v in VIEWS)})
OPEN_PREFIXES = ("/static/", *(f"/{view}/" for view in VIEWS))
STREAMS = re.compile(r"/events\Z|/mcp\Z|/tasks/[^/]+/(?:events|wait|output/raw|recording)\Z")
"""Paths that stay open: limited in number for each token, and ended when their token is."""
ANYONE = "anyone"
"""The owner of requests on open paths: all of them together take turns with the tokens."""
NOBODY = "nobody"
"""The owner of requests without a valid token, and of a token's first."""
KNOCK_S = 0.000_2
"""About what a connection costs the loop outside all turns; those without a token open many."""
MOST_KNOWN = 4_096
NAME_CHARS = 200
TRUSTED_S = 1.0
"""After this a token is read again: a process that was killed may have told nobody of its write."""
WATCH_S = 0.4
"""How often the tokens of open streams and waits are checked: they end within a second."""

log = structlog.get_logger()

_CALLER = "longhouse.caller"
_OWNER = "longhouse.owner"
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]


def caller_of(scope: Scope) -> Caller:
    caller: Caller = scope[_CALLER]
    return caller


def owner_of(scope: Scope) -> str:
    """The id of the token that a request came with, which is not a secret; '' on open paths."""
    owner: str = scope.get(_OWNER, "")
    return owner


class Identity(NamedTuple):
    """The owner of a request's token; `digest` is set if the store can revoke it.

    `payer` is the token whose limits and turns it shares, if those are not its own: whoever claims
    jobs may name as many agents as there are jobs.
    """

    owner: str
    role: Role
    name: str | None = None
    workspaces: tuple[str, ...] | None = None
    digest: str | None = None
    runner: bool = False
    client: bool = False
    payer: str | None = None

    @property
    def pays(self) -> str:
        return self.payer or self.owner

    def caller(self, headers: Mapping[str, str]) -> Caller:
        """The caller of one request, limited to the role it asks for."""
        role, owner = self.role, self.owner
        asked, said = headers.get(ROLE_HEADER), headers.get(AGENT_HEADER, "")[:NAME_CHARS] or None
        if asked is not None:
            if asked.upper() not in Role.__members__:
                raise InvalidInput(
                    f"{ROLE_HEADER}: {asked[:40]!r} is not a role",
                    recovery="use viewer, agent, manager or operator",
                )
            role = min(role, Role[asked.upper()])
            session = headers.get(SESSION_HEADER, "")[:NAME_CHARS]
            if session and owner != self.digest:  # a job's agent is one caller in all its processes
                owner = f"{owner}/{session}"
        leads = self.role >= Role.MANAGER
        return Caller(
            role,
            owner=owner,
            agent=self.name,
            name=said if leads else None,
            said=None if leads else said,
            workspaces=self.workspaces,
            runner=self.runner,
            client=self.client,
            payer=self.payer,
        )


class _Known(NamedTuple):
    """What was read about a token, and until when it counts without reading it again."""

    identity: Identity
    expires_at_ms: int | None
    others: SignalCounts
    read_at: float


class Tokens:
    """The tokens that this server accepts: its own and those in the store.

    What was read about a token is used again while nobody but this process has written, and this
    process has revoked none: a revocation counts at once. Where others' writes are not known at
    once (PostgreSQL), each request reads it.
    """

    def __init__(self, house: House, *own: str | None) -> None:
        self._house = house
        self._own = [digest_of(token) for token in own if token]
        self.owners: dict[str, str] = {}
        """Who pays for each token that was valid at its last use, by digest."""
        self._read: dict[str, _Known] = {}
        self._revocations = 0
        house.db.wakeups.listen_for_knocks(self._hear)

    def last_owner(self, authorization: str | None) -> str:
        """Whose turn a request takes: the owner of its token if that was valid before, or NOBODY.

        So tokens that somebody invents get one turn together, not one each. This permits nothing.
        """
        digest = digest_in(authorization)
        return NOBODY if digest is None else self.owners.get(digest, NOBODY)

    async def identify(self, authorization: str | None) -> Identity:
        """The identity of a token; every other header value is refused in the same way."""
        return await self.identify_digest(digest_in(authorization))

    async def identify_digest(self, digest: str | None) -> Identity:
        """The same by the token's digest."""
        if digest is None:
            raise Unauthenticated
        if any(hmac.compare_digest(digest, own) for own in self._own):
            found: Identity | None = Identity(PERSON, Role.OPERATOR)
        else:
            found = self._remembered(digest) or await self._find(digest)
        if found is None:
            self.owners.pop(digest, None)
            raise Unauthenticated("this token is unknown, was revoked, or has expired")
        if len(self.owners) >= MOST_KNOWN and digest not in self.owners:
            self.owners.clear()
        self.owners[digest] = found.pays
        return found

    async def ended(self, identities: set[Identity]) -> set[Identity]:
        """The identities whose token was revoked or has expired."""

        def look(tx: Tx) -> set[Identity]:
            return {one for one in identities if one.digest and _owner(tx, one.digest) != one}

        db, call = self._house.db, self._call()
        return await db.apart(HOUSE, lambda: db.read("", look, call), CHECKS)

    async def _find(self, digest: str) -> Identity | None:
        """The token's identity, never behind anyone's reads: one indexed row, or a thread."""
        db, call = self._house.db, self._call()

        def find() -> Identity | None:
            return db.read("", lambda tx: _owner(tx, digest), call)

        others = db.engine.others()
        if others is None:
            return await db.apart(self.owners.get(digest, NOBODY), find, CHECKS)
        revocations, read_at = self._revocations, time.monotonic()
        row = db.read("", lambda tx: _token(tx, digest), call)
        if row is None:
            return find()
        known = _Known(_identity(row, digest), row["expires_at_ms"], others, read_at)
        if revocations == self._revocations:
            if len(self._read) >= MOST_KNOWN:
                self._read.clear()
            self._read[digest] = known
        return known.identity

    def _remembered(self, digest: str) -> Identity | None:
        """The token's identity, if nothing can have changed since it was read."""
        known = self._read.get(digest)
        if known is None or known.others != self._house.db.engine.others():
            return None
        if time.monotonic() - known.read_at > TRUSTED_S:
            return None
        ends = known.expires_at_ms
        if ends is not None and ends <= self._house.dispatcher.clock.now_ms():
            return None
        return known.identity

    def _hear(self, _workspace: str | None, keys: Collection[str] | None) -> None:
        """In the thread that committed."""
        if keys is None or TOKENS in keys:
            self._revocations += 1
            self._read = {}

    def any_made(self) -> bool:
        """Whether a valid token exists, apart from those of MCP clients on this machine."""
        call = self._call()
        rows = self._house.db.read(
            "", lambda tx: tx.all(sql.token_list, token_id=None, limit=500), call
        )
        return any(
            row["revoked_at_ms"] is None
            and not row["client"]
            and (row["expires_at_ms"] is None or row["expires_at_ms"] > (call.now_ms or 0))
            for row in rows
        )

    def _call(self) -> Call:
        dispatcher = self._house.dispatcher
        return Call(now_ms=dispatcher.clock.now_ms(), ids=dispatcher.ids)


def digest_in(authorization: str | None) -> str | None:
    """The digest of the bearer token in a header, if there is one."""
    scheme, _, token = (authorization or "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or len(token) > 512:
        return None
    return digest_of(token)


def _token(tx: Tx, digest: str) -> Row | None:
    return tx.one(sql.token_by_digest, digest=digest, now=tx.now_ms)


def _identity(row: Row, digest: str) -> Identity:
    limit, role = workspaces_of(row["workspaces"]), Role[row["role"].upper()]
    name, runner, client = row["name"] or None, bool(row["runner"]), bool(row["client"])
    return Identity(row["token_id"], role, name, limit, digest, runner, client)


def _owner(tx: Tx, digest: str) -> Identity | None:
    """The identity with that digest: of a token, or of the agent of a claimed job."""
    if row := _token(tx, digest):
        return _identity(row, digest)
    claim = claim_of_agent(tx, digest)
    if claim is None:
        return None
    holder = claim.owner.partition("/")[0]
    if holder == PERSON:
        return Identity(digest, Role.AGENT, None, (claim.workspace,), digest)
    # Jobs claimed by a job's agent give no one a token: it could outlive the agent's own.
    row = tx.one(sql.token_lives, token_id=holder, now=tx.now_ms)
    if row is None:
        return None
    payer = None if row["runner"] else holder
    return Identity(digest, Role.AGENT, None, (claim.workspace,), digest, payer=payer)


class Activity:
    """Counts open requests and records when the last one ended; health checks do not count."""

    def __init__(self) -> None:
        self.open = 0
        self._ended = time.monotonic()

    def enter(self, counts: bool) -> None:
        self.open += counts

    def leave(self, counts: bool) -> None:
        self.open -= counts
        if counts:
            self._ended = time.monotonic()

    def idle_s(self) -> float:
        return 0.0 if self.open else time.monotonic() - self._ended


class AccessGate:
    """The outermost ASGI layer: identifies the caller of a request, or refuses it."""

    def __init__(
        self, app: ASGIApp, house: House, tokens: Tokens, hosts: Hosts, activity: Activity
    ) -> None:
        self._app = app
        self._house = house
        self._tokens = tokens
        self._hosts = hosts
        self._activity = activity
        self._turns = Turns(guests=(ANYONE, NOBODY))
        house.db.used = self._owed
        self._open: dict[Caller, tuple[Identity, anyio.CancelScope | None]] = {}

    def _owed(self, owner: str, seconds: float) -> None:
        """What a thread of the store did for an owner; any thread says so."""
        self._turns.owe(owner, seconds)

    async def watch(self) -> None:
        """Keep ending streams and waits whose token was revoked, until the server stops."""
        while True:
            await anyio.sleep(WATCH_S)
            try:
                await self.end_revoked()
            except Exception as error:  # the store is down, so no new request is admitted either
                log.warning("tokens.unchecked", error=repr(error))

    async def end_revoked(self) -> None:
        """End streams and waits whose token was revoked or has expired."""
        under = {identity for identity, _ in self._open.values() if identity.digest}
        if not under or not (ended := await self._tokens.ended(under)):
            return
        for caller, (identity, stream) in tuple(self._open.items()):
            if identity in ended:
                caller.revoked = True
                if stream is not None:
                    stream.cancel()
        self._house.dispatcher.end_revoked_waits()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        answered = False

        async def guarded(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            else:
                answered = not message.get("more_body", False)
            await send(message)

        counts = scope["path"] not in ("/healthz", "/readyz")
        self._activity.enter(counts)
        try:
            await self._serve(scope, receive, guarded)
        except Exception:
            if not answered:  # otherwise it was logged with its answer
                raise
        finally:
            self._activity.leave(counts)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            identity = await self._admit(scope)
        except Exception as error:
            shown = error if isinstance(error, LonghouseError) else InternalError()
            if shown is not error:
                shown.__cause__ = error
            await respond(self._house.dispatcher.fail("error", shown))(scope, receive, send)
            return
        if identity is None:
            await self._app(scope, receive, send)
            return
        caller = caller_of(scope)
        streams = scope["method"] == "GET" and STREAMS.match(scope["path"])
        stream = anyio.CancelScope() if streams else None
        self._open[caller] = (identity, stream)
        try:
            if stream is None:
                self._turns.enter(identity.pays)
                try:
                    await self._app(scope, receive, send)
                finally:
                    self._turns.leave(identity.pays)
            else:
                await self._stream(stream, scope, receive, send)
        finally:
            del self._open[caller]

    async def _stream(
        self, stream: anyio.CancelScope, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve a stream; if it is canceled, end it, or refuse it if it had not started."""
        last: Message | None = None

        async def watched(message: Message) -> None:
            nonlocal last
            last = message
            await send(message)

        with stream:
            await self._app(scope, receive, watched)
        if not stream.cancelled_caught:
            return
        if last is None:
            gone = Unauthenticated("this token was revoked or has expired")
            await respond(self._house.dispatcher.fail("error", gone))(scope, receive, send)
        elif last["type"] == "http.response.start" or last.get("more_body", False):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _admit(self, scope: Scope) -> Identity | None:
        """The identity of the caller; None for public paths."""
        # White space around a header value is not part of it, but the parser keeps trailing space.
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        headers = Headers(scope=scope)
        for name in ("host", "origin", "authorization"):  # a proxy may have checked the other one
            if len(headers.getlist(name)) > 1:
                raise RepeatedHeader(f"{name}: given more than once")
        self._hosts.check(headers.get("host"), headers.get("origin"))
        path = scope["path"]
        if path in OPEN_PATHS or path.startswith(OPEN_PREFIXES):
            await self._turns.take(ANYONE)
            return None
        digest = digest_in(headers.get("authorization"))
        owner = self._tokens.owners.get(digest or "", NOBODY)
        await self._turns.take(owner)
        if owner == NOBODY:
            self._turns.charge(owner, KNOCK_S)
        identity = await self._tokens.identify_digest(digest)
        if not self._house.db.engine.local:  # the token was looked up on a thread
            await self._turns.take(identity.pays, begun=True)
        scope[_CALLER] = caller = identity.caller(headers)
        scope[_OWNER] = identity.owner
        caller.turns = self._turns.of(identity.pays)
        return identity
