// What needs a person, in which order.
import { expect, test } from "vitest";
import type { CrewStatus, JobRadar, Message, RadarRow } from "../src/api/types";
import { inWords, rank } from "../src/views/now/ranking";

const calm = { needs_proof: false, has_error: false, stale: false };

function job(id: string, more: object = {}): RadarRow {
  const row = { id, ref: `${id}@1`, title: id, status: "RUNNING", attention: calm, frees: 0 };
  return { ...row, updated_at_ms: Date.now(), ...more } as unknown as RadarRow;
}

function message(id: string, more: object = {}): Message {
  const row = { message_id: id, category: "HANDOFF", to_agent: "ada", from_agent: "linus" };
  return { ...row, subject: "Hi", created_at: new Date().toISOString(), ...more } as Message;
}

const radar = (...jobs: RadarRow[]) => ({ jobs }) as unknown as JobRadar;
const crew = (...mail: Message[]) => ({ unacked_required_messages: mail }) as unknown as CrewStatus;
const ada = { name: "ada" } as Parameters<typeof rank>[4];
const ids = (...args: Parameters<typeof rank>) => rank(...args).map((need) => need.id);

const asked = { question: { ref: "JOB-002@7", text: "Which?" } };

test("a job that runs well needs nobody", () => {
  expect(ids(radar(job("JOB-001")), undefined, undefined, [], ada)).toEqual([]);
});

test("a question comes before missing proof, and proof before a failed job", () => {
  const jobs = radar(
    job("JOB-001", { attention: { ...calm, needs_proof: true } }),
    job("JOB-002", asked),
  );
  const failed = radar(job("JOB-003", { status: "FAILED" }));
  expect(ids(jobs, failed, undefined, [], ada)).toEqual([
    ...["JOB-002@7", "proof JOB-001@1", "failed JOB-003@1"],
  ]);
});

test("what frees others comes first", () => {
  const jobs = radar(
    job("JOB-001", { attention: { ...calm, needs_proof: true }, frees: 3 }),
    job("JOB-002", asked),
  );
  expect(ids(jobs, undefined, undefined, [], ada)[0]).toBe("proof JOB-001@1");
});

test("another's mail is shown only if its sender is blocked", () => {
  const mail = crew(
    message("m1", { to_agent: "grace" }),
    message("m2", { to_agent: "grace", category: "BLOCKED" }),
    message("m3"),
  );
  expect(ids(undefined, undefined, mail, [], ada)).toEqual(["m2", "m3"]);
});

test("of two alike the older comes first", () => {
  const now = Date.now();
  const jobs = radar(
    job("JOB-001", { ...asked, updated_at_ms: now, question: { ref: "JOB-001@9", text: "?" } }),
    job("JOB-002", { ...asked, updated_at_ms: now - 5_000 }),
  );
  expect(ids(jobs, undefined, undefined, [], ada)).toEqual(["JOB-002@7", "JOB-001@9"]);
});

test("a job that failed long ago is not shown, and neither is what was put away", () => {
  const old = Date.now() - 8 * 24 * 60 * 60 * 1000;
  const failed = radar(
    job("JOB-001", { status: "FAILED", updated_at_ms: old }),
    job("JOB-002", { status: "FAILED" }),
  );
  expect(ids(undefined, failed, undefined, [], ada)).toEqual(["failed JOB-002@1"]);
  expect(ids(undefined, failed, undefined, [], ada, ["failed JOB-002@1"])).toEqual([]);
});

test("a notification says who waits and why", () => {
  const [need] = rank(radar(job("JOB-002", asked)), undefined, undefined, [], ada);
  expect(need && inWords(need)).toEqual({ who: "JOB-002 has a question", why: "Which?" });
});
