// Write to an agent as a person. Whoever has no name in the crew yet is asked for one first.
import { useState } from "react";
import { CallError } from "../../api/calls";
import { introduce, type Person, usePerson } from "../../api/person";
import type { Message } from "../../api/types";
import { Composer } from "../../kit/Composer";
import { Refused } from "../../kit/parts";
import { act } from "../../live/acts";

export function Reply({ message }: { message: Message }) {
  const answer = (me: Person, body: string) =>
    act("agents.send", message.message_id, "Answer sent", {
      agent: me.name,
      agent_token: me.token,
      to: message.from_agent,
      bead_id: message.bead_id,
      thread: message.thread_id,
      subject: `Re: ${message.subject}`.slice(0, 200),
      body,
    });
  return (
    <AsPerson>
      {(me) => (
        <Composer
          place={`reply.${message.message_id}`}
          label={`Answer ${message.from_agent}`}
          send="Answer"
          onSend={(body) => answer(me, body)}
        />
      )}
    </AsPerson>
  );
}

/** Shows what needs a name in the crew, or asks for the name. */
export function AsPerson({ children }: { children: (me: Person) => React.ReactNode }) {
  const me = usePerson();
  const [name, setName] = useState("");
  const [error, setError] = useState<CallError | null>(null);
  if (me) return children(me);
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        introduce(name).catch((refusal) => {
          if (refusal instanceof CallError) setError(refusal);
        });
      }}
    >
      <label className="row">
        <span className="small soft">To write to agents, say who you are:</span>
        <input
          className="field"
          placeholder="your name"
          maxLength={40}
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <button type="submit" className="button">
        That is me
      </button>
      {error && <Refused error={error} />}
    </form>
  );
}
