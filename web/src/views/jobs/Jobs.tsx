// The Jobs view: runners and the list of jobs on the left, one job on the right.
import { Split } from "../../kit/Split";
import { useRoute } from "../../shell/router";
import { JobList } from "./JobList";
import { JobPane } from "./JobPane";
import { Runners } from "./Runners";

export default function Jobs() {
  const { parts } = useRoute();
  const job = parts[1];
  return (
    <Split
      label="All jobs"
      list={
        <>
          <h1>Jobs</h1>
          <Runners />
          <JobList chosen={job} />
        </>
      }
      pane={job && <JobPane key={job} id={job} />}
    />
  );
}
