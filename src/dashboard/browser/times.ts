const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;
const AGO = new Intl.RelativeTimeFormat('en', { numeric: 'always' });
const EXACT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });

const [loaded] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
/** How far the server's clock is ahead of this one, in milliseconds: this one may be off. */
const AHEAD_MS =
  Number(document.body.dataset['now']) + performance.now() - (loaded?.responseStart ?? 0) - Date.now();

export function showTimes(): void {
  const now = Date.now() + AHEAD_MS;
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
export function keepTimes(): void {
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
