// A choice that is written. With the mouse it counts at once; with the keyboard it counts on Enter, so
// that moving through the choices writes nothing. Leaving it, or Escape, keeps the old one.
import { useId, useRef, useState } from "react";

export function Pick(props: {
  label: string;
  value: string;
  all: readonly (readonly [string, string])[];
  className?: string | undefined;
  onPick: (value: string) => void;
}) {
  const [moved, move] = useState<string | null>(null);
  const keyed = useRef(false);
  const id = useId();
  const pick = (value: string) => {
    move(null);
    if (value !== props.value) props.onPick(value);
  };
  return (
    <span className="row">
      <label className="soft" htmlFor={id}>
        {props.label}
      </label>
      <select
        id={id}
        className={props.className}
        value={moved ?? props.value}
        aria-describedby={moved === null ? undefined : `${id}-hint`}
        onPointerDown={() => {
          keyed.current = false;
        }}
        onKeyDown={(event) => {
          keyed.current = true;
          if (event.key === "Enter" && moved !== null) {
            event.preventDefault();
            pick(moved);
          } else if (event.key === "Escape") move(null);
        }}
        onBlur={() => move(null)}
        onChange={(event) => (keyed.current ? move : pick)(event.target.value)}
      >
        {props.all.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
      {moved !== null && moved !== props.value && (
        <span id={`${id}-hint`} role="status" className="soft">
          Enter sets it
        </span>
      )}
    </span>
  );
}
