/* eslint-disable @typescript-eslint/no-explicit-any -- answers are judged by what the rows expect of them */
import { apiOf, collectEvents, echo, type ReadEvent, steps } from '../runApiUnderTest.ts';

/** One row of a table of contract 001, or one fact about its gaps, and its check. */
export interface Row {
  /** The section of the contract; `Gaps`: facts that it does not show. */
  readonly section: string;
  readonly row: string;
  /** Throws if the server does not behave like the row. */
  readonly check: (server: ServerUnderTest) => Promise<void>;
}

/** A server with the fixture's graphs, and objects that several rows share. */
export class ServerUnderTest {
  readonly api: ReturnType<typeof apiOf>;
  readonly url: string;
  readonly #headers: Record<string, string>;
  readonly #shared = new Map<string, Promise<unknown>>();

  constructor(url: string, apiKey?: string) {
    this.url = url.replace(/\/$/, '');
    this.#headers = apiKey === undefined ? {} : { 'x-api-key': apiKey };
    this.api = apiOf(this.url, this.#headers);
  }

  /** Made once for all rows. */
  shared<T>(name: string, make: () => Promise<T>): Promise<T> {
    const made = this.#shared.get(name) ?? make();
    this.#shared.set(name, made);
    return made as Promise<T>;
  }

  /** An echo run that has ended: as it was created and as it is now, with its thread's state. */
  echoed(): Promise<{ thread: string; created: any; ended: any; state: any; joined: any }> {
    return this.shared('echoed', async () => {
      const thread = await this.api.thread();
      const created = await this.create(thread, echo('hi'));
      const path = `/threads/${thread}/runs/${created.run_id}`;
      const joined = await this.api.json('GET', `${path}/join`);
      const ended = await this.api.untilStatus(thread, created.run_id as string, 'success');
      return { thread, created, ended, joined, state: await this.api.state(thread) };
    });
  }

  create(thread: string, body: object): Promise<any> {
    return this.api.create(thread, body);
  }

  /** A run on a thread of its own, with its first step done and its second waiting. */
  async busy(text = '60000', more: object = {}): Promise<{ thread: string; run: any; path: string }> {
    const thread = await this.api.thread();
    const run = await this.create(thread, { ...steps(text), ...more });
    await this.api.untilLogged(thread, 1);
    return { thread, run, path: `/threads/${thread}/runs/${run.run_id}` };
  }

  /** Ends a busy run in any state. */
  async end(path: string): Promise<void> {
    await this.api.send('POST', `${path}/cancel?wait=1`).then((response) => response.text());
  }

  /** The events of a stateless stream, without comments. */
  async stream(body: object, path = '/runs/stream'): Promise<ReadEvent[]> {
    const response = await this.api.send('POST', path, body);
    return (await collectEvents(response)).filter(({ event }) => event !== ':');
  }

  /** The feedback links of a run with these keys. */
  async feedbackLinks(keys: readonly string[]): Promise<Record<string, string>> {
    const events = await this.stream({ ...echo(), feedback_keys: keys });
    return (events.find(({ event }) => event === 'feedback')?.data ?? {}) as Record<string, string>;
  }

  /** The status of an answer, and its body, as JSON if possible. */
  async answer(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }> {
    const response = await this.api.send(method, path, body);
    const text = await response.text();
    try {
      return { status: response.status, body: JSON.parse(text) };
    } catch {
      return { status: response.status, body: text };
    }
  }

  /** Sends a request, waits for `ready`, and disconnects. */
  async leave(method: string, path: string, body: unknown, ready: () => Promise<unknown>): Promise<void> {
    const gone = new AbortController();
    const asked = this.api
      .send(method, path, body, { signal: gone.signal })
      .then((response) => response.text())
      .catch(() => undefined);
    await ready();
    gone.abort();
    await asked;
  }
}
