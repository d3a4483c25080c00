"""Words that teams use for the same thing: a query for one finds the others, at less weight."""

from __future__ import annotations

from functools import cache

from longhouse.store.recall.stems import stem

__all__ = ["synonyms"]

_RINGS = """
account user
add create introduce insert
admin administrator operator
allow permit enable
app application
arg argument param parameter option
async asynchronous
auth authentication authorization login
backup snapshot dump
bug defect fault problem issue
build compile
cert certificate tls ssl
change modify edit alter update
check verify validate
ci pipeline
choose pick select decide prefer
code source
command cli
config configuration setting settings
cost price expensive
coupon discount voucher
crash abort panic segfault
creds credential credentials secret password
db database
delete remove drop purge erase
dep dependency dependencies package library
deploy release rollout ship
dev development
dir directory folder
doc docs documentation manual
email mail
endpoint route url
env environment
error failure exception fault fail
error err
event message
fast quick speed
file document
find search lookup locate
fix repair mend resolve solve
flaky intermittent unstable unreliable
fn func function method
hang stuck freeze block deadlock
host machine server node computer
id identifier
image picture photo
impl implementation implement
info information
init initialize setup
job task work
js javascript
k8s kubernetes
keep retain retention preserve
kill terminate stop end
large big huge
latency slow delay
limit cap maximum quota
license licence
limit threshold
log logging
max maximum
memory ram
min minimum
migrate migration upgrade move
money amount price currency
monitor observe alert metric
msg message
num number count
old stale outdated previous
owner responsible maintainer
page screen view
perf performance speed
perm permission permissions access
pg postgres postgresql
pr review
prod production live
py python
queue backlog
reason rationale because
rename renamed
repo repository
req request
require need must
resp response reply answer
restart reboot
rule policy
schedule cron timer
send deliver transmit
session login
sign login
size large
slow slowness sluggish latency long
spec specification
start launch boot begin
stop halt quit
sync synchronize
temp tmp temporary
test spec
thread concurrency concurrent parallel
timeout deadline expire
twice double duplicate two
token key
ts typescript
ui interface frontend
use adopt
var variable
version release
wait delay
warn warning
write save store persist
wrong incorrect broken
"""


@cache
def _rings() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for line in _RINGS.split("\n"):
        ring = line.split()
        for word in ring:
            found.setdefault(stem(word), {}).update(
                (other, None) for other in ring if stem(other) != stem(word)
            )
    return {word: tuple(others) for word, others in found.items()}


def synonyms(word: str) -> tuple[str, ...]:
    """Other words for about the same."""
    return _rings().get(stem(word), ())
