"""`longhouse demo`: watch a small team at work in a throwaway store; no model or key needed."""

from __future__ import annotations

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Command, Flag, Shown

MOST_SPEED = 1_000
QUESTION_S = 20
"""When the first question of the day is asked."""


def run(cli: Cli, speed: int = 1, leave: bool = False) -> Shown:
    import signal
    import sys

    from longhouse.kernel.errors import InvalidInput
    from longhouse.surfaces.cli.demo.day import Day
    from longhouse.surfaces.cli.demo.stage import Stage

    if not 1 <= speed <= MOST_SPEED:
        raise InvalidInput(
            f"--speed: {speed} is not between 1 and {MOST_SPEED}",
            recovery="for the whole day in ten seconds: longhouse demo --speed 60",
        )
    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, lambda *_: sys.exit(0))
    happened = []

    def tell(text: str) -> None:
        if not cli.as_json:
            cli.out.line(text)
            cli.out.flush()

    try:
        with Stage(speed, port=int(cli.flags.get("port") or 0)) as stage:
            tell("a throwaway store; Ctrl-C removes it")
            if cli.out.for_people:
                tell(f"  page   {stage.sign_in_url}")
            else:  # output may be saved, and must not let its reader sign in
                tell(f"  page   {stage.url}")
                tell(f"  token  in {stage.store / 'token'}")
            soon = max(1, QUESTION_S // speed)
            tell(f"  watch  a job asks a question in about {soon} s; answer it on the page")
            day = Day(stage)
            for beat in day.live():
                minute, second = divmod(beat.second, 60)
                tell(f"  {minute:02}:{second:02}  {beat.says}")
                happened.append({"second": beat.second, "says": beat.says})
            if not leave:
                tell("look around as long as you like; Ctrl-C removes everything")
                signal.pause()
    except KeyboardInterrupt:
        pass
    return Shown({"happened": happened}, ["the demo's store is gone; nothing is left behind"])


command = Command(
    "demo",
    "Watch two agents, a lead and a runner work through a day in a throwaway store",
    flags=[
        Flag("speed", "how many times faster the day passes (default: 1)", "N", kind=int),
        Flag("leave", "remove everything as soon as the day is over"),
    ],
    run=run,
    details="""\
Needs no model, no key and no repository, and touches none of your stores. In ten minutes you see a
question and its answer, a handoff, a reservation conflict, a killed runner, a takeover and proof.
Open the page that it prints and watch, or take part: your answers there count.""",
    examples=["longhouse demo", "longhouse demo --speed 10"],
)
