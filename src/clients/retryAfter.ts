/** The longest wait that is believed, in milliseconds: a day. */
const LONGEST_MS = 86_400_000;

/**
 * `Retry-After` in milliseconds from now, in both its forms: seconds, or an HTTP date. A date is measured against the
 * answer's own `Date` where it has one, so that two clocks that disagree do no harm. `undefined` for anything else.
 */
export function retryAfterMs(
  header: string | undefined,
  date: string | undefined,
  now: number = Date.now(),
): number | undefined {
  if (header === undefined) return undefined;
  const value = header.trim();
  if (/^\d{1,15}(?:\.\d{1,6})?$/u.test(value)) return Math.min(Math.ceil(Number(value) * 1000), LONGEST_MS);
  const until = httpDate(value);
  if (until === undefined) return undefined;
  return Math.min(Math.max(until - (httpDate(date ?? '') ?? now), 0), LONGEST_MS);
}

/** A date in the form that HTTP prescribes; looser ones are left, since `Date.parse` takes almost any text. */
function httpDate(text: string): number | undefined {
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/u.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
