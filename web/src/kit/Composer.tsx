// A message box. The text is kept as a draft until it is sent; Ctrl+Enter sends it.
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
      // The error is shown with the item the message is about; the draft stays.
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
