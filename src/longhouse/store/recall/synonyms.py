"""Words that teams use for the same thing: a query for one finds the others, at less weight."""

from __future__ import annotations

from functools import cache

from longhouse.store.recall.stems import stem

__all__ = ["synonyms"]


_RINGS = """
accident incident injury
account user
accurate accuracy precise precision error
add create introduce insert
admin administrator operator
agree accept approve confirm
allow permit enable
answer reply respond response
app application
arg argument param parameter option
async asynchronous
auth authentication authorization login
avoid prevent forbid
backup snapshot dump
ban block forbid prohibit disallow lock
battery power drain current energy
birthday birth
boss manager lead
broken damaged defective faulty
bug crash
bug defect fault problem issue
build compile
buy purchase order checkout
calendar schedule
car vehicle van truck
cert certificate tls ssl
change modify edit alter update
chart graph dashboard
cheap inexpensive affordable
cheat hack exploit
check verify validate
child children kid kids
choose pick select decide prefer
ci pipeline
client customer buyer user
clinic hospital ward
close shut
code source
color colour
command cli
company firm business
complain complaint
config configuration setting settings
conflict clash
cost price expensive fee charge bill
coupon discount voucher
crash abort panic segfault
creds credential credentials secret password
crew team staff
dark brightness
db database
deadline due cutoff
decrease reduce lower fall drop shrink
delete remove drop purge erase
dep dependency dependencies package library
deploy release rollout ship
deposit advance
dev development
dir directory folder
doc docs documentation manual
doctor physician
download fetch
due expire
duplicate copy dupe
email mail
employee staff worker
empty blank
encrypt cipher
endpoint route url
env environment
error err
error failure exception fault fail
estimate predict prediction forecast eta
evidence proof
fair exhibition
fast quick speed
file document
find search lookup locate
finish complete done
fix repair mend resolve solve
flaky intermittent unstable unreliable
fn func function method
fraud scam abuse theft
gps location position
grow increase rise raise
guess hypothesis theory
hang stuck freeze block deadlock
hire employ
holiday vacation
host machine server node computer
hotline support helpdesk
id identifier
ill sick
image picture photo
impl implementation implement
improve better faster
info information
inform notify tell notification
init initialize setup
inside internal
interview survey
invoice bill
job task work
js javascript
k8s kubernetes
keep retain retention preserve
kill terminate stop end
lag latency delay slow
large big huge size
latency slow delay
law legal regulation
learn train training
license licence
limit cap maximum quota
limit threshold
localization localisation translation translator
log logging
lose lost missing
mandatory required
map minimap
max maximum
memory ram
migrate migration upgrade move
min minimum
mobile phone smartphone handheld device
moisture humidity
money amount price currency
monitor observe alert metric
mount horse
msg message
name title
notebook laptop
num number count
occur happen
old stale outdated previous
outage downtime unavailable
owner responsible maintainer
page screen view
parcel package shipment
partner vendor supplier
patient case
perf performance speed
perm permission permissions access
pg postgres postgresql
photo picture
pin code
pr review
prod production live
py python
queue backlog
quit leave leaver
rank rating elo score
reason rationale because
reboot restart
receive get
record log
refund reimburse
refuse reject decline
rename renamed
rent lease
replace swap substitute
repo repository
req request
require need must
reserve book booking
resolution solution
resp response reply answer
restart reboot
retry attempt
revert rollback undo
rule policy
salary wage pay
scan barcode
schedule cron timer
screen display monitor
secret key
seller merchant
send deliver transmit
session login
share portion
ship deliver delivery send
shop store
sign login
sign signature
site website
slow slowness sluggish latency
sms text message
space storage disk
spec specification
start launch boot begin
stop halt quit
store save
swamp marsh
sync synchronize
temp tmp temporary
term word
test spec
thread concurrency concurrent parallel
thread race
timeout deadline expire
token key
total sum amount
traffic bandwidth
ts typescript
twice double duplicate two
ui interface frontend
undelivered return
use adopt
var variable
version release
visible show display
vote poll
wait delay
warn warning
wifi wireless wlan
window slot
withdraw cancel
wrist arm
write save store persist
wrong incorrect broken
yank withdraw
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
