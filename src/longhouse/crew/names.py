"""Names for agents: an adjective and a noun, so that people can say them.

There are enough pairs that collisions are rare; a name that is taken is skipped, not shared.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from longhouse.crew.errors import InvalidAgentId, NameGenerationExhausted
from longhouse.kernel.clock import Ids
from longhouse.kernel.labels import is_a_rank

__all__ = ["check_name", "generate"]

ATTEMPTS = 12

ADJECTIVES = """
agile alpine amber ancient arctic ardent ashen autumn azure balmy bold brave breezy bright brisk
bronze calm candid canny cedar chalky cheery civil clear clever coastal cobalt copper coral cosmic
crimson crisp curious dapper daring dawn deft dewy distant dusky eager early earnest easy ebony
elder elegant ember emerald even fabled fair faithful fancy fearless fern fleet floral fluent fond
frank free fresh frosty gentle gilded glad gleaming golden grand granite great green hardy hasty
hazel hearty helpful hidden honest humble icy indigo ivory jade jolly jovial keen kind lasting
lavender leafy level light lilac lively loyal lucid lunar magenta maple marble mellow merry mighty
mild mint misty modest mossy neat nimble noble northern oaken olive opal open orchid patient pearl
plain pleasant plucky polar proud quaint quick quiet rapid ready regal rosy ruby rugged rustic
sable saffron sage sandy scarlet serene sharp shiny silent silver sincere sleek smooth snowy solar
solid sonic southern spry stable stark steady stellar still stout sturdy subtle summer sunny swift
tawny teal tender tidal tidy topaz tranquil true trusty umber upbeat valiant velvet verdant vernal
vivid warm western wild willing windy winter wise witty woven young zesty
""".split()  # noqa: SIM905

NOUNS = """
acorn alder anchor antler arbor arch aspen aurora badger banyan basin bay beacon bear beaver birch
bison bluff bridge brook canyon cape cardinal caribou cascade cedar cliff cloud comet condor coral
cove crane creek crest cricket current cypress dale dawn deer delta dolphin dove dune eagle eddy
egret elk elm ember falcon fen fern field finch fjord flint forge fountain fox gale garden garnet
gazelle geyser glacier glade glen gorge granite grove gull harbor hare hawk hazel heath hedge
heron hill hollow horizon ibex inlet iris island ivy jasper jay juniper kelp kestrel kite knoll
lagoon lake lantern larch lark laurel ledge leopard lichen lily linden lion llama loon lotus lynx
magpie maple marsh marten meadow mesa mill moon moor moss mountain oak oasis ocean orca orchard
oriole osprey otter owl oyster palm panda panther peak pebble pelican pine plain planet plover
pond poplar prairie puffin quail quarry quartz rain raven reed reef ridge river robin rook rowan
sail salmon sequoia shale shoal shore shrike sky snow sparrow spring spruce star stone stork
stream summit swallow swan tarn tern thicket thistle thrush tide tiger timber trail trout tulip
tundra vale valley violet vista walnut walrus water wave whale willow wind wolf wren yarrow yew
zephyr
""".split()  # noqa: SIM905

_NAME = re.compile(r"(?=.{3,48}\Z)[a-z0-9]+(?:-[a-z0-9]+)*\Z")


_OF_A_JOB = re.compile(r"job-[0-9]+\Z")


def check_name(name: str) -> str:
    """The trimmed name; raises InvalidAgentId if it is not valid."""
    name = name.strip()
    if not _NAME.match(name):
        raise InvalidAgentId(
            f"name: {name[:80]!r} is not a valid agent name",
            recovery="use 3 to 48 characters: a-z, 0-9 and single hyphens, like amber-otter",
        )
    if is_a_rank(name):
        raise InvalidAgentId(
            f"name: {name!r} is a rank, not a name",
            recovery="choose another name, like amber-otter",
        )
    if _OF_A_JOB.match(name):
        raise InvalidAgentId(
            f"name: {name!r} is reserved for a job",
            recovery="choose another name, like amber-otter",
        )
    return name


def generate(ids: Ids, taken: Callable[[str], bool]) -> tuple[str, int]:
    """A free name, and how many names drawn before it were taken."""
    for collisions in range(ATTEMPTS):
        noun, adjective = divmod(int(ids.token(8), 16), len(ADJECTIVES))
        name = f"{ADJECTIVES[adjective]}-{NOUNS[noun % len(NOUNS)]}"
        if not taken(name):
            return name, collisions
    raise NameGenerationExhausted(f"no free name in {ATTEMPTS} attempts")
