"""Natural guesses of callers who have read no schema: each is led to what it means."""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.dispatch.meaning import fit
from longhouse.house import registry
from longhouse.kernel.explain import sample
from longhouse.kernel.registry import PORTALS, Command, portal_of
from longhouse.kernel.schema import args_schema
from tests.kit import Lh

COMMANDS = """
agents.acknowledge agents.ack
agents.join agents.register
agents.create agents.register
agents.hello agents.register
agents.whoami agents.recommend
agents.mail agents.inbox
agents.mailbox agents.inbox
agents.message agents.send
agents.tell agents.send
agents.notify agents.send
agents.lock agents.reserve
agents.unlock agents.release
agents.claim agents.reserve
agents.unreserve agents.release
agents.leave agents.retire
agents.who agents.list
agents.get agents.show
agents.ping agents.heartbeat
agents.stuck agents.blocked
agents.handover agents.handoff
agents.reservations agents.status
docs.read docs.show
docs.get docs.show
docs.find docs.search
docs.grep docs.search
docs.compare docs.diff
docs.upload docs.artifact.add
docs.write vcs.notes.commit
docs.append vcs.notes.commit
docs.artifact.get docs.artifact.show
graph.add graph.apply
graph.node.add graph.apply
graph.search graph.query
graph.resolve graph.conflict.resolve
graph.check graph.validate
jobs.ask jobs.question
jobs.new jobs.create
jobs.submit jobs.create
jobs.run jobs.create
jobs.enqueue jobs.create
jobs.stop jobs.cancel
jobs.take jobs.claim
jobs.finish jobs.complete
jobs.done jobs.complete
jobs.fail jobs.complete
jobs.show jobs.open
jobs.get jobs.open
jobs.status jobs.radar
jobs.result jobs.open
jobs.logs jobs.tail
jobs.events jobs.tail
jobs.progress jobs.report
jobs.reply jobs.message
jobs.answer jobs.message
jobs.retry jobs.requeue
jobs.rerun jobs.requeue
jobs.poll jobs.wait
jobs.inbox jobs.radar
jobs.unclaim jobs.release
jobs.fanout tasks.macro.fanout.jobs
notes.commit vcs.notes.commit
notes.search docs.search
system.commands system.cmd.list
system.schema system.schema.get
system.describe system.schema.get
system.health system.diagnostics
system.doctor system.diagnostics
system.status status
system.tokens system.token.list
tasks.create tasks.plan.create
tasks.add tasks.plan.create
tasks.new tasks.macro.start
tasks.start tasks.macro.start
tasks.begin tasks.macro.start
tasks.claim tasks.step.lease.claim
tasks.take tasks.step.lease.claim
tasks.lock tasks.step.lease.claim
tasks.release tasks.step.lease.release
tasks.list tasks.context
tasks.search tasks.context
tasks.show tasks.snapshot
tasks.get tasks.snapshot
tasks.open tasks.snapshot
tasks.update tasks.edit
tasks.rename tasks.edit
tasks.assign tasks.edit
tasks.close tasks.complete
tasks.finish tasks.complete
tasks.cancel tasks.complete
tasks.remove tasks.delete
tasks.next tasks.execute.next
tasks.focus tasks.focus.get
tasks.select tasks.focus.set
tasks.switch tasks.focus.set
tasks.comment tasks.note
tasks.proof tasks.evidence.capture
tasks.evidence tasks.evidence.capture
tasks.evidence.add tasks.evidence.capture
tasks.decompose tasks.plan.decompose
tasks.step.add tasks.plan.decompose
tasks.steps.add tasks.plan.decompose
tasks.split tasks.plan.decompose
tasks.step.done tasks.done
tasks.step.verify tasks.verify
tasks.macro.step.close tasks.macro.close.step
tasks.log tasks.history
tasks.changes tasks.delta
tasks.check tasks.lint
tasks.todo tasks.ready
tasks.continue tasks.resume
tasks.delegate tasks.macro.delegate
tasks_macro_start tasks.macro.start
think.decide think.add.decision
think.hypothesis think.add.hypothesis
think.ask think.add.question
think.remember think.knowledge.upsert
think.recall think.knowledge.query
think.search think.query
think.connect think.link
think.add think.card
think.thought think.trace.sequential.step
vcs.branch vcs.branch.list
vcs.branches vcs.branch.list
vcs.branch.checkout vcs.checkout
vcs.branch.switch vcs.checkout
vcs.switch vcs.checkout
vcs.branch.remove vcs.branch.delete
vcs.history vcs.log
vcs.note vcs.notes.commit
vcs.notes.add vcs.notes.commit
vcs.notes.list docs.show
vcs.tag vcs.tag.create
vcs.tags vcs.tag.list
workspace.select workspace.use
workspace.switch workspace.use
workspace.create system.init
"""

ARGUMENTS = """
agents.register agent name
agents.register agent_name name
agents.send message body
agents.send text body
agents.send recipient to
agents.send task bead_id
agents.send from agent
agents.send title subject
agents.reserve path scope
agents.reserve files scope
agents.reserve task_id bead_id
agents.reserve name agent
agents.ack message_id message
docs.search query text
docs.search q text
docs.show document doc
docs.show task target
docs.diff base from
docs.diff head to
docs.merge source from
graph.query type types
graph.query id ids
graph.query query text
graph.apply operations ops
jobs.create description prompt
jobs.create instructions prompt
jobs.create name title
jobs.create depends_on after
jobs.create task_id task
jobs.create agent executor
jobs.create attempts max_attempts
jobs.open id job
jobs.open job_id job
jobs.open jobId job
jobs.claim runner runner_id
jobs.report text message
jobs.report revision claim_revision
jobs.report progress percent
jobs.complete result summary
jobs.complete outcome status
jobs.complete evidence refs
jobs.message text message
jobs.message reply message
jobs.cancel why reason
jobs.tail since after_seq
jobs.list state status
open ref id
open target id
system.schema.get command cmd
system.schema.get name cmd
system.cmd.list portal prefix
system.cmd.list filter prefix
tasks.macro.start title task_title
tasks.macro.start name task_title
tasks.macro.start goal task_title
tasks.macro.start text description
tasks.plan.create name title
tasks.plan.create task_title title
tasks.plan.create plan parent
tasks.plan.create body description
tasks.step.close step path
tasks.step.close evidence proof
tasks.step.close confirm checkpoints
tasks.step.close task_id task
tasks.note text note
tasks.note content note
tasks.edit owner assignee
tasks.edit name title
tasks.edit labels tags
tasks.edit blocked_by depends_on
tasks.complete state status
tasks.define criteria success_criteria
tasks.evidence.capture evidence checks
tasks.evidence.capture proof checks
tasks.evidence.capture url attachments
tasks.verify checkpoint checkpoints
tasks.batch ops operations
think.card text card
think.publish id card_id
vcs.notes.commit text content
vcs.notes.commit note content
vcs.notes.commit message content
vcs.notes.commit task target
vcs.notes.commit document doc
vcs.checkout branch ref
vcs.checkout name ref
vcs.branch.create branch name
vcs.branch.create base from
vcs.branch.delete branch name
vcs.branch.rename name old
vcs.commit content artifact
vcs.commit title message
workspace.use name workspace
status format fmt
status maxChars max_chars
docs.show ws workspace
jobs.create key idempotency_key
"""

OPS = """
tasks start tasks.macro.start
tasks claim tasks.step.lease.claim
tasks step.done tasks.done
tasks note tasks.note
jobs ask jobs.question
jobs reply jobs.message
jobs cancel jobs.cancel
vcs note vcs.notes.commit
vcs checkout vcs.checkout
docs search docs.search
workspace agents.register agents.register
system help system.help
"""


def rows(table: str) -> list[tuple[str, ...]]:
    return [tuple(line.split()) for line in table.strip().splitlines()]


def test_there_are_two_hundred_guesses_and_more_and_none_is_right_as_it_stands() -> None:
    commands = {c.cmd: c for c in registry()}
    assert len(rows(COMMANDS)) + len(rows(ARGUMENTS)) + len(rows(OPS)) >= 200
    assert not [guess for guess, _ in rows(COMMANDS) if guess in commands]
    assert not [row for row in rows(ARGUMENTS) if row[1] in commands[row[0]].fields()]


def test_a_guessed_command_leads_to_the_one_that_is_meant(lh: Lh) -> None:
    for guess, meant in rows(COMMANDS):
        command = lh.house.registry.get(meant)
        portal = next(p for p in (portal_of(guess), portal_of(meant)) if p in PORTALS)
        answer = lh.portal(portal, op="call", cmd=guess, args={}).envelope
        if command.portal == portal:
            error = answer["error"] or {"message": "", "recovery": ""}
            offered = f"op=call cmd={meant}"
            led = offered in error["message"] or f" {offered}" in f" {error['recovery']}"
            assert answer["intent"] == meant or led, (guess, answer["intent"], error)
        else:
            assert answer["error"]["code"] == "UNKNOWN_CMD", guess
            assert answer["error"]["recovery"] == f"did you mean {meant!r}?", guess


def test_a_guessed_argument_leads_to_the_one_that_is_meant() -> None:
    commands = {c.cmd: c for c in registry()}
    for cmd, guess, meant in rows(ARGUMENTS):
        schema = args_schema(commands[cmd])
        value = sample(schema["properties"][meant], schema)
        assert fit(commands[cmd], {guess: value})[0] == {meant: value}, (cmd, guess)


def test_a_guessed_op_leads_to_the_command_that_is_meant(lh: Lh) -> None:
    for tool, guess, meant in rows(OPS):
        command = lh.house.registry.get(meant)
        answer = lh.portal(tool, op=guess, args={}).envelope
        error = answer["error"] or {"message": "", "recovery": ""}
        asked = f"means {command.how}" in error["message"]
        may_mean = error["recovery"].startswith("it may mean ") and command.how in error["recovery"]
        assert answer["intent"] == meant or asked or may_mean, (guess, error)


def test_a_call_with_wrong_names_alone_is_carried_out_under_the_right_ones(lh: Lh) -> None:
    by_name = lh.portal("vcs", op="call", cmd="vcs.note", args={"content": "We chose SQLite."})
    assert by_name.envelope["result"]["entry"]["content"] == "We chose SQLite."
    by_argument = lh.portal("vcs", op="call", cmd="vcs.notes.commit", args={"text": "And why."})
    assert by_argument.envelope["result"]["entry"]["content"] == "And why."


def test_a_name_inside_an_object_is_led_to_the_right_one_too(lh: Lh) -> None:
    error = lh.refused(
        "tasks.macro.start", task_title="Parser", steps=[{"name": "Measure", "criteria": ["x"]}]
    )
    assert "did you mean 'title'?" in error["message"]


def test_what_resembles_nothing_gets_no_false_lead(lh: Lh) -> None:
    assert "system.cmd.list" in lh.refused("jobs.teleport")["recovery"]
    assert lh.refused("jobs.open", colour="red")["recovery"].startswith("known arguments: ")


def test_every_value_offered_as_a_fix_is_valid_and_not_empty(command: Command) -> None:
    schema, example = args_schema(command), msgspec.to_builtins(command.example)
    for name in command.fields():
        value: Any = sample(schema["properties"][name], schema)
        assert value not in ("", [], {}, None), name
        msgspec.convert({**example, name: value}, command.request)
