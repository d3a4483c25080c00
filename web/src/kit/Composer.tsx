// A box to write in. What is written is kept until it was sent; Ctrl+Enter sends.
import { useId, useState } from "react";
import styles from "./composer.module.css";
import { useDraft } from "./draft";

export function Composer(props: {
  place: string;
  label: string;
  send: string;
  onSend: (text: string) => Promise<unknown>;
}) {
  const draft = useDraft(props.place);
  const [busy, setBusy] = useState(false);
  const id = useId();
  const text = draft.text.trim();
  const send = async () => {
    if (!text || busy) return;
    setBusy(true);
    try {
      await props.onSend(text);
      draft.clear();
    } catch {
      // The refusal is shown where the act belongs; what was written stays.
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className={styles.composer}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label className="hidden-label" htmlFor={id}>
        {props.label}
      </label>
      <textarea
        id={id}
        className="field"
        rows={1}
        placeholder={props.label}
        value={draft.text}
        onChange={(event) => draft.set(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            void send();
          }
        }}
      />
      <button type="submit" className="button" data-kind="main" disabled={busy || !text}>
        {props.send}
      </button>
    </form>
  );
}
