// Writes to an agent as a person. A user without a name in the crew is asked for one first.
import { type ReactNode, useId, useState } from "react";
import { CallError } from "../../api/calls";
import { introduce, type Person, usePerson } from "../../api/person";
import type { Message } from "../../api/types";
import { Composer } from "../../kit/Composer";
import { useDraft } from "../../kit/draft";
import { Refused } from "../../kit/parts";
import { act } from "../../live/acts";
import styles from "./reply.module.css";

export function Reply({ message }: { message: Message }) {
  const answer = async (me: Person, body: string) => {
    await act("agents.send", message.message_id, "Answer sent", {
      agent: me.name,
      agent_token: me.token,
      to: message.from_agent,
      bead_id: message.bead_id,
      thread: message.thread_id,
      subject: `Re: ${message.subject}`.slice(0, 200),
      body,
      answers: message.message_id,
    });
  };
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

/** Renders its children with the user's crew identity, or asks for a name first. */
export function AsPerson({ children }: { children: (me: Person) => ReactNode }) {
  const me = usePerson();
  const id = useId();
  const name = useDraft("person");
  const [error, setError] = useState<CallError | null>(null);
  if (me) return children(me);
  return (
    <form
      className={styles.name}
      onSubmit={(event) => {
        event.preventDefault();
        introduce(name.text)
          .then(name.clear)
          .catch((refusal) => {
            if (refusal instanceof CallError) setError(refusal);
          });
      }}
    >
      <label className="small soft" htmlFor={id}>
        To write to agents, enter your name
      </label>
      <div className={styles.fields}>
        <input
          id={id}
          className="field"
          placeholder="Your name"
          maxLength={40}
          required
          value={name.text}
          onChange={(event) => name.set(event.target.value)}
        />
        <button type="submit" className="button">
          Save name
        </button>
      </div>
      {error && <Refused error={error} />}
    </form>
  );
}
