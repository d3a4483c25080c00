"""The host names that a server answers to: the check against DNS rebinding."""

from __future__ import annotations

import ipaddress
import socket

from longhouse.surfaces.http.responses import HostNotAllowed, OriginNotAllowed

__all__ = ["Hosts", "is_loopback"]

MOST_HOSTS = 64


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class Hosts:
    """The host names that this server answers to."""

    def __init__(self, bound: str, allowed: tuple[str, ...]) -> None:
        self._loopback = is_loopback(bound)
        self._names = {name.lower() for name in (bound, *allowed)} | {"localhost"}
        self._seen: set[str] = set()
        """Hosts that were let in before, as they were written."""
        if not self._loopback:
            self._names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    def check(self, host: str | None, origin: str | None) -> None:
        """Refuse what a browser would send after DNS rebinding, or from another site."""
        if host not in self._seen:
            if not host or not self._known(_without_port(host)):
                raise HostNotAllowed
            if len(self._seen) < MOST_HOSTS:
                self._seen.add(host)
        if origin is not None:
            scheme, _, netloc = origin.partition("://")
            if scheme not in ("http", "https") or netloc.lower() != host.lower():
                raise OriginNotAllowed

    def _known(self, name: str) -> bool:
        if name.lower() in self._names:
            return True
        try:
            address = ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        # An IP address cannot be rebound; a loopback server accepts only loopback addresses.
        return address.is_loopback or not self._loopback


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]
