import { setMaxListeners } from 'node:events';

/** Processes items in order, several at once. The first failure cancels the others, and is thrown. */
export async function inParallel<T>(
  items: readonly T[],
  concurrency: number,
  signal: AbortSignal,
  work: (item: T, ended: AbortSignal) => Promise<void>,
): Promise<void> {
  const failed = new AbortController();
  const ended = AbortSignal.any([signal, failed.signal]);
  // Each running item adds a listener, some two.
  setMaxListeners(0, ended);
  const queue = items.values();
  let firstFailure: { readonly error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      if (ended.aborted) return;
      try {
        await work(item, ended);
      } catch (error) {
        firstFailure ??= { error };
        failed.abort();
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  signal.throwIfAborted();
  if (firstFailure !== undefined) throw firstFailure.error;
}
