// The browser's native dialog: it traps focus, closes on Esc, and restores focus.
import { type ReactNode, useLayoutEffect, useRef } from "react";
import "./dialog.css";

export function Dialog(props: {
  title: string;
  kind?: "middle" | "drawer";
  onClose: () => void;
  children: ReactNode;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Closing it while it is still in the document restores the focus.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc closes it, the click is for the backdrop
    <dialog
      ref={dialog}
      className="dialog"
      data-kind={props.kind ?? "middle"}
      aria-label={props.title}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onClick={(event) => event.target === dialog.current && props.onClose()}
    >
      <div className="dialog-body">
        <div className="dialog-head">
          <h2>{props.title}</h2>
          <button type="button" className="button" data-kind="quiet" onClick={props.onClose}>
            Close
          </button>
        </div>
        {props.children}
      </div>
    </dialog>
  );
}
