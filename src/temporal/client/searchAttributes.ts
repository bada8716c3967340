import { setTimeout as delay } from 'node:timers/promises';

import { errorText } from '@slipway/contract/codedError';
import type { Connection } from '@temporalio/client';
import protos from '@temporalio/proto';

import { SlipwayError } from '../../domain/errors.ts';
import { SEARCH_ATTRIBUTES, type SearchAttributeName } from '../../domain/searchAttributes.ts';
import { TEMPORAL_ANSWERS_WITHIN_MS, type TemporalConnection, callTemporal } from './connection.ts';
import { isRejected } from './temporalError.ts';
import { isTemporalCloud, type TemporalSettings } from './temporalSettings.ts';

const { INDEXED_VALUE_TYPE_KEYWORD: KEYWORD } = protos.temporal.api.enums.v1.IndexedValueType;

/**
 * The search attributes that the namespace lacks. Does not call Temporal's operator service, which an API key of
 * Temporal Cloud may not call.
 * @throws SlipwayError SLIPWAY_SEARCH_ATTRIBUTES_MISSING if one is registered with another type, which Slipway must
 * not change; SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export function missingSearchAttributes(
  temporal: TemporalConnection,
): Promise<readonly SearchAttributeName[]> {
  const { connection, settings } = temporal;
  const { namespace } = settings;
  const look = async (): Promise<readonly SearchAttributeName[]> => {
    const { config } = await connection.workflowService.describeNamespace({ namespace });
    const shown = readAliases(config?.customSearchAttributeAliases ?? {});
    const wrong = NAMES.filter((name) => shown.has(name) && shown.get(name) !== 'Keyword');
    if (wrong.length > 0) throw wrongType(namespace, wrong);
    const unshown = NAMES.filter((name) => !shown.has(name));
    const searchable = await Promise.all(unshown.map((name) => isSearchable(connection, namespace, name)));
    return unshown.filter((_, index) => !searchable[index]);
  };
  return callTemporal(temporal, look, TEMPORAL_ANSWERS_WITHIN_MS);
}

const NAMES = Object.values(SEARCH_ATTRIBUTES);

/** The types of a namespace's search attributes, by name. Aliases map columns (`Keyword01`) to names. */
function readAliases(aliases: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(aliases).map(([column, name]) => [name, column.replace(/\d+$/, '')]));
}

/** Whether a query may name the attribute. A cluster with Elasticsearch shows no aliases of its namespaces. */
async function isSearchable(connection: Connection, namespace: string, name: string): Promise<boolean> {
  try {
    await connection.workflowService.countWorkflowExecutions({ namespace, query: `${name} = 'none'` });
    return true;
  } catch (error) {
    if (isRejected(error)) return false;
    throw error;
  }
}

/**
 * Checks that the namespace has all search attributes. Without them, starts fail and upserts wedge workflows.
 * @throws SlipwayError SLIPWAY_SEARCH_ATTRIBUTES_MISSING, with the commands that register them;
 * SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function requireSearchAttributes(temporal: TemporalConnection): Promise<void> {
  const missing = await missingSearchAttributes(temporal);
  if (missing.length === 0) return;
  const { settings } = temporal;
  const what = `namespace "${settings.namespace}" lacks the search attributes ${missing.join(', ')}`;
  const hint = `register them: slipway doctor --fix; or ${registerCommands(settings, missing)}`;
  throw new SlipwayError('SLIPWAY_SEARCH_ATTRIBUTES_MISSING', what, { hint });
}

/**
 * Registers the search attributes that the namespace lacks, and waits until Temporal takes them.
 * @returns those that it registered.
 * @throws SlipwayError SLIPWAY_SEARCH_ATTRIBUTES_MISSING, with the commands that register them, if the server refuses.
 */
export async function registerSearchAttributes(
  temporal: TemporalConnection,
): Promise<readonly SearchAttributeName[]> {
  const { connection, settings } = temporal;
  const missing = await missingSearchAttributes(temporal);
  if (missing.length === 0) return missing;
  try {
    await addSearchAttributes(connection, settings.namespace, missing);
  } catch (error) {
    // Another process may have registered them at the same time.
    const still = await missingSearchAttributes(temporal);
    if (still.length > 0) throw refused(settings, still, error);
  }
  await untilTaken(temporal, missing);
  return missing;
}

/** Temporal's services read a namespace every 2 s. Until then they refuse a start with a new attribute. */
async function untilTaken(temporal: TemporalConnection, names: readonly string[]): Promise<void> {
  const { connection, settings } = temporal;
  const areTaken = (): Promise<boolean[]> =>
    Promise.all(names.map((name) => isSearchable(connection, settings.namespace, name)));
  const deadline = Date.now() + TEMPORAL_ANSWERS_WITHIN_MS;
  while ((await callTemporal(temporal, areTaken)).includes(false) && Date.now() < deadline) await delay(100);
}

export async function addSearchAttributes(
  connection: Connection,
  namespace: string,
  names: readonly SearchAttributeName[] = NAMES,
): Promise<void> {
  await connection.withDeadline(Date.now() + TEMPORAL_ANSWERS_WITHIN_MS, () =>
    connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(names.map((name) => [name, KEYWORD])),
    }),
  );
}

/** The commands of others that register search attributes: Temporal's, and Temporal Cloud's. */
function registerCommands(
  { address, namespace }: Pick<TemporalSettings, 'address' | 'namespace'>,
  names: readonly string[],
): string {
  const pairs = names.map((name) => `--search-attribute ${name}=Keyword`).join(' ');
  const cloud = `tcld namespace search-attributes add --namespace ${namespace} ${pairs}`;
  if (isTemporalCloud(address)) return cloud;
  const flags = names.map((name) => `--name ${name} --type Keyword`).join(' ');
  return `temporal operator search-attribute create --namespace ${namespace} ${flags} (Temporal Cloud: ${cloud})`;
}

function refused(settings: TemporalSettings, missing: readonly string[], cause: unknown): SlipwayError {
  const what = `Temporal did not register ${missing.join(', ')} in namespace "${settings.namespace}": ${errorText(cause)}`;
  const hint = `register them with credentials that may: ${registerCommands(settings, missing)}`;
  return new SlipwayError('SLIPWAY_SEARCH_ATTRIBUTES_MISSING', what, { hint, cause });
}

function wrongType(namespace: string, names: readonly string[]): SlipwayError {
  const what = `namespace "${namespace}" has ${names.join(', ')} with another type than Keyword`;
  const hint = `remove it (temporal operator search-attribute remove --name ${names[0] ?? ''}), then run: slipway doctor --fix`;
  return new SlipwayError('SLIPWAY_SEARCH_ATTRIBUTES_MISSING', what, { hint });
}
