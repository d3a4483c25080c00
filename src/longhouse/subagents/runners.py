"""A runner for any model: builds the child prompt from the request and the inherited tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from longhouse.subagents.errors import DispatchSubagentError
from longhouse.subagents.events import EventBus
from longhouse.subagents.loop import MAX_TURNS, Model, evaluate
from longhouse.subagents.prompts import MarkdownSection, Prompt, Section
from longhouse.subagents.session import Session
from longhouse.subagents.tools import Tool, ToolContext, ToolResult
from longhouse.subagents.types import DispatchSubagent, DispatchSubagentResult

__all__ = ["DeliverArtifacts", "PromptRunner"]

ROLE = """
You are a subagent. Do the one task you are given with the tools you have, then answer with a \
concise summary in plain ASCII of what you did and found. The caller sees nothing but your answer, \
and no one can answer questions."""

DELIVERY = """
When an artifact is finished, and only then, call `deliver_artifacts` with its label. \
Expected: """


@dataclass(slots=True, frozen=True)
class DeliverArtifacts:
    """The labels of finished artifacts."""

    artifacts: tuple[str, ...]


def _deliver(params: DeliverArtifacts, *, context: ToolContext) -> ToolResult[DeliverArtifacts]:
    return ToolResult(f"{len(params.artifacts)} delivered", params)


DELIVER = Tool(
    name="deliver_artifacts",
    description="Report the labels of artifacts you have finished.",
    params_type=DeliverArtifacts,
    result_type=DeliverArtifacts,
    handler=_deliver,
)


class PromptRunner:
    """Evaluates the request on `model`, with the tools of the call and of `sections`.

    `sections` are shown to the child unchanged, such as those of the parent that explain its tools.
    """

    def __init__(
        self, model: Model, *, sections: Iterable[Section] = (), max_turns: int = MAX_TURNS
    ) -> None:
        self._model = model
        self._sections = tuple(sections)
        self._max_turns = max_turns
        self._own_tools = Prompt(ns="subagent", key="own", sections=self._sections).tool_names

    def __call__(
        self,
        *,
        session: Session,
        bus: EventBus,  # noqa: ARG002  (it is session.bus)
        params: DispatchSubagent,
    ) -> DispatchSubagentResult:
        session.seed_slice(DeliverArtifacts, ())  # a nested child inherits its parent's
        response = evaluate(
            self._prompt(session, params),
            params.instructions,
            model=self._model,
            session=session,
            max_turns=self._max_turns,
        )
        summary = response.text.strip()
        if not summary:
            raise DispatchSubagentError("the model ended without a summary")
        delivered = {
            label: None
            for delivery in session.select_all(DeliverArtifacts)
            for label in delivery.artifacts
        }
        return DispatchSubagentResult(summary, artifacts=tuple(delivered))

    def _prompt(self, session: Session, params: DispatchSubagent) -> Prompt:
        role = ROLE
        if params.plan_step_id is not None:
            role += f"\n\nThe task is step {params.plan_step_id} of the caller's plan."
        tools = {tool.name: tool for tool in session.scope.tools}
        tools.pop(DELIVER.name, None)  # inherited from another PromptRunner above
        if params.expected_artifacts:
            role += "\n" + DELIVERY + ", ".join(params.expected_artifacts)
            tools[DELIVER.name] = DELIVER
        task = MarkdownSection(
            title="Delegated Task",
            key="delegated-task",
            text=role.replace("$", "$$"),
            tools=(tool for name, tool in tools.items() if name not in self._own_tools),
        )
        return Prompt(
            ns=params.prompt_ns,
            key=f"{params.prompt_key}-subagent",
            sections=(task, *self._sections),
        )
