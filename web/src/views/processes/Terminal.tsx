// The terminal of a process: live while it runs, with a keyboard for who may type; a replay after it
// has ended, or as of a moment in the past.
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: one terminal for one process, as long as it is shown
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
    state: holds ? "You hold the keyboard" : task.status === "running" ? "Live" : "Not started yet",
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
            // Pressing it must not take the focus: that would let go before the click does.
            onMouseDown={(event) => holds && event.preventDefault()}
            onClick={({ currentTarget }) => {
              currentTarget.focus();
              hold(!holds);
            }}
          >
            {holds ? "Let go of the keyboard" : "Type into it"}
          </button>
          <span className={`small soft ${styles.hint}`}>
            {holds ? (
              <>
                All keys go to the program. <kbd>Ctrl ]</kbd> or <kbd>Ctrl 5</kbd> gives the
                keyboard back.
              </>
            ) : (
              "The terminal then takes the size of this window."
            )}
          </span>
        </div>
      )}
    </Screen>
  );
}

/** Called when the room for the terminal changes. */
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
