/** How an agent ended: an exit code, or the signal that ended it. */
export interface AgentExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** An agent that answers, whatever it runs as: a process, or a container. */
export interface RunningAgent {
  /** Its address, on loopback. */
  readonly url: string;
  /** Resolves when the agent has ended, however that came about; never rejects. */
  readonly exited: Promise<AgentExit>;
  /**
   * Asks the agent to finish what it is at and end (SIGTERM), and kills all of it after `timeoutMs`; a process has to
   * hand over what it is at some seconds before that. Resolves when
   * nothing of it is left. Called again, it joins; a shorter time limit then counts.
   */
  drain(timeoutMs: number): Promise<void>;
  /** Kills all of it at once. */
  kill(): void;
}
