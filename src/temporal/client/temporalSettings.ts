import { errorText } from '@slipway/contract/codedError';
import { type ClientConnectConfig, loadClientConnectConfig } from '@temporalio/envconfig';

import { type Environment, setting } from '../../config/environment.ts';
import { readPayloadKeys } from '../../config/payloadKeys.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { PayloadCipher } from '../codec/payloadCipher.ts';
import { readDevState } from '../server/devState.ts';
import { proxyFor } from './proxy.ts';

export interface TemporalSettings {
  /** `host:port`. */
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  /** Where the address comes from: Temporal's environment configuration, a running `slipway dev`, or the default. */
  readonly origin: 'environment' | 'dev' | 'default';
  /** Credentials and TLS, for the SDK. Contains secrets: never print it. */
  readonly connectionOptions: ClientConnectConfig['connectionOptions'];
  /** The HTTP proxy through which to reach Temporal; absent: none. Contains its password. */
  readonly proxy?: ReturnType<typeof proxyFor>;
  /** Encrypts payloads; absent: no encryption. */
  readonly codec?: PayloadCipher;
  /** The base URL of Temporal's UI, if known. */
  readonly ui: string | null;
  /** Slipway's page for this Temporal, `https://HOST`; `null` if not known. */
  readonly dashboard: string | null;
}

const DEFAULT_ADDRESS = 'localhost:7233';
const DEFAULT_NAMESPACE = 'default';
const DEFAULT_TASK_QUEUE = 'slipway';
/** One for all namespaces of Temporal Cloud. */
const CLOUD_UI = 'https://cloud.temporal.io';

/**
 * Finds the Temporal to use: the one in Temporal's environment configuration (`TEMPORAL_ADDRESS`,
 * `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, profiles of `temporal.toml`), else the one of a `slipway dev` that runs
 * in this home, else `localhost:7233`. The task queue is `SLIPWAY_TASK_QUEUE`, default `slipway`.
 *
 * Payloads are encrypted with the keys in `SLIPWAY_PAYLOAD_KEYS`.
 * @throws SlipwayError SLIPWAY_PAYLOAD_KEYS_INVALID and SLIPWAY_SECRET_MISSING for these keys; SLIPWAY_CONFIG_INVALID
 * if a profile or its file cannot be read, or if the namespace is empty, or the address or the proxy's is invalid.
 */
export async function temporalSettings(home: string, environment: Environment): Promise<TemporalSettings> {
  const { connectionOptions, namespace } = load(environment);
  if (connectionOptions.address !== undefined) requireHostAndPort(connectionOptions.address);
  if (namespace === '') {
    throw new SlipwayError('SLIPWAY_CONFIG_INVALID', 'Temporal’s namespace is empty', {
      place: 'namespace in the profile of temporal.toml',
      hint: 'name one, or remove the line for "default"',
    });
  }
  const dev = await readDevState(home);
  const keys = await readPayloadKeys(environment);
  const taskQueue = setting(environment, 'SLIPWAY_TASK_QUEUE');
  const named = connectionOptions.address;
  const chosenDev = named === undefined ? dev : undefined;
  const address = named ?? dev?.temporal.address ?? DEFAULT_ADDRESS;
  const ownDev = dev?.temporal.address === address ? dev : undefined;
  return {
    address,
    namespace: namespace ?? chosenDev?.temporal.namespace ?? DEFAULT_NAMESPACE,
    taskQueue: taskQueue ?? chosenDev?.taskQueue ?? DEFAULT_TASK_QUEUE,
    origin: named !== undefined ? 'environment' : dev === undefined ? 'default' : 'dev',
    connectionOptions: { ...connectionOptions, address },
    proxy: proxyFor(address, environment),
    codec: keys.length === 0 ? undefined : new PayloadCipher(keys),
    ui: ownDev?.temporal.ui ?? (isTemporalCloud(address) ? CLOUD_UI : null),
    dashboard: ownDev?.dashboard ?? null,
  };
}

/** The settings for a Temporal that this process has started, which asks for no credentials. */
export function startedTemporal(
  place: Pick<TemporalSettings, 'address' | 'namespace' | 'taskQueue'>,
): TemporalSettings {
  const { address } = place;
  return { ...place, origin: 'dev', connectionOptions: { address }, ui: null, dashboard: null };
}

export function workflowPage(
  settings: Pick<TemporalSettings, 'ui' | 'namespace'>,
  workflowId: string,
): string | null {
  if (settings.ui === null) return null;
  return `${settings.ui}/namespaces/${encodeURIComponent(settings.namespace)}/workflows/${encodeURIComponent(workflowId)}`;
}

function load(environment: Environment): ClientConnectConfig {
  // An empty variable counts as not set, as all others do. To the SDK, an empty API key would turn on TLS.
  const set = Object.keys(environment).flatMap((name) => {
    const value = setting(environment, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const overrideEnvVars = Object.fromEntries(set);
  try {
    return loadClientConnectConfig({ overrideEnvVars });
  } catch (error) {
    const what = `Temporal's own configuration could not be read: ${errorText(error)}`;
    const place = setting(environment, 'TEMPORAL_CONFIG_FILE') ?? 'temporal.toml';
    const hint = 'check TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE and the file itself';
    throw new SlipwayError('SLIPWAY_CONFIG_INVALID', what, { place, hint, cause: error });
  }
}

/** `host`, `host:port` or `[IPv6]:port`, as gRPC accepts. With a URL, gRPC's error would not name the address. */
const HOST_AND_PORT = /^(?:[^\s:/[\]]+|\[[0-9a-f:.]+\])(?::(?<port>\d{1,5}))?$/i;

const PORT_MAX = 65_535;

function requireHostAndPort(address: string): void {
  const match = HOST_AND_PORT.exec(address);
  if (match !== null && Number(match.groups?.['port'] ?? 0) <= PORT_MAX) return;
  throw new SlipwayError('SLIPWAY_CONFIG_INVALID', `Temporal's address is "${address}", not host:port`, {
    place: 'TEMPORAL_ADDRESS, or address in the profile of temporal.toml',
    hint: `write host:port without a scheme or a path: TEMPORAL_ADDRESS=${DEFAULT_ADDRESS}`,
  });
}

/** Whether the address, `host:port`, is one of Temporal Cloud. It is not if a proxy stands between. */
export function isTemporalCloud(address: string): boolean {
  return /\.(?:tmprl\.cloud|temporal\.io)(?::\d+)?$/.test(address);
}
