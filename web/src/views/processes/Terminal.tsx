// The terminal of a process: live while it runs, with the keyboard if the user may type; a replay
// after it has ended or in a view of the past.
import { type RefObject, useEffect, useRef, useState } from "react";
import type { CallError } from "../../api/calls";
import { useMay } from "../../api/roles";
import type { TaskView } from "../../api/types";
import { Refused } from "../../kit/parts";
import { usePast } from "../../shell/router";
import { Emulator, type Size } from "./emulator";
import { showLive } from "./live";
import { Replay } from "./Replay";
import { firstSize } from "./recording";
import { Screen, type Showing } from "./Screen";
import styles from "./terminal.module.css";
import { Typing } from "./typing";
import { isOver } from "./words";

export default function Terminal({ task }: { task: TaskView }) {
  const past = usePast();
  if (isOver(task) || past !== null) return <Replay task={task} past={past} />;
  return <Live task={task} />;
}

function Live({ task }: { task: TaskView }) {
  const may = useMay();
  const room = useRef<HTMLDivElement>(null);
  const emulator = useRef<Emulator>(null);
  const typing = useRef<Typing>(null);
  const button = useRef<HTMLButtonElement>(null);
  const [size, setSize] = useState<Size>(firstSize(task));
  const [holds, hold] = useState(false);
  const [error, fail] = useState<CallError | null>(null);
  const [changes, change] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: one terminal per process, for as long as it is shown
  useEffect(() => {
    if (!room.current) return;
    const keys = new Typing(task.task_id, fail);
    const made = new Emulator(room.current, firstSize(task), {
      keys: (typed) => keys.keys(typed),
      leave: (byKey) => {
        hold(false);
        if (byKey) button.current?.focus();
      },
    });
    emulator.current = made;
    typing.current = keys;
    const stop = showLive(task, made, {
      size: setSize,
      shown: () => change((count) => count + 1),
      error: fail,
    });
    return () => {
      stop();
      made.dispose();
      emulator.current = null;
    };
  }, [task.task_id]);
  useRoom(room, () => {
    const made = emulator.current;
    if (!made) return;
    if (!holds) return made.scale();
    const fits = made.fit();
    if (fits) typing.current?.resize(fits);
  });
  useEffect(() => {
    const made = emulator.current;
    if (!made || !holds) return;
    const fits = made.take();
    if (fits) {
      setSize(fits);
      typing.current?.resize(fits);
    }
    return () => made.letGo();
  }, [holds]);
  const mayType = may("tool.task_write_stdin") && task.yours && task.status === "running";
  const showing: Showing = {
    state: holds ? "You have the keyboard" : task.status === "running" ? "Live" : "Not started yet",
    size,
    changes,
    emulator,
  };
  return (
    <Screen room={room} showing={showing}>
      {error && <Refused error={error} onClose={() => fail(null)} />}
      {mayType && (
        <div className="row">
          <button
            ref={button}
            type="button"
            className="button"
            data-kind={holds ? undefined : "main"}
            aria-pressed={holds}
            // Pressing the button must not take the focus: that would release the keyboard early.
            onMouseDown={(event) => holds && event.preventDefault()}
            onClick={({ currentTarget }) => {
              currentTarget.focus();
              hold(!holds);
            }}
          >
            {holds ? "Release keyboard" : "Take keyboard"}
          </button>
          <span className={`small soft ${styles.hint}`}>
            {holds ? (
              <>
                All keys go to the program. Press <kbd>Ctrl ]</kbd> or <kbd>Ctrl 5</kbd> to release
                the keyboard.
              </>
            ) : (
              "This resizes the terminal to fit this window."
            )}
          </span>
        </div>
      )}
    </Screen>
  );
}

/** Calls back when the space for the terminal changes. */
function useRoom(room: RefObject<HTMLElement | null>, changed: () => void): void {
  const latest = useRef(changed);
  latest.current = changed;
  useEffect(() => {
    if (!room.current) return;
    let settled: ReturnType<typeof setTimeout>;
    const seen = new ResizeObserver(() => {
      clearTimeout(settled);
      settled = setTimeout(() => latest.current(), 120);
    });
    seen.observe(room.current);
    return () => {
      clearTimeout(settled);
      seen.disconnect();
    };
  }, [room]);
}
