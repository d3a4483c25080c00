// Edits a queued job; its history keeps the previous values.
import { useState } from "react";
import { CallError } from "../../api/calls";
import type { JobView, UpdateJob } from "../../api/types";
import { Dialog } from "../../kit/Dialog";
import { useDraft } from "../../kit/draft";
import { Refused } from "../../kit/parts";
import { act } from "../../live/acts";
import styles from "./jobs.module.css";

export function EditJob({ view, onClose }: { view: JobView; onClose: () => void }) {
  const { job } = view;
  const title = useDraft(`edit.${job.id}.title`);
  const prompt = useDraft(`edit.${job.id}.prompt`);
  const [shownTitle, showTitle] = useState(title.text || job.title);
  const [shownPrompt, showPrompt] = useState(prompt.text || (view.prompt ?? ""));
  const [priority, setPriority] = useState(job.priority);
  const [error, setError] = useState<CallError | null>(null);
  const whole = view.prompt != null && view.prompt.length === view.prompt_chars;
  const save = async () => {
    const change: UpdateJob = { job: job.id, priority: priority as UpdateJob["priority"] };
    if (shownTitle !== job.title) change.title = shownTitle;
    if (whole && shownPrompt !== view.prompt) change.prompt = shownPrompt;
    try {
      await act("jobs.update", job.id, "Saved", change);
      title.clear();
      prompt.clear();
      onClose();
    } catch (refusal) {
      if (refusal instanceof CallError) setError(refusal);
    }
  };
  return (
    <Dialog title={`Edit ${job.id}`} onClose={onClose}>
      <form
        className={styles.edit}
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <label>
          Title
          <input
            className="field"
            maxLength={200}
            required
            value={shownTitle}
            onChange={(event) => {
              showTitle(event.target.value);
              title.set(event.target.value);
            }}
          />
        </label>
        {whole && (
          <label>
            Prompt
            <textarea
              className="field"
              rows={6}
              required
              value={shownPrompt}
              onChange={(event) => {
                showPrompt(event.target.value);
                prompt.set(event.target.value);
              }}
            />
          </label>
        )}
        <label>
          Priority
          <select className="field" value={priority} onChange={(e) => setPriority(e.target.value)}>
            <option>LOW</option>
            <option>MEDIUM</option>
            <option>HIGH</option>
          </select>
        </label>
        {error && <Refused error={error} />}
        <div className="row">
          <button type="submit" className="button" data-kind="main">
            Save
          </button>
        </div>
      </form>
    </Dialog>
  );
}
