// Calls of commands: typed, in the chosen workspace, and safe to repeat.
import { clock } from "../live/clock";
import { session, signOut } from "./session";
import type { Commands, Common, Envelope } from "./types";

export type Cmd = keyof Commands;
export type Args<C extends Cmd> = Commands[C]["request"] & Common;
export type Result<C extends Cmd> = Commands[C]["result"] & { truncated: boolean };

/** A refusal, or a server that cannot be reached (`code` is then UNREACHABLE). */
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

/** GET a path that answers plain JSON. */
export async function get<T>(path: string): Promise<T> {
  return (await request(path, undefined)) as T;
}

/** Let the browser save what a path answers, under that name. */
export async function save(path: string, name: string): Promise<void> {
  const file = URL.createObjectURL(await (await send(path, undefined)).blob());
  const link = document.createElement("a");
  link.href = file;
  link.download = name;
  link.click();
  URL.revokeObjectURL(file);
}

/** An idempotency key; `randomUUID` exists only where the browser trusts the address. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

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
    throw new CallError("UNREACHABLE", "The server does not answer.", "longhouse up", true);
  }
  clock.heard(answer.headers.get("date"), asked);
  if (answer.ok) return answer;
  const said = await answer.json();
  if (answer.status === 401 && token === session.get().token) {
    signOut("This token is not known here any more.");
  }
  const { code, message, recovery, retryable } = (said as Envelope).error ?? {
    code: `HTTP_${answer.status}`,
    message: `The server answered ${answer.status}.`,
    recovery: null,
    retryable: false,
  };
  throw new CallError(code, message, recovery, retryable);
}
