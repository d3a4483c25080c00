// Command calls: typed, sent to the chosen workspace, and safe to retry.
import { clock } from "../live/clock";
import { session, signOut } from "./session";
import type { Commands, Common, Envelope } from "./types";

export type Cmd = keyof Commands;
export type Args<C extends Cmd> = Commands[C]["request"] & Common;
export type Result<C extends Cmd> = Commands[C]["result"] & { truncated: boolean };

/** A refused call, or an unreachable server (`code` is then UNREACHABLE). */
export class CallError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly recovery: string | null,
    readonly retryable: boolean,
  ) {
    super(message);
  }
}

export function unreachable(): CallError {
  return new CallError("UNREACHABLE", "The server is not responding.", "run longhouse up", true);
}

export async function call<C extends Cmd>(
  cmd: C,
  args: Args<C>,
  signal?: AbortSignal,
): Promise<Result<C>> {
  const { workspace } = session.get();
  const where = workspace ? `?workspace=${encodeURIComponent(workspace)}` : "";
  const envelope = (await request(`/call/${cmd}${where}`, args, signal)) as Envelope<Result<C>>;
  return envelope.result as Result<C>;
}

/** GET a path that returns plain JSON. */
export async function get<T>(path: string): Promise<T> {
  return (await request(path, undefined)) as T;
}

/** Have the browser download a path and save it under a name. */
export async function save(path: string, name: string): Promise<void> {
  const file = URL.createObjectURL(await (await send(path, undefined)).blob());
  const link = document.createElement("a");
  link.href = file;
  link.download = name;
  link.click();
  URL.revokeObjectURL(file);
}

/** An idempotency key. `crypto.randomUUID` exists only in secure contexts. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Why the page signs out when the server answers 401. */
export const BAD_TOKEN = "This server does not accept this token.";

async function request(path: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
  return (await send(path, body, signal)).json();
}

async function send(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const { token } = session.get();
  const asked = Date.now();
  let answer: Response;
  try {
    answer = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unreachable();
  }
  clock.heard(answer.headers.get("date"), asked);
  if (answer.ok) return answer;
  const said = await answer.json();
  if (answer.status === 401 && token === session.get().token) {
    signOut(BAD_TOKEN);
  }
  const { code, message, recovery, retryable } = (said as Envelope).error ?? {
    code: `HTTP_${answer.status}`,
    message: `The server answered ${answer.status}.`,
    recovery: null,
    retryable: false,
  };
  throw new CallError(code, message, recovery, retryable);
}
