// The Processes view: background processes on the left, one of them with its output on the right.
import { Split } from "../../kit/Split";
import { useRoute } from "../../shell/router";
import { ProcessList } from "./ProcessList";
import { ProcessPane } from "./ProcessPane";

export default function Processes() {
  const { parts } = useRoute();
  const task = parts[1];
  return (
    <Split
      label="All processes"
      wide
      list={
        <>
          <h1>Processes</h1>
          <ProcessList chosen={task} />
        </>
      }
      pane={task && <ProcessPane key={task} id={task} />}
    />
  );
}
