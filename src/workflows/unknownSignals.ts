import { setDefaultSignalHandler } from '@temporalio/workflow';

/**
 * Reports signals whose name the workflow does not know, such as a typo. The SDK buffers them. Call this whenever the
 * workflow decides what to do next. The default handler is set only for a moment: while one is set, the SDK throws
 * when a signal with a reserved name (`__temporal_…`) arrives, which would fail the workflow task for ever.
 * @param ignore - gets each name, cut to 100 characters, and why the signal was ignored.
 */
export function takeUnknownSignals(ignore: (name: string, reason: string) => void): void {
  const take = (name: string): void =>
    ignore(name.slice(0, NAME_MAX_CHARACTERS), 'there is no message of this name');
  for (let reserved = 0; reserved < RESERVED_NAMES_AT_ONCE; reserved++) {
    try {
      setDefaultSignalHandler(take);
      return;
    } catch {
      // The SDK threw for a reserved name, and has dropped that signal. Continue with the next one.
    } finally {
      setDefaultSignalHandler(undefined);
    }
  }
}

const NAME_MAX_CHARACTERS = 100;
/** Further reserved names wait for the next call. */
const RESERVED_NAMES_AT_ONCE = 100;
