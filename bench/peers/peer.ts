/** One requested release, on a deployment of the stand-in. */
export interface Order {
  /** The release's id, new for each. */
  readonly id: string;
  /** The stand-in's address. */
  readonly url: string;
  readonly name: string;
  readonly deploymentId: string;
  /** The revision that serves before, and that a rollback restores. */
  readonly goodRevisionId: string;
  /** Whether an earlier release has checked the revision that serves before. If not, this one checks it first. */
  readonly isVerified: boolean;
}

export type Outcome = 'released' | 'rolled_back';

/** One system that runs releases. It has its own process; its worker and its servers are children. */
export interface Peer {
  /**
   * Starts the servers and one worker.
   * @param folder - for all its files; removed at the end.
   */
  start(folder: string): Promise<void>;
  /** Runs one release. Resolves when it has ended. */
  release(order: Order): Promise<Outcome>;
  /** Requests a rollback of a release that waits for its revision. Resolves when the request is accepted. */
  rollBack(order: Order): Promise<void>;
  /** Kills the worker with SIGKILL and starts another one at once. Resolves when the new one works. */
  restartWorker(): Promise<void>;
  workerPid(): Promise<number>;
  /** How many events, rows or journal entries the release has left in the system's store. */
  events(order: Order): Promise<number>;
  close(): Promise<void>;
}
