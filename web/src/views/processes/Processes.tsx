// Processes: what runs in the background on the left, one of them with its output on the right.
import { useRoute } from "../../shell/router";
import { ProcessList } from "./ProcessList";
import { ProcessPane } from "./ProcessPane";
import styles from "./processes.module.css";

export default function Processes() {
  const { parts } = useRoute();
  const task = parts[1];
  return (
    <div className={styles.split} data-open={task ? "" : undefined}>
      <section className={styles.list} aria-label="All processes">
        <h1>Processes</h1>
        <ProcessList chosen={task} />
      </section>
      {task && <ProcessPane key={task} id={task} />}
    </div>
  );
}
