import type { TemporalConnection } from '../temporal/client/connection.ts';
import type { CommandContext } from './context.ts';
import { interruptible } from './interruption.ts';
import { withTemporal } from './openTemporal.ts';

/** A command that is connected to Temporal. */
export interface Session extends CommandContext {
  readonly temporal: TemporalConnection;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
}

/** Connects a command whose request continues without it. @throws as {@link interruptible} and {@link withTemporal}. */
export function withSession<T>(context: CommandContext, work: (session: Session) => Promise<T>): Promise<T> {
  return interruptible(
    (signal) => withTemporal(context, (temporal) => work({ ...context, temporal, signal })),
    context.output,
  );
}
