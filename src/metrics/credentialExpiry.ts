import { X509Certificate } from 'node:crypto';

import type { Measure } from '../domain/metrics/metrics.ts';
import type { TemporalSettings } from '../temporal/client/temporalSettings.ts';

/** Records when the credentials for Temporal expire, if they contain that. */
export function measureExpiry(measure: Measure, { connectionOptions }: TemporalSettings): void {
  const { tls, apiKey } = connectionOptions;
  const certificate = typeof tls === 'object' ? tls?.clientCertPair?.crt : undefined;
  const certificateExpires = certificate === undefined ? undefined : certificateExpiry(certificate);
  if (certificateExpires !== undefined)
    measure('slipway_temporal_certificate_expiry_timestamp_seconds', certificateExpires, {});
  const keyExpires = typeof apiKey === 'string' ? tokenExpiry(apiKey) : undefined;
  if (keyExpires !== undefined) measure('slipway_temporal_api_key_expiry_timestamp_seconds', keyExpires, {});
}

/** In seconds since 1970; `undefined` if it is no certificate, which the connection then reports. */
export function certificateExpiry(pem: Uint8Array): number | undefined {
  try {
    return Date.parse(new X509Certificate(pem).validTo) / 1_000;
  } catch {
    return undefined;
  }
}

/** The `exp` of a JWT, such as a key of Temporal Cloud; `undefined` if the key has none. */
export function tokenExpiry(token: string): number | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    const { exp } = claims as { readonly exp?: unknown };
    return typeof exp === 'number' ? exp : undefined;
  } catch {
    return undefined;
  }
}
