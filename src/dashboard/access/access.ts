import { createClientAddress } from '@slipway/contract/clientAddress';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';

import { AccessRefusal } from './accessRefusal.ts';
import type { AccessSettings, SignIn } from './accessSettings.ts';
import { addressOf, returnPath } from './address.ts';
import { reloadPage } from '../live/liveRooms.ts';
import { keySignIn } from './keySignIn.ts';
import { CALLBACK_PATH, IDENTITY_COOKIE, OidcSignIn, proverOf } from './oidcSignIn.ts';
import { SealedCookies } from './sealedCookies.ts';
import {
  formFields,
  mayRelease,
  newSession,
  type PageEnv,
  refuseCrossSite,
  type Session,
  type Viewer,
} from './session.ts';
import { renderKeyPage, renderSignedOutPage, renderYouPage } from './signInPages.tsx';

/** In bytes. Forms are small, and clients can send the sign-in form before they have signed in. */
const BODY_MAX_BYTES = 64 * 1_024;

/** The page's access control. Throws refusals as {@link AccessRefusal}, which the server's error handler shows. */
export interface Access {
  /** Sets the request's viewer, or redirects to the sign-in. Refuses forms of other sites. */
  readonly requireViewer: MiddlewareHandler<PageEnv>;
  /** The pages for signing in and out. Mount them at `/`, before `requireViewer`. */
  readonly routes: Hono<PageEnv>;
}

export function createAccess({
  signIn,
  publicUrl,
  sessionSecret,
  trustedProxies = [],
}: AccessSettings): Access {
  const cookies = new SealedCookies(sessionSecret, contextOf(signIn));
  const oidc = signIn.way === 'oidc' ? new OidcSignIn(signIn, cookies) : undefined;
  const key = signIn.way === 'key' ? keySignIn(signIn.key, createClientAddress(trustedProxies)) : undefined;
  const everybody: Viewer | undefined =
    signIn.way === 'none' ? { name: signIn.user, proved: false, role: 'admin' } : undefined;

  /** The session of a request, or a new one. Every form carries its token. */
  const session = async (c: Context<PageEnv>): Promise<Session> => {
    const kept = cookies.session(c);
    const current = kept ?? newSession(everybody);
    // Before a session begins: browsers send no cookie with a form of another site, whose answer would end the session.
    await refuseCrossSite(c, current);
    if (kept === undefined) cookies.startSession(c, current);
    c.set('session', current);
    return current;
  };

  const requireViewer: MiddlewareHandler<PageEnv> = async (c, next) => {
    const current = await session(c);
    const { viewer } = current;
    if (viewer === undefined) return askToSignIn(c);
    c.set('viewer', viewer);
    c.set('prove', proverOf(c, cookies, current));
    return next();
  };

  const routes = new Hono<PageEnv>();
  routes.use(limitBody(), async (c, next) => {
    c.set('address', addressOf(c, publicUrl));
    await next();
  });
  routes.get('/sign-in', async (c) => {
    const to = returnPath(c.req.query('to'));
    if (oidc !== undefined) return await oidc.begin(c, to);
    if (key === undefined) return c.redirect(to);
    return renderKeyPage(c, (await session(c)).csrf, to);
  });
  if (key !== undefined) {
    routes.post('/sign-in', async (c) => {
      await session(c);
      cookies.startSession(c, newSession(await key(c)));
      const { to } = await formFields(c);
      return c.redirect(returnPath(to), 303);
    });
  }
  if (oidc !== undefined) {
    routes.get(CALLBACK_PATH, async (c) => {
      const { session: next, to } = await oidc.finish(c);
      cookies.startSession(c, next);
      return c.redirect(to, 303);
    });
  }
  routes.post('/sign-out', async (c) => {
    await session(c);
    cookies.remove(c, 'session');
    cookies.remove(c, IDENTITY_COOKIE);
    return c.redirect('/signed-out', 303);
  });
  routes.get('/signed-out', async (c) => renderSignedOutPage(c, await oidc?.signOutUrl(c.get('address'))));
  routes.get('/you', requireViewer, (c) => renderYouPage(c, everybody === undefined));
  return { requireViewer, routes };
}

/** Refuses people without the role `release`. @throws AccessRefusal SLIPWAY_ROLE_MISSING (403). */
export const requireReleaseRole: MiddlewareHandler<PageEnv> = async (c, next) => {
  const viewer = c.get('viewer');
  if (!mayRelease(viewer)) {
    const message = `${viewer.name} has the role "${viewer.role}"; this needs the role "release"`;
    throw new AccessRefusal(403, 'SLIPWAY_ROLE_MISSING', message, {
      hint: 'ask the person who runs this page for the role, then sign in again',
    });
  }
  await next();
};

/** What sessions depend on: they end if the key or the issuer changes. */
function contextOf(signIn: SignIn): string {
  switch (signIn.way) {
    case 'none':
      return JSON.stringify(['none', signIn.user]);
    case 'key':
      return JSON.stringify(['key', signIn.key]);
    case 'oidc':
      return JSON.stringify(['oidc', signIn.issuer.href, signIn.clientId]);
  }
}

/** Redirects page views to the sign-in, also those that are open; answers scripts and forms with an error. */
function askToSignIn(c: Context): Response {
  const accepted = c.req.header('accept') ?? '';
  if (accepted.includes('text/event-stream')) return reloadPage();
  const { pathname, search } = new URL(c.req.url);
  const signIn = `/sign-in?to=${encodeURIComponent(returnPath(`${pathname}${search}`))}`;
  const isPage = c.req.method === 'GET' && accepted.includes('text/html');
  if (isPage) return c.redirect(signIn);
  throw new AccessRefusal(401, 'SLIPWAY_SIGNED_OUT', 'you are not signed in, or your session has ended', {
    hint: 'sign in, then try again',
    signIn: c.req.method === 'GET' ? signIn : '/sign-in',
  });
}

function limitBody(): MiddlewareHandler {
  return bodyLimit({
    maxSize: BODY_MAX_BYTES,
    onError: () => {
      throw new AccessRefusal(413, 'SLIPWAY_USAGE', `the form is larger than ${BODY_MAX_BYTES / 1_024} KiB`, {
        hint: 'shorten the reason',
      });
    },
  });
}
