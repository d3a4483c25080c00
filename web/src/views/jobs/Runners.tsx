// The runners with the time left on their leases, how to start one if there is none, and what jobs
// have cost.
import { lazy, Suspense, useContext } from "react";
import type { RadarRow } from "../../api/types";
import { Badge, Left, Ref } from "../../kit/parts";
import { useNow } from "../../live/clock";
import { PastSeq } from "../../live/past";
import { ofStreams, useRead } from "../../live/reads";
import { setParams, useRoute } from "../../shell/router";
import styles from "./jobs.module.css";
import { Places } from "./Places";
import { useRadar } from "./radar";
import { count, money } from "./words";

const USAGE_REST_MS = 5000;

const Spend = lazy(() => import("./Spend"));

// The agents that a runner offers although their program is not on its machine.
function missing(offers?: { [key: string]: unknown }): string {
  const here = (offers?.["available"] ?? {}) as { [name: string]: boolean };
  const names = Object.keys(here);
  return names.length > 0 && names.every((name) => !here[name]) ? "no agent" : "";
}

function lacksRunner({ waiting }: RadarRow): boolean {
  return waiting?.code === "no_runner" || waiting?.code === "runner_fails";
}

export function Runners() {
  const spent = useRoute().query.get("spend") !== null;
  const now = useNow();
  const { data } = useRadar();
  const past = useContext(PastSeq);
  // What was used by then is not recorded.
  const usage = useRead("jobs.usage", past === null ? { by: "day", days: 1 } : null, {
    touches: ofStreams("jobs"),
    rest: USAGE_REST_MS,
  }).data;
  if (!data) return null;
  const runners = [...data.runner_leases.runners, ...data.runner_leases_offline.runners];
  const used = usage?.total;
  const tokens = (used?.input_tokens ?? 0) + (used?.output_tokens ?? 0);
  return (
    <div className={styles.runners}>
      {runners.map((runner) => {
        const holds = runner.lease_expires_at_ms > now;
        return (
          <span key={runner.runner_id} className={styles.runner}>
            <Badge tone={!holds ? "bad" : runner.status === "live" ? "info" : "ok"} dot>
              {runner.runner_id}
            </Badge>
            {holds && missing(runner.offers) && (
              <Badge
                tone="warn"
                title="Neither Codex nor Claude Code is on its machine: it only keeps processes"
              >
                {missing(runner.offers)}
              </Badge>
            )}
            {holds && runner.unsandboxed && runner.unsandboxed.length > 0 && (
              <Badge
                tone="warn"
                title="The commands of its agents may do all that its user may; see SECURITY.md"
              >
                {runner.unsandboxed.join(", ")} unsandboxed
              </Badge>
            )}
            <span className="soft small">
              {!holds ? "offline: " : runner.active_job_id ? "" : "idle, "}
              {holds && runner.active_job_id && (
                <>
                  running <Ref id={runner.active_job_id} />,{" "}
                </>
              )}
              <Left until={runner.lease_expires_at_ms} over="lease expired" />
            </span>
          </span>
        );
      })}
      {runners.length === 0 && <span className="soft small">No runner is online.</span>}
      <Places />
      {data.runner_bootstrap && data.jobs.some(lacksRunner) && (
        <span className="small">
          Jobs are waiting for a runner. Start one: <code>{data.runner_bootstrap.cmd}</code>
        </span>
      )}
      {tokens > 0 && (
        <button
          type="button"
          className="button small"
          aria-expanded={spent}
          onClick={() => setParams({ spend: spent ? null : "1" })}
        >
          Today: {count(tokens)} tokens, {used?.cost_is_partial && "at least "}
          {money(used?.cost_usd)}
        </button>
      )}
      {spent && (
        <Suspense fallback={<p className="soft">Loading…</p>}>
          <Spend />
        </Suspense>
      )}
    </div>
  );
}
