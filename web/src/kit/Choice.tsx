// A row of toggle buttons; exactly one is pressed.
export function Choice<T extends string>(props: {
  label: string;
  all: readonly (readonly [T, string])[];
  chosen: T;
  onChoose: (value: T) => void;
}) {
  return (
    <div className="choice" role="group" aria-label={props.label}>
      {props.all.map(([value, words]) => (
        <button
          key={value}
          type="button"
          className="button"
          data-kind="quiet"
          aria-pressed={props.chosen === value}
          onClick={() => props.onChoose(value)}
        >
          {words}
        </button>
      ))}
    </div>
  );
}
