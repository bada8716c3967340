import type { Connection } from '@temporalio/client';

import { SlipwayError } from '../../domain/errors.ts';
import { SEARCH_ATTRIBUTES, type SearchAttributeName } from '../../domain/searchAttributes.ts';
import { TEMPORAL_ANSWERS_WITHIN_MS } from './connection.ts';

/** Temporal's `IndexedValueType` for Keyword. */
const KEYWORD = 2;

/**
 * The search attributes that the namespace lacks.
 *
 * @throws SlipwayError SLIPWAY_SEARCH_ATTRIBUTES_MISSING if one is registered with another type, which Slipway must
 * not change.
 */
export async function missingSearchAttributes(
  connection: Connection,
  namespace: string,
): Promise<readonly SearchAttributeName[]> {
  const { customAttributes } = await connection.withDeadline(Date.now() + TEMPORAL_ANSWERS_WITHIN_MS, () =>
    connection.operatorService.listSearchAttributes({ namespace }),
  );
  const registered: Readonly<Record<string, number>> = customAttributes;
  const names = Object.values(SEARCH_ATTRIBUTES);
  const wrong = names.filter((name) => name in registered && registered[name] !== KEYWORD);
  if (wrong.length > 0) {
    throw new SlipwayError(
      'SLIPWAY_SEARCH_ATTRIBUTES_MISSING',
      `namespace "${namespace}" has ${wrong.join(', ')} with another type than Keyword`,
      {
        hint: `remove it (temporal operator search-attribute remove --name ${wrong[0] ?? ''}), then run: slipway doctor --fix`,
      },
    );
  }
  return names.filter((name) => !(name in registered));
}

/**
 * Registers the search attributes that the namespace lacks.
 *
 * @returns those that it registered.
 * @throws SlipwayError SLIPWAY_SEARCH_ATTRIBUTES_MISSING if the server refuses.
 */
export async function registerSearchAttributes(
  connection: Connection,
  namespace: string,
): Promise<readonly SearchAttributeName[]> {
  const missing = await missingSearchAttributes(connection, namespace);
  if (missing.length === 0) return missing;
  try {
    await addSearchAttributes(connection, namespace, missing);
  } catch (error) {
    // Another process may have registered them at the same time.
    const still = await missingSearchAttributes(connection, namespace);
    if (still.length > 0) throw refused(namespace, still, error);
  }
  return missing;
}

/** Registers search attributes on a server that only this process uses. Default: all of them. */
export async function addSearchAttributes(
  connection: Connection,
  namespace: string,
  names: readonly SearchAttributeName[] = Object.values(SEARCH_ATTRIBUTES),
): Promise<void> {
  await connection.withDeadline(Date.now() + TEMPORAL_ANSWERS_WITHIN_MS, () =>
    connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(names.map((name) => [name, KEYWORD])),
    }),
  );
}

/** The error of a worker if search attributes are missing. */
export function searchAttributesMissing(namespace: string, missing: readonly string[]): SlipwayError {
  return new SlipwayError(
    'SLIPWAY_SEARCH_ATTRIBUTES_MISSING',
    `namespace "${namespace}" lacks the search attributes ${missing.join(', ')}`,
    { hint: 'register them: slipway doctor --fix' },
  );
}

function refused(namespace: string, missing: readonly string[], cause: unknown): SlipwayError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new SlipwayError(
    'SLIPWAY_SEARCH_ATTRIBUTES_MISSING',
    `Temporal did not register ${missing.join(', ')} in namespace "${namespace}": ${why}`,
    {
      hint: `register each with the type Keyword yourself (Temporal Cloud: tcld namespace search-attributes add)`,
      cause,
    },
  );
}
