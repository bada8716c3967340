import { PlatformError } from '../errors.ts';

/** Why an agent did not start. */
export type AgentStartFailure =
  /** The program could not be run at all. */
  | { readonly kind: 'not_runnable'; readonly cause: string }
  /** The process ended before it was ready. */
  | { readonly kind: 'exited'; readonly code: number | null; readonly signal: string | null }
  /** It ran, and was not ready in time. `seen` is how far it came. */
  | { readonly kind: 'not_ready'; readonly afterMs: number; readonly seen: string }
  /** Its container could not be had. `cause`: whole sentences, with what to do. */
  | { readonly kind: 'container'; readonly cause: string }
  /** The caller gave up. */
  | { readonly kind: 'aborted' };

/**
 * `startAgent` could not bring the agent to answer. Nothing of it is left running.
 *
 * `message` holds the agent's last lines of output (secrets masked), for a person to read in the revision.
 */
export class AgentStartError extends PlatformError {
  readonly failure: AgentStartFailure;
  /** The agent's last lines of output, oldest first, secrets masked. */
  readonly lastLines: readonly string[];

  constructor(failure: AgentStartFailure, lastLines: readonly string[]) {
    const said =
      lastLines.length === 0 ? ' It printed nothing.' : ` Its last lines:\n${lastLines.join('\n')}`;
    const neverRan = failure.kind === 'aborted' || failure.kind === 'container';
    super('SLIPWAY_AGENT_START_FAILED', `${sentence(failure)}${neverRan ? '' : said}`);
    this.name = 'AgentStartError';
    this.failure = failure;
    this.lastLines = lastLines;
  }
}

function sentence(failure: AgentStartFailure): string {
  switch (failure.kind) {
    case 'not_runnable':
      return `The agent's process could not be started: ${failure.cause}.`;
    case 'exited':
      return failure.signal === null
        ? `The agent ended with exit code ${failure.code ?? 'unknown'} before it was ready.`
        : `The agent was ended by ${failure.signal} before it was ready.`;
    case 'not_ready':
      return `The agent was not ready within ${failure.afterMs / 1000} s: ${failure.seen}.`;
    case 'container':
      return failure.cause;
    case 'aborted':
      return 'The start of the agent was called off.';
  }
}
