// Jobs: the radar and every list of jobs on the left, one job on the right.
import { useRoute } from "../../shell/router";
import { JobList } from "./JobList";
import { JobPane } from "./JobPane";
import styles from "./jobs.module.css";
import { Runners } from "./Runners";

export default function Jobs() {
  const { parts } = useRoute();
  const job = parts[1];
  return (
    <div className={styles.split} data-open={job ? "" : undefined}>
      <section className={styles.list} aria-label="All jobs">
        <h1>Jobs</h1>
        <Runners />
        <JobList chosen={job} />
      </section>
      {job && <JobPane key={job} id={job} />}
    </div>
  );
}
