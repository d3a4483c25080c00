// Replays what a terminal showed, at any speed or with a slider.
import { useEffect, useRef, useState } from "react";
import { type CallError, save } from "../../api/calls";
import { session } from "../../api/session";
import type { TaskView } from "../../api/types";
import { Refused, Waiting } from "../../kit/parts";
import { Emulator, type Size } from "./emulator";
import { asCallError } from "./frames";
import { firstSize, type Recording, readRecording } from "./recording";
import { Screen } from "./Screen";
import styles from "./terminal.module.css";

const SPEEDS = [1, 2, 4, 16];
const STEP_MS = 100;

export function Replay({ task, past }: { task: TaskView; past: number | null }) {
  const [recording, setRecording] = useState<Recording | null>(null);
  const [error, fail] = useState<CallError | undefined>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a finished recording is read once
  useEffect(() => {
    let gone = false;
    readRecording(task, past)
      .then((found) => gone || setRecording(found))
      .catch((reason) => gone || fail(asCallError(reason)));
    return () => {
      gone = true;
    };
  }, [task.task_id, past]);
  if (!recording) return <Waiting error={error} />;
  return <Player key={recording.length} task={task} recording={recording} />;
}

function Player({ task, recording }: { task: TaskView; recording: Recording }) {
  const room = useRef<HTMLDivElement>(null);
  const emulator = useRef<Emulator>(null);
  const player = useRef<Playing>(null);
  const [at, setAt] = useState(recording.length);
  const [plays, play] = useState(false);
  const [speed, setSpeed] = useState(1);
  const [size, setSize] = useState<Size>(firstSize(task));
  const [changes, change] = useState(0);
  useEffect(() => {
    if (!room.current) return;
    const made = new Emulator(room.current, recording.first, { keys: () => {}, leave: () => {} });
    emulator.current = made;
    player.current = new Playing(recording, made, setSize);
    return () => {
      made.dispose();
      emulator.current = null;
    };
  }, [recording]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new recording gets a new, empty emulator
  useEffect(() => {
    void player.current?.moveTo(at).then(() => change((count) => count + 1));
  }, [at, recording]);
  useEffect(() => {
    if (!plays) return;
    let last = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      const gone = (now - last) * speed;
      last = now;
      setAt((before) => Math.min(recording.length, before + gone));
    }, STEP_MS);
    return () => clearInterval(timer);
  }, [plays, speed, recording]);
  const ended = at >= recording.length;
  const step = Math.max(1, Math.round(recording.length / 1000));
  useEffect(() => {
    if (ended) play(false);
  }, [ended]);
  return (
    <Screen room={room} showing={{ state: plays ? "Replay" : "Recorded", size, changes, emulator }}>
      {recording.length > 0 && (
        <div className={styles.player}>
          <button
            type="button"
            className="button"
            onClick={() => {
              if (!plays && ended) setAt(0);
              play(!plays);
            }}
          >
            {plays ? "Pause" : "Replay"}
          </button>
          <input
            type="range"
            aria-label="Replay position"
            aria-valuetext={`${seconds(at)} of ${seconds(recording.length)}`}
            min={0}
            max={recording.length}
            step={step}
            value={at}
            onChange={(event) => {
              play(false);
              const to = Number(event.target.value);
              // The end may lie between two steps, which a slider cannot reach.
              setAt(to + step > recording.length ? recording.length : to);
            }}
          />
          <output className="small">
            {seconds(at)} of {seconds(recording.length)}
          </output>
          <select
            className={`field ${styles.speed}`}
            aria-label="Speed"
            value={speed}
            onChange={(event) => setSpeed(Number(event.target.value))}
          >
            {SPEEDS.map((one) => (
              <option key={one} value={one}>
                {one}×
              </option>
            ))}
          </select>
        </div>
      )}
      <Saving task={task} />
      {recording.cut && (
        <p className="small soft">
          The recording is too long to replay here in full. To see all of it:{" "}
          <code>longhouse replay {task.task_id}</code>
        </p>
      )}
    </Screen>
  );
}

/** Saves the recording as a file for `longhouse replay` or asciinema. */
function Saving({ task }: { task: TaskView }) {
  const [error, fail] = useState<CallError | undefined>();
  const keep = (format: string, ending: string) => {
    const { workspace } = session.get();
    const asked = new URLSearchParams({ format, ...(workspace ? { workspace } : {}) });
    fail(undefined);
    save(`/tasks/${task.task_id}/recording?${asked}`, `${task.task_id}.${ending}`).catch((reason) =>
      fail(asCallError(reason)),
    );
  };
  return (
    <div className={styles.player}>
      <button type="button" className="button" onClick={() => keep("longhouse", "jsonl")}>
        Save recording
      </button>
      <button type="button" className="button" onClick={() => keep("asciicast", "cast")}>
        Save as asciicast
      </button>
      {error && <Refused error={error} onClose={() => fail(undefined)} />}
    </div>
  );
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** Moves the emulator to a moment: forward incrementally, backward by replaying from the start. */
class Playing {
  private done = 0;
  private shown = -1;
  private goal = -1;
  private work: Promise<void> | null = null;

  constructor(
    private readonly recording: Recording,
    private readonly emulator: Emulator,
    private readonly sized: (size: Size) => void,
  ) {}

  moveTo(at: number): Promise<void> {
    this.goal = at;
    this.work ??= this.go().finally(() => {
      this.work = null;
    });
    return this.work;
  }

  private async go(): Promise<void> {
    while (this.goal !== this.shown) {
      const { goal } = this;
      if (goal < this.shown) {
        this.done = 0;
        this.emulator.reset(this.recording.first);
        this.sized(this.recording.first);
      }
      const { moments } = this.recording;
      let text = "";
      for (; this.done < moments.length; this.done += 1) {
        const moment = moments[this.done];
        if (!moment || moment.at > goal) break;
        text += moment.text;
        if (!moment.size) continue;
        await this.emulator.write(text);
        text = "";
        this.emulator.resize(moment.size);
        this.sized(moment.size);
      }
      await this.emulator.write(text);
      this.shown = goal;
    }
  }
}
