/** One release that a system is asked for, on a deployment of the stand-in. */
export interface Order {
  /** The release's id, new for each. */
  readonly id: string;
  /** The stand-in's address. */
  readonly url: string;
  /** The deployment's name. */
  readonly name: string;
  readonly deploymentId: string;
  /** The revision that serves before, and that a rollback puts back. */
  readonly goodRevisionId: string;
}

/** How a release ended. */
export type Outcome = 'released' | 'rolled_back';

/** One system that carries releases out. It lives in a process of its own; its worker and its servers are children. */
export interface Peer {
  /**
   * Starts the servers and one worker.
   *
   * @param folder - for everything that it writes; removed at the end.
   */
  start(folder: string): Promise<void>;
  /** Carries out one release. Resolves when it has ended. */
  release(order: Order): Promise<Outcome>;
  /** Asks for a rollback of a release that waits for its revision. Resolves when the request has been taken. */
  rollBack(order: Order): Promise<void>;
  /** Kills the worker with SIGKILL and starts another one at once. Resolves when that one works. */
  restartWorker(): Promise<void>;
  /** The process id of the worker. */
  workerPid(): Promise<number>;
  /** How many events, rows or journal entries the release has left in the system's store. */
  events(order: Order): Promise<number>;
  close(): Promise<void>;
}
