"""Drives one claimed job from its claim to its end.

    claimed → opened → [worktree] → slices (slice_loop.py) → DONE with proof | FAILED

Each job has its own thread. Whatever happens, the job is completed, given back with a reason, or,
if its claim was lost, left to its new holder.
"""

from __future__ import annotations

import json
import re
import socket
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from longhouse.client.locate import LOCK_NAME
from longhouse.executors import ClaimedJob, Executor, NoRoom, NotHere, SessionFile, unable
from longhouse.git import FAILED, SharedTree, TreeWatch, left_out, why_not_git
from longhouse.kernel.delegation import JOB_ID, MODEL_NAME
from longhouse.kernel.errors import LonghouseError
from longhouse.runner.claim import Claim, ClaimLost, ProofMissing
from longhouse.runner.job_control import JobControl, RunnerLeaving
from longhouse.runner.landing import CommitMessage
from longhouse.runner.locks import held, held_folder
from longhouse.runner.outputs import Outputs
from longhouse.runner.preparing import prepare
from longhouse.runner.runner_context import RunnerContext
from longhouse.runner.settling import lock_of, settle
from longhouse.runner.slice_loop import SliceLoop, Workplace, open_job
from longhouse.runner.slice_state import Ending
from longhouse.runner.worktrees import NoWorktree, Worktree, worktree_of

__all__ = ["JobWorker"]

LONG_PROMPT = 36_000
"""With a longer prompt, the answer to `jobs.open` may have no room for the thread."""


class JobWorker:
    """Drives one job; call it in a thread. Other threads use its `control`."""

    def __init__(
        self,
        context: RunnerContext,
        claimed: dict[str, Any],
        asked_at: float,
        agent_token: str | None = None,
    ) -> None:
        """`claimed` is the job as `jobs.claim` returned it; `asked_at` is when that call was sent.

        `agent_token` is the token its agent uses; it is valid as long as the claim holds.
        """
        options = context.options
        self.job_id: str = claimed["id"]
        self.heard_seq = int(claimed["last_ref"].partition("@")[2])
        """The event up to which the runner has followed the job."""
        self.short_of_room = False
        """Whether the job was given back because the machine is out of space."""
        self.control = JobControl(
            options.lease_ms / 1000, options.kill_grace_s, asked_at, context.home / LOCK_NAME
        )
        self.claim = Claim(
            context.plane,
            self.job_id,
            options.runner_id,
            claimed["revision"],
            options.lease_ms,
            self.control.renewed,
        )
        self._context = context
        self._entry = context.entry._replace(token=agent_token)
        self._meta: dict[str, Any] = claimed.get("meta") or {}
        self._way = context.way_to_run(self._meta)
        self._title = ""
        self._session = SessionFile(context.home / "sessions" / context.workspace, self.job_id)

    @property
    def executor(self) -> str | None:
        """The name of the executor that will run it; None if none here can."""
        return self._way[0].name if self._way else None

    def __call__(self) -> None:
        try:
            self._run()
        except ClaimLost as lost:
            self._log("job.lost", why=self.control.lost or str(lost))
        except RunnerLeaving:
            self._give_back("the runner is stopping")
        except NotHere as missing:
            self.short_of_room = isinstance(missing, NoRoom)
            reason = f"{self.claim.runner_id} cannot run it: {missing.message}"
            self._give_back(reason, decline=not self.short_of_room)
        except ProofMissing as missing:  # a dry run has nothing to show
            self._give_back(str(missing), decline=True)
        except LonghouseError as error:
            self._log("job.trouble", code=error.code, why=error.message)
            self._give_back(f"{error.code}: {error.message}", decline=True)
        except Exception as error:
            self._log("job.defect", why=repr(error))
            self._give_back(f"the runner has a defect: {error!r}", decline=True)

    def _give_back(self, reason: str, *, decline: bool = False) -> None:
        try:
            self.claim.release(reason, decline=decline)
            self._log("job.declined" if decline else "job.released", why=reason)
        except ClaimLost as lost:
            self._log("job.lost", why=str(lost))
        except LonghouseError as error:
            self._log("job.unreleased", why=error.message, then="its lease will expire")

    def _run(self) -> None:
        if not re.match(JOB_ID, self.job_id):  # it names files and folders
            raise LonghouseError(f"{self.job_id[:40]!r} is not a job id")
        view = open_job(self._context, self.job_id, include_prompt=True, include_meta=True)
        if self._context.dry_run:
            self.claim.report("checkpoint", "runner: dry run, nothing is executed")
            return self._end(Ending("DONE", "dry run: nothing was executed", []))
        if not self._meta:  # the answer to the claim may have had no room for it
            self._meta = view.get("meta") or {}
            self._way = self._context.way_to_run(self._meta)
        if self._way is None:
            raise NotHere(self._context.lacks(self._meta))
        if view.get("prompt") is None:
            raise LonghouseError("its prompt could not be read in full")
        executor, profile = self._way
        job = self._job(view, profile)
        if job.model is not None and not re.match(MODEL_NAME, job.model):
            why = f"meta.executor_model: {job.model[:40]!r} is not a valid model name"
            return self._end(Ending("FAILED", why, []))
        self._title = job.title
        self._log("job.started", executor=executor.name, title=job.title)
        with ExitStack() as opened:
            try:
                at = self._context.cache / "scratch"
                scratch = opened.enter_context(held_folder(at))
            except OSError as error:
                raise unable("no scratch folder can be created", error) from error
            return self._work(job, executor, view, scratch)

    def _work(
        self, job: ClaimedJob, executor: Executor, view: dict[str, Any], scratch: Path
    ) -> None:
        with ExitStack() as opened:
            worktree = self._worktree(job, opened)
            self._work_in(worktree, job, executor, view, scratch)

    def _work_in(
        self,
        worktree: Worktree | None,
        job: ClaimedJob,
        executor: Executor,
        view: dict[str, Any],
        scratch: Path,
    ) -> None:
        cwd = worktree.path if worktree else self._context.root
        files = worktree.changed_files(self._context.root) if worktree else self._shared_files()
        loop = SliceLoop(
            self._context,
            self.claim,
            self.control,
            job,
            executor,
            Workplace(cwd, scratch, self._session, self._entry, files),
            runtime=view.get("runtime") or {},
            view=view if len(json.dumps(job.prompt)) < LONG_PROMPT else None,
        )
        ending = loop.run()
        while True:
            try:
                return self._end(ending, worktree)
            except ProofMissing as missing:
                ending = loop.run(refused=str(missing))

    def _end(self, ending: Ending, worktree: Worktree | None = None) -> None:
        """Complete the job; if it is DONE, its worktree's changes are applied or wait."""
        refs, patch, unread = list(ending.refs), b"", None
        if worktree:
            try:
                patch = worktree.patch()
            except FAILED as error:
                unread = f"its changes cannot be read: {error}"
        if patch:
            refs = [*self._stored_patch(patch), *refs]
        if worktree and patch and ending.status == "DONE":
            return self._end_with(worktree, self._message(ending), ending._replace(refs=refs))
        if unread and ending.status == "DONE":
            ending = ending._replace(status="FAILED", proof=[])
        kept = unread or ("it is not DONE" if patch else None)
        summary = ending.summary
        if worktree and kept:
            self.claim.report(
                "worktree_kept", f"the worktree {worktree.path} is kept: {kept}", refs=refs[:1]
            )
            self._log("worktree.kept", path=str(worktree.path), why=kept)
            summary = f"{summary}\n\nIts changes are in {worktree.path}: {kept}"
        self.claim.complete(ending.status, summary, refs, proof=ending.proof)
        self._ended(ending)
        if worktree and not kept:
            worktree.remove()
        return None

    def _end_with(self, worktree: Worktree, message: CommitMessage, ending: Ending) -> None:
        """Complete a job whose changes are still in its worktree, then land them.

        Completing first proves that the claim still held. If the runner dies in between, the next
        one lands them (sweeping.py). If they cannot be landed, the job shows `!` until someone
        applies or drops them; no runner waits for that.
        """
        obstacle = worktree.obstacle() or worktree.untried(message)
        if obstacle is None:
            worktree.due(message)
        why = obstacle or "its changes are about to be landed"
        where = f"{why} (from {worktree.path} on {socket.gethostname()} into {worktree.home})"
        self.claim.complete("DONE", ending.summary, ending.refs, proof=ending.proof, changes=where)
        if obstacle is None:
            self._landed(worktree, message)
        else:
            self._log("changes.wait", path=str(worktree.path), why=obstacle)
        self._ended(ending)

    def _landed(self, worktree: Worktree, message: CommitMessage) -> None:
        if why := settle(self._context, worktree, self.job_id, message):
            self._log("changes.wait", path=str(worktree.path), why=why)

    def _message(self, ending: Ending) -> CommitMessage:
        named = (self._context.workspace, self.job_id, self.executor or "agent")
        return CommitMessage(self._title, ending.summary, *named, int(time.time()))

    def _ended(self, ending: Ending) -> None:
        self._log("job.ended", status=ending.status, summary=ending.summary[:120])
        self._session.forget()

    def _stored_patch(self, patch: bytes) -> list[str]:
        outputs = Outputs(self._context.plane, self.job_id, self._context.options.max_output_bytes)
        stored = outputs.patch(patch)
        if stored.trouble:
            self.claim.report("artifacts", f"no patch: {stored.trouble}")
        return [stored.ref] if stored.ref else []

    def _job(self, view: dict[str, Any], profile: str) -> ClaimedJob:
        row, model = view["job"], self._meta.get("executor_model")
        return ClaimedJob(
            id=self.job_id,
            workspace=self._context.workspace,
            title=row["title"],
            prompt=view["prompt"],
            kind=row["kind"],
            profile=profile,
            runner_id=self.claim.runner_id,
            claim_revision=self.claim.revision,
            task=row.get("task_id"),
            anchor=row.get("anchor_id"),
            model=None if model is None else str(model),
            expected_artifacts=tuple(self._meta.get("expected_artifacts", ())),
            meta=self._meta,
        )

    def _worktree(self, job: ClaimedJob, opened: ExitStack) -> Worktree | None:
        """A worktree for a job that writes, or asks for one; None: it works in the shared folder.

        A job cannot override the runner. Without a repository or a commit there is no worktree;
        the job says so, unless it asked for one itself: then another runner may have it.
        """
        context, asked = self._context, job.meta.get("isolation") == "worktree"
        writes = context.options.sandbox != "read-only"
        if not asked and not (writes and context.options.isolation == "worktree"):
            return None
        if not asked and (why := why_not_git(context.root)):
            self._log("worktree.none", why=why)
            self.claim.report("shared_folder", f"works in {context.root} itself: {why}")
            return None
        try:
            opened.enter_context(held(lock_of(context, job.id)))
            places = (context.root, context.cache, job.workspace, job.id)
            worktree = worktree_of(*places, store=context.home)
            worktree.open()
        except NoWorktree as error:
            if isinstance(error.__cause__, OSError):
                raise unable("no worktree can be created", error.__cause__) from error
            raise NotHere(f"no worktree can be created: {error.message}") from error
        except OSError as error:
            raise unable("no worktree can be created", error) from error
        if worktree.trouble:
            self._log("landing.trouble", why=worktree.trouble)
            self.claim.report("diverged", f"starts from HEAD: {worktree.trouble}")
        self._prepare(worktree)
        return worktree

    def _prepare(self, worktree: Worktree) -> None:
        said = prepare(worktree, worktree.path, self._context.options, self.control)
        if said is not None:
            self._log("worktree.prepared", path=str(worktree.path), said=said)
            self.claim.report("prepared", f"the set-up command has run: {said or 'no output'}")

    def _shared_files(self) -> TreeWatch | None:
        """Finds which files change in the shared work tree; None without git."""
        root = self._context.root.resolve()
        try:
            tree = SharedTree(root)
        except FAILED:
            return None
        return TreeWatch(tree.opened, root, left_out(self._context.home, tree.top), alone=False)

    def _log(self, event: str, **facts: Any) -> None:
        self._context.log(event, job=self.job_id, **facts)
