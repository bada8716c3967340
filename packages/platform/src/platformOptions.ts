import { Networks } from '@slipway/contract/clientAddress';

import { ReachableAddresses } from './agentServer/webhooks/reachableAddresses.ts';
import { buildLimitsFrom } from './builder/buildLimits.ts';
import { invalidVariable, PlatformError } from './errors.ts';
import { type PlatformOptions, RATE_LIMIT } from './platform.ts';

/** The options of `slipway platform`. */
export interface PlatformSettings extends Pick<
  PlatformOptions,
  'port' | 'home' | 'host' | 'databaseUrl' | 'vocabulary' | 'adoptDatabase' | 'isolation'
> {
  /** Long-term requests per second of each key; 0: unlimited. Default: 500. */
  rateLimit?: number;
  /** Requests of each key at once. Default: ten seconds' worth. */
  rateBurst?: number;
  /** The largest request body of the control plane, in MB (1,048,576 bytes). Default: 1. */
  maxBody?: number;
  /** The largest upload, in MB. Default: 200. */
  maxUpload?: number;
  /** How long to keep the audit log, in days. Default: 365. */
  keepAudit?: number;
  /** `host:port` for metrics. Default: none. */
  metrics?: string;
}

const MEGABYTE = 1_048_576;
const DAY_MS = 86_400_000;

/**
 * The platform's options, from those of `slipway platform` and the environment (docs/environment.md).
 * @throws PlatformError SLIPWAY_USAGE if a variable is invalid.
 */
export function platformOptionsOf(
  options: PlatformSettings,
  environment: NodeJS.ProcessEnv,
): PlatformOptions {
  const times = (value: number | undefined, unit: number): number | undefined =>
    value === undefined ? undefined : value * unit;
  return {
    home: options.home,
    port: options.port,
    buildLimits: buildLimitsFrom(environment),
    rateLimit: rateLimitOf(options),
    host: options.host,
    metrics: metricsAddress(options.metrics),
    databaseUrl: options.databaseUrl,
    adoptDatabase: options.adoptDatabase,
    vocabulary: options.vocabulary,
    bodyMaxBytes: times(options.maxBody, MEGABYTE),
    uploadMaxBytes: times(options.maxUpload, MEGABYTE),
    auditKeptMs: times(options.keepAudit, DAY_MS),
    publicUrl: addressIn(environment, 'SLIPWAY_PUBLIC_URL'),
    apiKey: textIn(environment, 'SLIPWAY_PLATFORM_API_KEY'),
    trustedProxies: entriesIn(
      environment,
      'SLIPWAY_TRUSTED_PROXIES',
      'addresses or networks such as 10.0.0.0/8',
      (entries) => new Networks(entries),
    ),
    dockerCommand: textIn(environment, 'SLIPWAY_DOCKER'),
    isolation: options.isolation ?? 'auto',
    agentImage: textIn(environment, 'SLIPWAY_AGENT_IMAGE'),
    egressAllow: entriesIn(
      environment,
      'SLIPWAY_EGRESS_ALLOW',
      'addresses, networks such as 10.0.0.0/8 or host names',
      (entries) => new ReachableAddresses(entries),
    ),
    readyTimeoutMs: millisecondsIn(environment, 'SLIPWAY_READY_TIMEOUT_MS', 1),
    gitPollMs: millisecondsIn(environment, 'SLIPWAY_GIT_POLL_MS', 0),
  };
}

function rateLimitOf(options: PlatformSettings): NonNullable<PlatformOptions['rateLimit']> {
  const { rateLimit: perSecond = RATE_LIMIT.perSecond, rateBurst } = options;
  if (perSecond === 0) return 'none';
  return { perSecond, burst: rateBurst ?? perSecond * (RATE_LIMIT.burst / RATE_LIMIT.perSecond) };
}

function metricsAddress(address: string | undefined): PlatformOptions['metrics'] {
  if (address === undefined || address === '') return undefined;
  const { v6, name, port } =
    /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[^\s:/[\]]+)):(?<port>\d{1,5})$/iu.exec(address)?.groups ?? {};
  const host = v6 ?? name;
  if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new PlatformError('SLIPWAY_USAGE', `"${address}" is not a host and a port to serve metrics on`, {
    place: '--metrics, SLIPWAY_METRICS_ADDRESS',
    hint: 'Give a host and a port: slipway platform --metrics 127.0.0.1:9465',
  });
}

function textIn(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = environment[name];
  return value === '' ? undefined : value;
}

function addressIn(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = textIn(environment, name);
  if (value === undefined) return undefined;
  if (URL.canParse(value) && /^https?:\/\/[^?#]+$/u.test(value)) return value.replace(/\/+$/u, '');
  throw invalidVariable(name, value, 'an address such as https://agents.example.com');
}

/** A list; `parse` throws a RangeError if it is invalid. */
function entriesIn(
  environment: NodeJS.ProcessEnv,
  name: string,
  expected: string,
  parse: (entries: readonly string[]) => unknown,
): string[] | undefined {
  const value = textIn(environment, name);
  if (value === undefined) return undefined;
  const entries = value.split(',').map((entry) => entry.trim());
  try {
    parse(entries);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw invalidVariable(name, value, `${expected}, with commas between them`);
  }
  return entries;
}

function millisecondsIn(environment: NodeJS.ProcessEnv, name: string, least: number): number | undefined {
  const value = textIn(environment, name);
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/u.test(value) && Number(value) >= least) return Number(value);
  throw invalidVariable(name, value, `a whole number of milliseconds from ${least}`);
}
