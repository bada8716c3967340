import type { AgentExit, RunningAgent } from '../../src/runtime/agentStart.ts';

/** An in-memory agent that ends on request. */
export class FakeAgent implements RunningAgent {
  readonly url = 'http://127.0.0.1:1';
  readonly env: Readonly<Record<string, string>>;
  /** How long it was given to end, in milliseconds; undefined: it was not asked to. */
  drainedMs: number | undefined;
  killed = false;
  #end: (exit: AgentExit) => void = () => undefined;
  readonly exited = new Promise<AgentExit>((resolve) => (this.#end = resolve));

  constructor(env: Readonly<Record<string, string>> = {}) {
    this.env = env;
  }

  get revisionId(): string {
    return this.env['SLIPWAY_AGENT_REVISION_ID'] ?? '';
  }

  get drained(): boolean {
    return this.drainedMs !== undefined;
  }

  /** Ends without a request. */
  crash(): void {
    this.#end({ code: 1, signal: null });
  }

  drain(ms: number): Promise<void> {
    this.drainedMs = ms;
    this.#end({ code: 0, signal: null });
    return Promise.resolve();
  }

  kill(): void {
    this.killed = true;
    this.#end({ code: null, signal: 'SIGKILL' });
  }
}
