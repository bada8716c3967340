import { createHmac } from 'node:crypto';

import { sameSecret } from '@slipway/contract/sameSecret';
import type { Context } from 'hono';

import type { SlipwayError } from '../../domain/errors.ts';
import type { PageEnv } from '../access/session.ts';
import { CsrfField } from '../access/signInPages.tsx';
import type { Order } from './actionSubject.ts';

/** The longest reason that a message can carry. */
export const REASON_MAX_CHARACTERS = 900;

interface ActionPageProps {
  readonly order: Order;
  readonly csrf: string;
  /** The form's id. If a person presses twice, the form is sent twice but counts as one message. */
  readonly requestId: string;
  readonly back: { readonly address: string; readonly name: string };
  readonly filled?: Readonly<Record<string, string>>;
  readonly refusal?: SlipwayError;
}

export function ActionPage(props: ActionPageProps) {
  const { order, back, refusal } = props;
  const { title, problem } = order;
  return (
    <div class="action stack">
      <h1>{title}</h1>
      {refusal && (
        <section class="notice warn" role="alert" aria-label="Refused">
          <h2>Not done: {refusal.message}</h2>
          {refusal.hint && <p>{refusal.hint}</p>}
          <p class="quiet">{refusal.code}</p>
        </section>
      )}
      {problem === undefined ? (
        <ActionForm {...props} />
      ) : (
        <>
          <section class="notice" aria-label="Not possible now">
            <p>This is not possible now: {problem}.</p>
          </section>
          <p>
            <a href={back.address}>Back to {back.name}</a>
          </p>
        </>
      )}
    </div>
  );
}

function ActionForm({ order, csrf, requestId, back, filled = {} }: ActionPageProps) {
  const { sentences, choose, carried, answers, button } = order;
  return (
    <form method="post" class="stack">
      <ul class="sentences">
        {sentences.map((sentence) => (
          <li>{sentence}</li>
        ))}
      </ul>
      <CsrfField csrf={csrf} />
      <input type="hidden" name="request" value={requestId} />
      {Object.entries({ ...carried, answers }).map(
        ([name, value]) => value !== undefined && <input type="hidden" name={name} value={value} />,
      )}
      {choose && <Choices {...choose} chosen={filled[choose.field] ?? choose.choices[0]?.value} />}
      <label class="reason">
        Reason
        <textarea
          name="reason"
          required
          maxlength={REASON_MAX_CHARACTERS}
          rows={3}
          aria-describedby="reason-note"
        >
          {filled['reason'] ?? ''}
        </textarea>
      </label>
      <p id="reason-note" class="quiet small">
        The history shows it with your name. No secrets.
      </p>
      <p class="buttons">
        <button type="submit">{button}</button> <a href={back.address}>Cancel</a>
      </p>
    </form>
  );
}

function Choices({
  field,
  legend,
  choices,
  chosen,
}: NonNullable<Order['choose']> & { readonly chosen: string | undefined }) {
  return (
    <fieldset>
      <legend>{legend}</legend>
      {choices.map(({ value, label, detail }) => (
        <label class="choice">
          <input type="radio" name={field} value={value} required checked={value === chosen} />
          <span>
            <strong>{label}</strong>
            {detail && <span class="detail">{detail}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** Longer texts do not fit into an address. */
const TEXT_MAX_CHARACTERS = 1_000;

/** The address of a page that shows the result, sealed for the session: a link cannot make it show other text. */
export function actionResultAddress(c: Context<PageEnv>, path: string, text: string): string {
  const said = text.slice(0, TEXT_MAX_CHARACTERS);
  return `${path}?${new URLSearchParams({ said, seal: sealOf(c, path, said) }).toString()}`;
}

export function ActionResult({ c }: { readonly c: Context<PageEnv> }) {
  const { said = '', seal = '' } = c.req.query();
  const path = new URL(c.req.url).pathname;
  if (said === '' || !sameSecret(seal, sealOf(c, path, said))) return null;
  return (
    <section class="notice done" role="status" aria-label="Result of the action">
      <p>{said}</p>
    </section>
  );
}

function sealOf(c: Context<PageEnv>, path: string, said: string): string {
  return createHmac('sha256', c.get('session').csrf).update(`${path}\n${said}`).digest('base64url');
}
