import type { ErrorHandler, NotFoundHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';

import { SlipwayError } from '../../domain/errors.ts';
import { AccessRefusal } from '../access/accessRefusal.ts';
import type { PageEnv } from '../access/session.ts';

export const problemPage: ErrorHandler<PageEnv> = (error, c) => {
  if (error instanceof HTTPException) return error.getResponse();
  const known = error instanceof SlipwayError;
  const refusal = error instanceof AccessRefusal ? error : undefined;
  if (refusal?.retryAfterSeconds !== undefined) c.header('Retry-After', String(refusal.retryAfterSeconds));
  if (!known) process.stderr.write(`${error.stack ?? error.message}\n`);
  const title = known ? error.message : 'The dashboard failed with an unexpected error';
  const { written = '' } = refusal ?? {};
  const hint = known ? error.hint : 'The log of the dashboard has the error.';
  c.status(refusal?.status ?? (known ? 503 : 500));
  return c.render(
    <section class="problem">
      <h1>{title}</h1>
      {hint === undefined ? null : <p>{hint}</p>}
      {known ? <p class="quiet">{error.code}</p> : null}
      {written === '' ? null : (
        <label class="reason">
          Your reason, to copy
          <textarea readonly rows={3}>
            {written}
          </textarea>
        </label>
      )}
      <p>
        {refusal?.signIn === undefined ? (
          <a href="" target={written === '' ? undefined : '_blank'}>
            Try again
          </a>
        ) : (
          <a href={refusal.signIn}>Sign in</a>
        )}
      </p>
    </section>,
    { title: 'Problem' },
  );
};

export const unknownPage: NotFoundHandler<PageEnv> = (c) => {
  c.status(404);
  return c.render(
    <section class="problem">
      <h1>There is no such page</h1>
      <p>
        <a href="/">All targets</a>
      </p>
    </section>,
    { title: 'Not found' },
  );
};
