import { setDefaultSignalHandler } from '@temporalio/workflow';

/**
 * Reports signals of a name that the workflow does not know, such as a typo. To be called whenever the
 * workflow looks what to do: the SDK keeps such signals until somebody takes them. It takes them for this moment only,
 * because where a handler for all names stands, the SDK throws at the arrival of a name that it keeps for itself
 * (`__temporal_…`), which would fail the workflow task for ever.
 *
 * @param ignore - gets each name, cut to 100 characters, and why it is not acted upon.
 */
export function takeUnknownSignals(ignore: (name: string, reason: string) => void): void {
  const take = (name: string): void =>
    ignore(name.slice(0, NAME_MAX_CHARACTERS), 'there is no message of this name');
  for (let reserved = 0; reserved < RESERVED_NAMES_AT_ONCE; reserved++) {
    try {
      setDefaultSignalHandler(take);
      return;
    } catch {
      // A name of the SDK's own: it has been let go, and the next one is taken.
    } finally {
      setDefaultSignalHandler(undefined);
    }
  }
}

const NAME_MAX_CHARACTERS = 100;
/** Those beyond it wait until the workflow looks again. */
const RESERVED_NAMES_AT_ONCE = 100;
