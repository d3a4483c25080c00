// Open jobs, most urgent first, with all runners: one read shared by every view.
import { ofStreams, useRead } from "../../live/reads";

export function useRadar() {
  return useRead(
    "jobs.radar",
    { limit: 100, runners_limit: 50, offline_limit: 20 },
    { touches: ofStreams("jobs"), every: 20_000 },
  );
}
