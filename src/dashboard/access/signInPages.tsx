import type { Context } from 'hono';

import { CSRF_FIELD, type PageEnv } from './session.ts';

export function CsrfField({ csrf }: { readonly csrf: string }) {
  return <input type="hidden" name={CSRF_FIELD} value={csrf} />;
}

export function renderKeyPage(c: Context<PageEnv>, csrf: string, to: string) {
  return c.render(
    <>
      <h1>Sign in</h1>
      <form method="post" action="/sign-in" class="sign-in">
        <CsrfField csrf={csrf} />
        <input type="hidden" name="to" value={to} />
        <p>
          <label for="name">Your name</label>
          <input
            id="name"
            name="name"
            required
            maxlength={200}
            autocomplete="username"
            aria-describedby="name-note"
          />
          <small id="name-note">Releases record it with everything that you do here.</small>
        </p>
        <p>
          <label for="key">Key</label>
          <input id="key" name="key" type="password" required autocomplete="current-password" />
        </p>
        <button>Sign in</button>
      </form>
    </>,
    { title: 'Sign in' },
  );
}

/** Shows that a person has signed out. `url`: the page that ends the session at the issuer. */
export function renderSignedOutPage(c: Context<PageEnv>, url: URL | undefined) {
  return c.render(
    <>
      <h1>You are signed out</h1>
      {url && (
        <p>
          You may still be signed in at {url.host}. <a href={url.href}>Sign out there too</a>
        </p>
      )}
      <p>
        <a href="/">Sign in</a>
      </p>
    </>,
    { title: 'Signed out' },
  );
}

/** Shows who is signed in, and their role. `canSignOut`: whether there is a sign-in. */
export function renderYouPage(c: Context<PageEnv>, canSignOut: boolean) {
  const { name, proved, role } = c.get('viewer');
  return c.render(
    <>
      <h1>{name}</h1>
      <dl>
        <dt>Identity</dt>
        <dd>{proved ? 'proved by sign-in' : 'claimed: nothing proves this name'}</dd>
        <dt>Role</dt>
        <dd>{ROLE_TEXTS[role]}</dd>
      </dl>
      {canSignOut && (
        <form method="post" action="/sign-out">
          <CsrfField csrf={c.get('session').csrf} />
          <button>Sign out</button>
        </form>
      )}
    </>,
    { title: 'You' },
  );
}

const ROLE_TEXTS = {
  view: 'view: read everything',
  release: 'release: read everything, control targets and releases',
  admin: 'admin: everything',
} as const;
