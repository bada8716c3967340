import type { Readable } from 'node:stream';
import { readLines } from './lines.ts';
import { createSecretMask } from './secretMask.ts';

/** The longest line that is passed on, in characters. */
const MAX_LINE_CHARS = 8_000;
/** How much of a line is read: more than is passed on, because what is dropped at a cut is a secret's length. */
const MAX_READ_CHARS = 32_000;
/** Lines a second that are passed on in the long run, and how many may come at once. */
const LINES_PER_SECOND = 200;
const LINES_AT_ONCE = 2_000;
/** How many last lines are kept for the reason when the agent does not start. */
const KEPT_LINES = 20;

/** An agent's two output streams, followed. */
export interface AgentOutput {
  /** Resolves with the address of the ready line; never rejects, and stays pending when no such line comes. */
  readonly ready: Promise<string>;
  /** The last lines so far, oldest first, secrets masked. */
  lastLines(): string[];
}

/**
 * Follows what an agent writes. The ready line (`{"event":"ready","url":…}` on stdout) is taken; every other
 * line of both streams goes to `log`, bounded in length and rate, with the values in `secrets` masked. Reading
 * never stops, so that an agent that talks a lot does not block on a full pipe.
 */
export function followOutput(
  streams: { readonly stdout: Readable; readonly stderr: Readable },
  secrets: readonly string[],
  log: (line: string) => void,
): AgentOutput {
  const mask = createSecretMask(secrets);
  const throttled = throttle(log);
  const kept: string[] = [];
  const pass = (line: string, cut: boolean) => {
    const shown = mask(line, cut);
    const bounded = shown.length > MAX_LINE_CHARS ? `${shown.slice(0, MAX_LINE_CHARS)} … (cut)` : shown;
    kept.push(bounded);
    if (kept.length > KEPT_LINES) kept.shift();
    throttled(bounded);
  };
  const ready = new Promise<string>((resolve) => {
    readLines(streams.stdout, MAX_READ_CHARS, (line, cut) => {
      const url = addressIn(line);
      if (url === undefined) pass(line, cut);
      else resolve(url);
    });
  });
  readLines(streams.stderr, MAX_READ_CHARS, pass);
  return { ready, lastLines: () => [...kept] };
}

/** The address in a ready line, or undefined where the line is anything else (agents print JSON of their own). */
function addressIn(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined;
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    // Not JSON after all: a line like any other.
    return undefined;
  }
  const { event, url } = message as { event?: unknown; url?: unknown };
  return event === 'ready' && typeof url === 'string' && URL.canParse(url) ? url : undefined;
}

/** Passes lines on at a bounded rate, and says how many it left out once there is room again. */
function throttle(log: (line: string) => void): (line: string) => void {
  let room = LINES_AT_ONCE;
  let refilledAt = performance.now();
  let leftOut = 0;
  return (line) => {
    const now = performance.now();
    room = Math.min(LINES_AT_ONCE, room + ((now - refilledAt) / 1000) * LINES_PER_SECOND);
    refilledAt = now;
    if (room < 1) {
      leftOut += 1;
      return;
    }
    room -= 1;
    if (leftOut > 0) {
      log(`… ${String(leftOut)} lines left out: the agent writes faster than its log takes.`);
      leftOut = 0;
    }
    log(line);
  };
}
