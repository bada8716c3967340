import type { HookForm } from '../../config/hookSchema.ts';
import { isRecord } from '../../domain/scalars.ts';
import { wrongPayload } from '../hookRefusal.ts';
import { alertmanager, grafana } from './alerts.ts';
import type { Form, ReadEvent, Received } from './form.ts';
import { generic } from './generic.ts';
import { github } from './github.ts';
import { langsmith } from './langsmith.ts';

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
