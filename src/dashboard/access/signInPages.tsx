import { document } from '../page/html.ts';
import { Layout } from '../page/layout.tsx';
import type { PageFiles } from '../pageFiles.ts';
import { CSRF_FIELD } from './crossSite.ts';
import type { Viewer } from './viewer.ts';

/** The hidden field of every form with its session's token. */
export function CsrfField({ csrf }: { readonly csrf: string }) {
  return <input type="hidden" name={CSRF_FIELD} value={csrf} />;
}

/** The form for signing in with a key. */
export function keyPage({ files, csrf, to }: { files: PageFiles; csrf: string; to: string }) {
  return document(
    <Layout title="Sign in" files={files}>
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
    </Layout>,
  );
}

/** The page after signing out. `url`: the page that ends the session at the issuer. */
export function signedOutPage({ files, url }: { files: PageFiles; url: URL | undefined }) {
  return document(
    <Layout title="Signed out" files={files}>
      <h1>You are signed out</h1>
      {url === undefined ? null : (
        <p>
          You may still be signed in at {url.host}. <a href={url.href}>Sign out there too</a>
        </p>
      )}
      <p>
        <a href="/">Sign in</a>
      </p>
    </Layout>,
  );
}

/** Shows who is signed in, and their role. `csrf`: absent if there is no sign-in. */
export function youPage({
  files,
  viewer,
  csrf,
}: {
  files: PageFiles;
  viewer: Viewer;
  csrf: string | undefined;
}) {
  return document(
    <Layout title="You" files={files} viewer={viewer}>
      <h1>{viewer.name}</h1>
      <dl>
        <dt>Identity</dt>
        <dd>{viewer.proved ? 'proved by sign-in' : 'claimed: nothing proves this name'}</dd>
        <dt>Role</dt>
        <dd>{ROLE_TEXTS[viewer.role]}</dd>
      </dl>
      {csrf === undefined ? null : (
        <form method="post" action="/sign-out">
          <CsrfField csrf={csrf} />
          <button>Sign out</button>
        </form>
      )}
    </Layout>,
  );
}

const ROLE_TEXTS = {
  view: 'view: read everything',
  release: 'release: read everything, control targets and releases',
  admin: 'admin: everything',
} as const;
