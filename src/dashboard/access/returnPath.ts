/** A base that no address has: what resolves to another origin leads away from the page. */
const BASE = 'http://page.invalid';

/**
 * Where to go after signing in: a path of this page, with its query. Everything else, such as another site's address in any
 * spelling that browsers know, becomes `/`.
 */
export function returnPath(asked: string | undefined): string {
  if (asked?.startsWith('/') !== true || !URL.canParse(asked, BASE)) return '/';
  const { origin, pathname, search } = new URL(asked, BASE);
  // `/.//other.example` resolves to the path `//other.example`, which browsers take for another host.
  if (origin !== BASE || pathname.startsWith('//')) return '/';
  return /^\/sign(?:-in|-out|ed-out)(?:\/|$)/u.test(pathname) ? '/' : `${pathname}${search}`;
}
