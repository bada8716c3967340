import { unescape } from 'node:querystring';

/** Shorter values (`1`, `on`, `eu`) are no secrets, and masking them would make a log unreadable. */
const SHORTEST_SECRET = 4;

const MASK = '***';

/** Masks secrets in one line of output; `cut` if the line's end was dropped. */
export type SecretMask = (line: string, cut?: boolean) => string;

/**
 * Makes a {@link SecretMask} for secret values. Each is masked as it is, line by line, JSON-escaped and URL-encoded;
 * for a URL, also its password alone. Values under four characters are not masked.
 *
 * The end of a cut line may be the beginning of a secret, which no comparison would find. So as many characters as
 * the longest secret has are dropped there.
 */
export function createSecretMask(values: Iterable<string>): SecretMask {
  const forms = new Set<string>();
  for (const value of values) {
    for (const form of formsOf(value)) {
      if (form.length >= SHORTEST_SECRET) forms.add(form);
    }
  }
  if (forms.size === 0) return (line) => line;
  // The longest first, so that a secret that contains another is masked whole.
  const sorted = [...forms].sort((a, b) => b.length - a.length);
  const longest = sorted[0]?.length ?? 0;
  return (line, cut = false) => {
    // One by one, not as one pattern, which may become too large, and whose error message would contain all secrets.
    let masked = line;
    for (const form of sorted) masked = masked.replaceAll(form, MASK);
    return cut ? masked.slice(0, Math.max(0, masked.length - longest)) : masked;
  };
}

/** `unescape` accepts a `%` that is not encoded, which `decodeURIComponent` throws at. */
function formsOf(value: string): string[] {
  const plain = [value, ...value.split(/\r\n|\n|\r/).map((line) => line.trim())];
  const password = passwordIn(value);
  if (password !== undefined) plain.push(password, unescape(password));
  return plain.flatMap((form) => [form, JSON.stringify(form).slice(1, -1), encodeURIComponent(form)]);
}

function passwordIn(value: string): string | undefined {
  if (!URL.canParse(value)) return undefined;
  const { password } = new URL(value);
  return password === '' ? undefined : password;
}
