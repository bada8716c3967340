import { Pool } from 'undici';

/** An agent that requests can go to. */
export interface GatewayAgent {
  /** Its address. */
  readonly url: string;
  /** The revision it serves: in the header `x-slipway-revision-id` of every answer. */
  readonly revisionId: string;
  /** Resolves when its process has ended (`RunningAgent.exited`). Without it, that shows only by trying. */
  readonly exited?: Promise<unknown>;
}

/** The way to one agent: its connections, and how many requests are on it. */
export class AgentRoute {
  readonly pool: Pool;
  readonly revisionId: string;
  #inFlight = 0;
  #exited = false;
  #onIdle: (() => void) | undefined;

  /** `onExit` is called when the agent's process has ended. */
  constructor(agent: GatewayAgent, onExit: () => void) {
    this.revisionId = agent.revisionId;
    this.pool = new Pool(new URL(agent.url).origin, {
      // A run may think for as long as it wants: only the client's leaving and the agent's end break it off.
      headersTimeout: 0,
      bodyTimeout: 0,
      connectTimeout: 2_000,
    });
    void agent.exited?.then(() => {
      this.#exited = true;
      onExit();
    });
  }

  /** Whether its process is known to have ended, so that no request need find out. */
  get exited(): boolean {
    return this.#exited;
  }

  /** Counts a request in. Every `enter` has its `leave`. */
  enter(): void {
    this.#inFlight += 1;
  }

  leave(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) this.#onIdle?.();
  }

  /** To be called once no new request can enter. Resolves, with the connections closed, when the last has left. */
  async retire(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.pool.destroy();
  }
}
