import { CodedError } from '@slipway/contract/codedError';

import { inSpan, startTraces } from '../traces/trace.ts';
import type { CommandContext } from './context.ts';

type Run<Given extends unknown[]> = (context: CommandContext, ...given: Given) => Promise<number>;

/** Wraps a command so that its calls, also in other processes, form one trace, whose first span has that name. */
export function traced<Given extends unknown[]>(name: string, run: Run<Given>): Run<Given> {
  return async (context, ...given) => {
    const endTraces = await startTraces(context.environment, 'slipway');
    try {
      return await inSpan({ name }, async (span) => {
        try {
          const exitCode = await run(context, ...given);
          span.set({ 'slipway.exit_code': exitCode });
          if (exitCode !== 0) span.fail(`exit ${exitCode}`);
          return exitCode;
        } catch (error) {
          span.fail(error instanceof CodedError ? String(error.code) : 'SLIPWAY_INTERNAL');
          throw error;
        }
      });
    } finally {
      await endTraces();
    }
  };
}
