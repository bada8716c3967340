import { keepTimes, showTimes } from '../times.ts';

/** How long the server may be silent before the page says so, in milliseconds. A restart takes less. */
const SILENCE_TOLD_AFTER_MS = 3_000;

keepTimes();
followLive();

/**
 * Updates the page's parts as the server sends them. A hidden page frees its connection, of which a browser has six.
 */
function followLive(): void {
  const { live, version } = document.body.dataset;
  if (live === undefined) return;
  let source: EventSource | undefined;
  let silence: number | undefined;
  const tell = (silent: boolean): void => {
    const line = document.getElementById('connection');
    if (line !== null) line.hidden = !silent;
  };
  const connect = (): void => {
    source?.close();
    source = new EventSource(live);
    source.addEventListener('open', () => {
      clearTimeout(silence);
      silence = undefined;
      tell(false);
    });
    source.addEventListener('error', () => {
      silence ??= window.setTimeout(() => tell(true), SILENCE_TOLD_AFTER_MS);
      // A browser does not reconnect after a response that is no stream, such as a proxy's error while the server
      // restarts.
      if (source?.readyState === EventSource.CLOSED) window.setTimeout(connect, 1_000);
    });
    source.addEventListener('version', ({ data }) => {
      if (data !== version) window.location.reload();
    });
    source.addEventListener('fragments', ({ data }) => {
      const fragments = JSON.parse(String(data)) as Record<string, string>;
      for (const [id, html] of Object.entries(fragments)) replace(id, html);
      showTimes();
      document.dispatchEvent(new Event('slipway:changed'));
    });
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) source?.close();
    else connect();
  });
  if (!document.hidden) connect();
}

const shown = new Map<string, string>();

/** Replaces a part, unless it is unchanged or a person is typing in it. */
function replace(id: string, html: string): void {
  if (shown.get(id) === html) return;
  const old = document.getElementById(id);
  const template = document.createElement('template');
  template.innerHTML = html;
  const fresh = template.content.firstElementChild;
  if (!(fresh instanceof HTMLElement)) return;
  if (old === null) {
    document.querySelector('[data-grows]')?.append(fresh);
    shown.set(id, html);
    return;
  }
  if (isBeingFilled(old)) return;
  const focused = old.contains(document.activeElement) ? pathTo(old, document.activeElement) : undefined;
  const open = new Set([...old.querySelectorAll('details[open]')].map((details) => details.id));
  for (const details of fresh.querySelectorAll('details')) details.open ||= open.has(details.id);
  const said = fresh.dataset['announce'];
  if (said !== undefined && said !== old.dataset['announce']) announce(said);
  old.replaceWith(fresh);
  shown.set(id, html);
  if (focused !== undefined) elementAt(fresh, focused)?.focus({ preventScroll: true });
}

/** A form keeps what is typed or chosen until it is sent. The next change after that replaces the part. */
function isBeingFilled(part: HTMLElement): boolean {
  const fields = part.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('input, textarea');
  return (
    part.querySelector('dialog[open], form:focus-within') !== null ||
    [...fields].some((field) => field.value !== field.defaultValue)
  );
}

/** The position of an element in a part: its id, else its link, else its index. */
type Path = { readonly id: string } | { readonly href: string; readonly index: number };

function pathTo(part: Element, element: Element | null): Path | undefined {
  if (element === null) return undefined;
  if (element.id !== '') return { id: element.id };
  const href = element.getAttribute('href');
  if (href === null) return undefined;
  return { href, index: linksTo(part, href).indexOf(element as HTMLElement) };
}

function elementAt(part: Element, path: Path): HTMLElement | null {
  if ('id' in path) return part.querySelector(`#${CSS.escape(path.id)}`);
  return linksTo(part, path.href)[path.index] ?? null;
}

function linksTo(part: Element, href: string): HTMLElement[] {
  return [...part.querySelectorAll<HTMLElement>(`[href="${CSS.escape(href)}"]`)];
}

function announce(text: string): void {
  const announcer = document.getElementById('announcer');
  if (announcer !== null) announcer.textContent = text;
}
