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

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;
const AGO = new Intl.RelativeTimeFormat('en', { numeric: 'always' });
const EXACT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });

function showTimes(): void {
  const now = Date.now();
  showSoaks(now);
  for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-tells]')) {
    const at = Date.parse(time.dateTime);
    time.title ||= EXACT.format(at);
    const isExact = time.dataset['exact'] !== undefined;
    const text = isExact ? time.title : textOf(time.dataset['tells'], at, now);
    if (text !== time.textContent) time.textContent = text;
  }
}

function showSoaks(now: number): void {
  for (const bar of document.querySelectorAll<HTMLProgressElement>('progress[data-until]')) {
    const left = Date.parse(bar.dataset['until'] ?? '') - now;
    bar.value = Math.min(Math.max(bar.max - left, 0), bar.max);
  }
}

/** Updates the times every second. A tap shows the exact time, because a finger cannot point at it for its title. */
function keepTimes(): void {
  showTimes();
  window.setInterval(showTimes, 1_000);
  document.addEventListener('click', ({ target }) => {
    if (!(target instanceof HTMLTimeElement)) return;
    target.toggleAttribute('data-exact');
    showTimes();
  });
}

function textOf(tells: string | undefined, at: number, now: number): string {
  switch (tells) {
    case 'elapsed':
      return `for ${spanText(now - at)}`;
    case 'left':
      return at > now ? `${spanText(at - now)} left` : 'any moment now';
    default:
      return agoText(at - now);
  }
}

function agoText(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (Math.abs(seconds) < 5) return 'now';
  const [unit, size] = UNITS.find((each) => Math.abs(seconds) >= each[1]) ?? UNITS[3];
  return AGO.format(Math.trunc(seconds / size), unit);
}

/** `4 s`, `2 min 05 s`, `3 h 12 min`, `2 d 4 h`. */
function spanText(ms: number): string {
  const seconds = Math.max(Math.floor(ms / 1_000), 0);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(seconds % 60).padStart(2, '0')} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${String(minutes % 60).padStart(2, '0')} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
