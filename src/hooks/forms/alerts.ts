import { sameSecret } from '@slipway/contract/sameSecret';
import { isRecord } from '../../domain/scalars.ts';
import { wrongPayload } from '../hookRefusal.ts';
import { eventOf, type Form, type ReadEvent } from './form.ts';
import { forged, hmac, requireAuthorization, requireRecent } from './signatures.ts';

/** A delivery with more alerts is rejected. */
const ALERTS_MAX = 500;

/** Prometheus Alertmanager, `webhook_config`, version 4: it signs nothing, and sends an `Authorization` header. */
export const alertmanager: Form = {
  authenticate: requireAuthorization,
  read: readAlerts,
};

/**
 * Grafana Alerting's webhook, which has Alertmanager's form. It is signed if the contact point says so: with a time in the
 * header `X-Grafana-Alerting-Timestamp`, or without. Otherwise it sends an `Authorization` header.
 */
export const grafana: Form = {
  authenticate(received, secret, now) {
    const { header, body } = received;
    const signature = header('x-grafana-alerting-signature');
    if (signature === undefined) {
      requireAuthorization(received, secret);
      return;
    }
    const time = header('x-grafana-alerting-timestamp');
    const signed = time === undefined ? [body] : [`${time}:`, body];
    if (!sameSecret(signature, hmac(secret, ...signed)))
      throw forged('the signature is not that of the body');
    if (time !== undefined) requireRecent(time, now);
  },
  read: readAlerts,
};

/** One event per alert. Fingerprint, start and status identify it, so a repeated or ongoing alert is the same event. */
function readAlerts(payload: Readonly<Record<string, unknown>>): readonly ReadEvent[] {
  const { alerts, ...group } = payload;
  if (!Array.isArray(alerts)) throw wrongPayload('"alerts" is not a list');
  if (alerts.length > ALERTS_MAX)
    throw wrongPayload(`there are more than ${ALERTS_MAX} alerts: set the sender's limit of alerts`);
  return alerts.map((alert: unknown, index) => {
    if (!isRecord(alert)) throw wrongPayload(`"alerts.${index}" is not an object`);
    const { fingerprint, startsAt, status, labels, annotations } = alert;
    if (typeof fingerprint !== 'string' || typeof startsAt !== 'string')
      throw wrongPayload(`"alerts.${index}" has no fingerprint, or no startsAt`);
    if (status !== 'firing' && status !== 'resolved')
      throw wrongPayload(`"alerts.${index}.status" is neither firing nor resolved`);
    return eventOf({
      identity: [fingerprint, startsAt, status],
      title: titleOf(labels, annotations),
      status,
      began: startsAt,
      fields: { ...group, ...alert },
    });
  });
}

function titleOf(labels: unknown, annotations: unknown): string {
  const text = (from: unknown, name: string): string | undefined => {
    const value = isRecord(from) ? from[name] : undefined;
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const name = text(labels, 'alertname') ?? 'an alert without a name';
  const summary = text(annotations, 'summary') ?? text(annotations, 'description');
  return summary === undefined ? name : `${name}: ${summary}`;
}
