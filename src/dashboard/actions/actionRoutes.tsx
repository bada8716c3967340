import { randomUUID } from 'node:crypto';

import { type Context, Hono } from 'hono';

import { isRevisionId } from '../../domain/deployment/revisionName.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { INTERVENTION_KINDS } from '../../domain/intervention/intervention.ts';
import { proverFor } from '../../identity/proof.ts';
import { requireReleaseRole } from '../access/access.ts';
import { formFields, type PageEnv, type Viewer } from '../access/session.ts';
import type { ActionOutcome, PageAction } from '../metrics/pageMetrics.ts';
import type { PartName } from '../page/layout.tsx';
import type { PageContext } from '../pageContext.ts';
import { HOOK_ANSWERS, TARGET_ACTIONS } from './actionAddresses.ts';
import { ActionPage, actionResultAddress, REASON_MAX_CHARACTERS } from './actionPage.tsx';
import type { ActionSubject, Order } from './actionSubject.ts';
import { hookSubject } from './hookSubject.ts';
import { FROM } from './offers.ts';
import { promotionSubject } from './promotionSubject.ts';
import { releaseSubject } from './releaseSubject.ts';
import { targetSubject } from './targetSubject.ts';

type Find = (c: Context<PageEnv>) => Promise<ActionSubject | undefined>;

export function actionRoutes(context: PageContext): Hono<PageEnv> {
  const routes = new Hono<PageEnv>();
  const add = (path: string, action: PageAction, part: PartName, find: Find): void => {
    const count = (outcome: ActionOutcome): void =>
      context.record?.('slipway_dashboard_actions', 1, { action, outcome });
    routes.get(path, requireReleaseRole, async (c) => {
      const subject = await find(c);
      return subject === undefined ? c.notFound() : showForm(c, subject, part);
    });
    routes.post(path, requireReleaseRole, async (c) => {
      const sent = await readSent(c);
      const subject = await find(c);
      if (subject === undefined) return c.notFound();
      try {
        const came = await sendForm(c, subject, sent);
        count('done');
        return c.redirect(actionResultAddress(c, subject.back.address, came), 303);
      } catch (error) {
        count(error instanceof SlipwayError ? 'refused' : 'failed');
        if (!(error instanceof SlipwayError)) throw error;
        // The possible actions may have changed since the form was shown. The error is about this message, also if
        // Temporal does not answer any more: pressed again, the form sends the same message.
        const now = (await find(c).catch(() => undefined)) ?? subject;
        c.status(error.code === 'SLIPWAY_USAGE' ? 422 : 409);
        return showForm(c, now, part, sent, error);
      }
    });
  };

  for (const action of TARGET_ACTIONS) {
    add(`/targets/:target/${action}`, action, 'Targets', (c) =>
      targetSubject(context, c.req.param('target') ?? '', action),
    );
  }
  for (const answer of HOOK_ANSWERS) {
    add(`/targets/:target/events/:hook/:event/${answer}`, answer, 'Targets', (c) => {
      const { target: targetId = '', hook: hookId = '', event = '' } = c.req.param();
      return hookSubject(context, { targetId, hookId, event, answer });
    });
  }
  for (const kind of INTERVENTION_KINDS) {
    add(`/releases/:target/:release/${kind}`, kind, 'Targets', (c) => {
      const { target: targetId = '', release: releaseId = '' } = c.req.param();
      return releaseSubject(context, { targetId, releaseId, kind, viewer: c.get('viewer') });
    });
    add(`/promotions/:promotion/${kind}`, kind, 'Promotions', (c) =>
      promotionSubject(context, c.req.param('promotion') ?? '', kind, c.get('viewer')),
    );
  }
  return routes;
}

function showForm(
  c: Context<PageEnv>,
  { order, back }: ActionSubject,
  part: PartName,
  sent?: Sent,
  refusal?: SlipwayError,
) {
  const { requestId = randomUUID(), fields: filled } = sent ?? {};
  return c.render(
    <ActionPage
      order={order}
      requestId={requestId}
      back={back}
      filled={filled}
      refusal={refusal}
      csrf={c.get('session').csrf}
    />,
    { title: order.title, part },
  );
}

/** Sends the message of a form. @returns the result, in sentences. @throws SlipwayError if it is refused. */
async function sendForm(
  c: Context<PageEnv>,
  { order, send }: ActionSubject,
  { requestId, fields }: Sent,
): Promise<string> {
  const reason = requireReason(fields['reason']);
  refuseStale(order, fields);
  const message = { ...senderOf(c.get('viewer'), reason), requestId };
  const keep = c.get('prove');
  const claimed: string[] = [];
  const came = await send(fields, message, (store, approval) =>
    proverFor(
      approval,
      (statement) => keep(store, statement),
      (why) => claimed.push(`The record has a claimed name, because ${why}.`),
    ),
  );
  return [came, ...claimed].join(' ');
}

interface Sent {
  readonly requestId: string;
  readonly fields: Readonly<Record<string, string>>;
}

async function readSent(c: Context): Promise<Sent> {
  const fields = await formFields(c);
  const { request = '' } = fields;
  // A UUID, like the ids that control planes give to revisions.
  return { requestId: isRevisionId(request) ? request : randomUUID(), fields };
}

function requireReason(given: string | undefined): string {
  // A browser sends a line break as two characters, and counts it as one.
  const reason = given?.replaceAll('\r\n', '\n').trim() ?? '';
  if (reason !== '' && reason.length <= REASON_MAX_CHARACTERS) return reason;
  const message =
    reason === '' ? 'a reason is missing' : `the reason is longer than ${REASON_MAX_CHARACTERS} characters`;
  const hint = 'write the reason in a few words: the history shows it';
  throw new SlipwayError('SLIPWAY_USAGE', message, { hint });
}

/** Refuses an answer to a question that the person has not read. */
function refuseStale({ answers }: Order, fields: Sent['fields']): void {
  if (answers === undefined || answers === fields['answers']) return;
  const hint = 'read the present state, then decide again';
  throw new SlipwayError('SLIPWAY_WRONG_MOMENT', 'the form was shown before this hold or question', { hint });
}

/** The sender of a message, as records show it. Marks a name that no issuer proved as claimed. */
function senderOf({ name, proved }: Viewer, reason: string) {
  return { who: name, from: proved ? `${FROM}, signed in with OIDC` : FROM, reason };
}
