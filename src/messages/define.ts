// The definitions of `@temporalio/workflow`, without loading that package, because the command also sends messages.
import type { QueryDefinition, SignalDefinition, UpdateDefinition } from '@temporalio/common';

export const defineSignal = <Args extends unknown[] = []>(name: string): SignalDefinition<Args> =>
  ({ type: 'signal', name }) as SignalDefinition<Args>;

export const defineQuery = <Answer, Args extends unknown[] = []>(
  name: string,
): QueryDefinition<Answer, Args> => ({ type: 'query', name }) as QueryDefinition<Answer, Args>;

export const defineUpdate = <Answer, Args extends unknown[] = []>(
  name: string,
): UpdateDefinition<Answer, Args> => ({ type: 'update', name }) as UpdateDefinition<Answer, Args>;
