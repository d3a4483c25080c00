// The history filters: actor, item, room, kind and time.
import { type ReactNode, useId } from "react";
import { setParams } from "../../shell/router";
import { type Filter, isFiltered, STREAMS, TIMES } from "./filter";
import styles from "./history.module.css";

const NAMES = ["agent", "item", "stream", "kind", "within"] as const;

export function Filters({ filter, actors }: { filter: Filter; actors: readonly string[] }) {
  const id = useId();
  const set = (name: (typeof NAMES)[number]) => (event: { target: { value: string } }) =>
    setParams({ [name]: event.target.value });
  const within = Object.entries(TIMES).find(([, [, ms]]) => ms === filter.within)?.[0] ?? "";
  return (
    <search className={styles.filters} aria-label="Filters">
      <Field label="By" htmlFor={`${id}-who`}>
        <input
          id={`${id}-who`}
          className="field"
          list={`${id}-actors`}
          placeholder="anyone"
          value={filter.who}
          onChange={set("agent")}
        />
        <datalist id={`${id}-actors`}>
          {actors.map((actor) => (
            <option key={actor} value={actor} />
          ))}
        </datalist>
      </Field>
      <Field label="About" htmlFor={`${id}-item`}>
        <input
          id={`${id}-item`}
          className="field"
          placeholder="TASK-001"
          value={filter.item}
          onChange={set("item")}
        />
      </Field>
      <Field label="Room" htmlFor={`${id}-stream`}>
        <select
          id={`${id}-stream`}
          className="field"
          value={filter.stream}
          onChange={set("stream")}
        >
          {Object.entries(STREAMS).map(([stream, words]) => (
            <option key={stream} value={stream}>
              {words}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Kind" htmlFor={`${id}-kind`}>
        <input
          id={`${id}-kind`}
          className="field"
          placeholder="step done"
          value={filter.kind}
          onChange={set("kind")}
        />
      </Field>
      <Field label="When" htmlFor={`${id}-when`}>
        <select id={`${id}-when`} className="field" value={within} onChange={set("within")}>
          {Object.entries(TIMES).map(([name, [words]]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
      </Field>
      {isFiltered(filter) && (
        <button
          type="button"
          className="button"
          data-kind="quiet"
          onClick={() => setParams(Object.fromEntries(NAMES.map((name) => [name, null])))}
        >
          Clear
        </button>
      )}
    </search>
  );
}

function Field(props: { label: string; htmlFor: string; children: ReactNode }) {
  return (
    <div className={styles.field}>
      <label className="small soft" htmlFor={props.htmlFor}>
        {props.label}
      </label>
      {props.children}
    </div>
  );
}
