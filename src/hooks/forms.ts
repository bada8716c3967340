import { sameSecret } from '@slipway/contract/sameSecret';

import type { HookForm } from '../config/hookSchema.ts';
import { isRecord } from '../domain/scalars.ts';
import {
  eventOf,
  forged,
  type Form,
  hmac,
  type ReadEvent,
  type Received,
  requireAuthorization,
  requireRecent,
  wrongPayload,
} from './form.ts';
import { fieldText } from './listeningHook.ts';

/** A delivery with more alerts is rejected. */
const ALERTS_MAX = 500;

/** Prometheus Alertmanager, `webhook_config`, version 4: it signs nothing, and sends an `Authorization` header. */
const alertmanager: Form = { authenticate: requireAuthorization, read: readAlerts };

/**
 * Grafana Alerting's webhook, which has Alertmanager's form. It is signed if the contact point says so: with a time in the
 * header `X-Grafana-Alerting-Timestamp`, or without. Otherwise it sends an `Authorization` header.
 */
const grafana: Form = {
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

/** GitHub's webhooks. GitHub signs only the body, so the body identifies the event, and not the delivery's id. */
const github: Form = {
  authenticate({ header, body }, secret) {
    const signature = header('x-hub-signature-256');
    if (signature === undefined) throw forged('the request has no header X-Hub-Signature-256');
    if (!sameSecret(signature, `sha256=${hmac(secret, body)}`))
      throw forged('the signature is not that of the body');
  },
  read(payload, { header, body }) {
    const event = header('x-github-event') ?? 'unknown';
    const fields = { ...payload, event };
    return [eventOf({ identity: [event, body], fields, ...aboutOf(fields, event) })];
  },
};

function aboutOf(fields: object, event: string): { readonly title: string; readonly began?: string } {
  const [words, began] = ABOUT[event] ?? [['action'], ''];
  const texts = [...words, 'repository.full_name'].map((path) => fieldText(fields, path));
  const title = [event, ...texts].filter((text) => text !== undefined && text !== '').join(' ');
  return { title, began: fieldText(fields, began) };
}

const ABOUT: Readonly<Record<string, readonly [words: readonly string[], began: string]>> = {
  deployment_status: [['deployment.environment', 'deployment_status.state'], 'deployment_status.created_at'],
  workflow_run: [
    ['workflow_run.name', 'workflow_run.conclusion', 'workflow_run.head_branch'],
    // A run that is started again keeps the time at which it was created.
    'workflow_run.run_started_at',
  ],
};

/**
 * The public platform's webhooks of alerts and of prompts (docs.langchain.com, "Alerts webhook" and "Trigger a webhook on
 * prompt commit"). It signs nothing; the user configures its headers.
 */
const langsmith: Form = {
  authenticate: requireAuthorization,
  read(payload) {
    const text = (name: string): string => fieldText(payload, name) ?? '';
    if (text('alert_rule_id') !== '') {
      const value = `${text('alert_rule_attribute')} ${text('triggered_metric_value')}`;
      return [
        eventOf({
          identity: ['alert', text('alert_rule_id'), text('timestamp')],
          title: `${text('alert_rule_name') || text('alert_rule_id')} in ${text('project_name')}: ${value}, threshold ${text('triggered_threshold')}`,
          began: text('timestamp'),
          fields: { event: 'alert', ...payload },
        }),
      ];
    }
    if (text('prompt_id') === '' || text('commit_hash') === '')
      throw wrongPayload('it is neither an alert (alert_rule_id) nor a prompt (prompt_id, commit_hash)');
    const event = text('event') || 'commit';
    const tag = text('tag_name');
    const by = text('created_by') === '' ? '' : ` by ${text('created_by')}`;
    return [
      eventOf({
        identity: [event, text('prompt_id'), text('commit_hash'), tag],
        // It does not say when a tag moved.
        moved: tag === '' ? undefined : [text('prompt_id'), tag],
        title: `${event} ${text('commit_hash').slice(0, 12)} of the prompt ${text('prompt_name')}${by}`,
        began: text('created_at'),
        fields: { event, ...payload },
      }),
    ];
  },
};

const FIELDS: ReadonlySet<string> = new Set(['id', 'title', 'status', 'at', 'labels']);
const TEXT_MAX_CHARACTERS = 1_000;

/**
 * A form for everything else: `{ id, title?, status?, at?, labels? }`, signed as Slipway signs its own webhooks:
 * `Slipway-Signature: t=<seconds since 1970>,v1=<HMAC-SHA256 of "t.body">`.
 */
const generic: Form = {
  authenticate({ header, body }, secret, now) {
    const given = header('slipway-signature');
    if (given === undefined) throw forged('the request has no header Slipway-Signature');
    const parts = given.split(',').map((part) => part.trim().split('=', 2));
    const time = parts.find(([name]) => name === 't')?.[1] ?? '';
    const expected = hmac(secret, `${time}.`, body);
    const isSigned = parts.some(([name, value = '']) => name === 'v1' && sameSecret(value, expected));
    if (!isSigned) throw forged('the signature is not that of the time and the body');
    requireRecent(time, now);
  },
  read(payload) {
    const { id, title, status, at, labels = {} } = payload;
    const unknown = Object.keys(payload).find((name) => !FIELDS.has(name));
    if (unknown !== undefined)
      throw wrongPayload(`"${unknown.slice(0, 80)}" is none of ${[...FIELDS].join(', ')}`);
    if (typeof id !== 'string' || id === '' || id.length > TEXT_MAX_CHARACTERS)
      throw wrongPayload(`"id" is not a text of 1 to ${TEXT_MAX_CHARACTERS} characters`);
    if (title !== undefined && typeof title !== 'string') throw wrongPayload('"title" is not text');
    if (status !== undefined && status !== 'firing' && status !== 'resolved')
      throw wrongPayload('"status" is neither firing nor resolved');
    if (at !== undefined && (typeof at !== 'string' || Number.isNaN(Date.parse(at))))
      throw wrongPayload('"at" is not a time in ISO 8601');
    if (!isRecord(labels)) throw wrongPayload('"labels" is not an object');
    const isFlat = Object.values(labels).every((value) =>
      ['string', 'number', 'boolean'].includes(typeof value),
    );
    if (!isFlat) throw wrongPayload('"labels" may hold texts, numbers and truth values only');
    return [
      eventOf({
        identity: [id],
        title: title === undefined || title === '' ? id : title,
        status,
        began: at,
        fields: payload,
      }),
    ];
  },
};

/** The forms by their names in `slipway.yaml`. */
export const FORMS: Readonly<Record<HookForm, Form>> = { alertmanager, grafana, github, langsmith, generic };

/** The events of a request, each once. @throws HookRefusal SLIPWAY_HOOK_PAYLOAD (400). */
export function readEvents(form: HookForm, received: Received): readonly ReadEvent[] {
  const events = FORMS[form].read(parse(received.body), received);
  return [...new Map(events.map((event) => [event.id, event])).values()];
}

function parse(body: Uint8Array): Readonly<Record<string, unknown>> {
  let payload: unknown;
  try {
    payload = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    // The parser's message would quote the body.
    throw wrongPayload('the body is not JSON in UTF-8');
  }
  if (!isRecord(payload)) throw wrongPayload('the body is not a JSON object');
  return payload;
}
