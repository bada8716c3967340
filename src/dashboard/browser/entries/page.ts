import { keepTimes, showTimes } from '../times.ts';

/** How long the page may be without a connection before it says so, in milliseconds. A restart takes less. */
const SILENCE_TOLD_AFTER_MS = 3_000;
/**
 * How long a connection may be silent, in milliseconds: the server sends something every 15 s. After sleep, or behind a proxy,
 * a browser may not notice that the other end is gone.
 */
const DEAD_AFTER_MS = 40_000;

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
  let dead: number | undefined;
  const tell = (silent: boolean): void => {
    const line = document.getElementById('connection');
    if (line !== null) line.hidden = !silent;
  };
  const lose = (): void => {
    silence ??= window.setTimeout(() => tell(true), SILENCE_TOLD_AFTER_MS);
  };
  const hear = (): void => {
    clearTimeout(dead);
    dead = window.setTimeout(() => {
      lose();
      connect();
    }, DEAD_AFTER_MS);
  };
  const connect = (): void => {
    if (document.hidden) return;
    source?.close();
    source = new EventSource(live);
    hear();
    for (const name of ['open', 'ping', 'fragments']) source.addEventListener(name, hear);
    source.addEventListener('open', () => {
      clearTimeout(silence);
      silence = undefined;
      tell(false);
    });
    source.addEventListener('error', () => {
      lose();
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
    source.addEventListener('order', ({ data }) => arrange(JSON.parse(String(data)) as string[]));
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      clearTimeout(dead);
      source?.close();
    } else connect();
  });
  connect();
}

const shown = new Map<string, string>();

/** Replaces a part, unless it is unchanged. Focus, scroll positions and open details stay. */
function replace(id: string, html: string): void {
  if (shown.get(id) === html) return;
  shown.set(id, html);
  const old = document.getElementById(id);
  const template = document.createElement('template');
  template.innerHTML = html;
  const fresh = template.content.firstElementChild;
  if (!(fresh instanceof HTMLElement)) return;
  if (old === null) {
    document.querySelector('[data-grows]')?.append(fresh);
    return;
  }
  const { activeElement } = document;
  const focused = old.contains(activeElement) ? twinOf(activeElement, old, fresh) : undefined;
  const scrolled = [...old.querySelectorAll('[tabindex]')].map(
    (element) => [twinOf(element, old, fresh), element.scrollLeft, element.scrollTop] as const,
  );
  for (const details of old.querySelectorAll('details[open]')) {
    twinOf(details, old, fresh)?.setAttribute('open', '');
  }
  const said = fresh.dataset['announce'];
  if (said !== undefined && said !== old.dataset['announce']) announce(said);
  old.replaceWith(fresh);
  for (const [twin, left, top] of scrolled) twin?.scrollTo(left, top);
  focused?.focus({ preventScroll: true });
}

/** Puts the parts of a list that grows into the server's order. */
function arrange(ids: readonly string[]): void {
  const list = document.querySelector('[data-grows]');
  if (list === null) return;
  const { activeElement } = document;
  let next = list.querySelector(':scope > [id]');
  for (const id of ids) {
    const part = document.getElementById(id);
    if (part?.parentElement !== list) continue;
    if (part === next) next = part.nextElementSibling;
    else list.insertBefore(part, next);
  }
  // An element that was moved has lost the focus.
  if (activeElement instanceof HTMLElement) activeElement.focus({ preventScroll: true });
}

/** What stands for an element in the new part: the one with its id, else with its link, else of its kind and label. */
function twinOf(element: Element | null, old: Element, fresh: Element): HTMLElement | undefined {
  if (element === null) return undefined;
  const name = ['id', 'href', 'aria-label'].find((each) => element.hasAttribute(each));
  const value = name === undefined ? '' : `[${name}="${CSS.escape(element.getAttribute(name) ?? '')}"]`;
  const selector = `${element.localName}${value}`;
  const index = [...old.querySelectorAll(selector)].indexOf(element);
  return [...fresh.querySelectorAll<HTMLElement>(selector)][index];
}

function announce(text: string): void {
  const announcer = document.getElementById('announcer');
  if (announcer !== null) announcer.textContent = text;
}
