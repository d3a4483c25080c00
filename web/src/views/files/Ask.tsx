// Asks the holder of files to release them, in the conversation about their task.
import { useState } from "react";
import type { CallError } from "../../api/calls";
import type { Person } from "../../api/person";
import type { Reservation } from "../../api/types";
import { Composer } from "../../kit/Composer";
import { Link, Refused } from "../../kit/parts";
import { act } from "../../live/acts";
import { href } from "../../shell/router";
import { AsPerson } from "../sessions/Reply";

export function Ask({ held, onSent }: { held: Reservation; onSent?: () => void }) {
  const [sent, setSent] = useState(false);
  const [error, setError] = useState<CallError | null>(null);
  const ask = async (me: Person, body: string) => {
    try {
      await act("agents.send", `ask ${held.reservation_id}`, "Asked", {
        agent: me.name,
        agent_token: me.token,
        to: held.agent_id,
        bead_id: held.bead_id,
        subject: `About ${held.scope}`.slice(0, 200),
        body,
      });
    } catch (refusal) {
      setError(refusal as CallError);
      throw refusal;
    }
    setError(null);
    setSent(true);
    onSent?.();
  };
  if (sent) {
    return (
      <p className="small" role="status">
        Asked. The answer will appear in{" "}
        <Link href={href(`/sessions/${held.bead_id}`)}>the conversation</Link>.
      </p>
    );
  }
  return (
    <>
      {error && <Refused error={error} onClose={() => setError(null)} />}
      <AsPerson>
        {(me) => (
          <Composer
            place={`ask.${held.reservation_id}`}
            label={`Ask ${held.agent_id} about ${held.scope}`}
            send="Ask"
            onSend={(body) => ask(me, body)}
          />
        )}
      </AsPerson>
    </>
  );
}
