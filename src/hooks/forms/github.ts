import { sameSecret } from '@slipway/contract/sameSecret';
import { fieldText } from '../../domain/hooks/hookMatch.ts';
import { eventOf, type Form } from './form.ts';
import { forged, hmac } from './signatures.ts';

/** GitHub's webhooks. GitHub signs only the body, so the body identifies the event, and not the delivery's id. */
export const github: Form = {
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

/** The event's title, and when it began. */
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
