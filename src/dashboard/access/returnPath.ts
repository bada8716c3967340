/** A base that no real address has: a path that resolves to another origin leaves the page. */
const BASE = 'http://page.invalid';

/** A path of this page to open after signing in. Anything else becomes `/`, in any spelling of browsers. */
export function returnPath(asked: string | undefined): string {
  if (asked?.startsWith('/') !== true || !URL.canParse(asked, BASE)) return '/';
  const { origin, pathname, search } = new URL(asked, BASE);
  // `/.//other.example` resolves to the path `//other.example`, which browsers read as another host.
  if (origin !== BASE || pathname.startsWith('//')) return '/';
  return /^\/sign(?:-in|-out|ed-out)(?:\/|$)/u.test(pathname) ? '/' : `${pathname}${search}`;
}
