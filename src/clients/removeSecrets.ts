const REMOVED = '[removed]';

/** Removes secrets from a text, in each form in which a service may repeat them. */
export function removeSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce(removeSecret, text);
}

/** The fields that hold what a service or an agent said; the others are ids, addresses and numbers. */
const TEXTS: ReadonlySet<string> = new Set(['answer', 'detail', 'message', 'reason', 'reasons', 'silent']);

/** Removes secrets from every text in a value that a service or an agent said. */
export function removeSecretsFromTexts<T>(value: T, secrets: readonly string[]): T {
  return cleaned(value, secrets, false) as T;
}

function cleaned(value: unknown, secrets: readonly string[], isText: boolean): unknown {
  if (typeof value === 'string') return isText ? removeSecrets(value, secrets) : value;
  if (Array.isArray(value)) return value.map((part) => cleaned(part, secrets, isText));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, cleaned(part, secrets, isText || TEXTS.has(name))]),
  );
}

/** Very short texts are removed only where they stand alone: "1" is no reason to blot out every digit. */
const SHORT = 4;

function removeSecret(text: string, secret: string): string {
  return spellings(secret).reduce((rest, spelling) => {
    if (spelling.length >= SHORT) return rest.replaceAll(spelling, REMOVED);
    const alone = new RegExp(`(?<![\\p{L}\\p{N}])${escaped(spelling)}(?![\\p{L}\\p{N}])`, 'gu');
    return rest.replace(alone, REMOVED);
  }, text);
}

function escaped(text: string): string {
  return Array.from(text, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`).join('');
}

/** A secret as it may come back: itself, within JSON, within a URL, in base64, and each long line of it. */
function spellings(secret: string): string[] {
  const lines = secret.split(/\r?\n/u).filter((each) => each.length >= 2 * SHORT);
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.replace(/\p{Surrogate}/gu, '\uFFFD')),
    ...lines,
  ];
  if (secret.length >= SHORT) forms.push(Buffer.from(secret).toString('base64'));
  return [...new Set(forms)].filter((form) => form.trim() !== '').sort((a, b) => b.length - a.length);
}
