const REMOVED = '[removed]';

/** Removes secrets from a text, in every form in which a service may repeat them. */
export function removeSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce(removeSecret, text);
}

/** The fields with texts of a service or an agent. Other fields are ids, addresses and numbers. */
const TEXTS: ReadonlySet<string> = new Set([
  'answer',
  'comment',
  'detail',
  'message',
  'noScore',
  'reason',
  'reasons',
  'silent',
]);

/** Removes secrets from every text of a service or an agent in a value. */
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

/** A very short secret is removed only as a separate word: the secret "1" must not remove every digit. */
const SHORT = 4;

function removeSecret(text: string, secret: string): string {
  const lines = secret.split(/\r?\n/u).filter((each) => each.length >= 2 * SHORT);
  const forms = [...new Set([...spellings(secret), ...lines])].filter((form) => form.trim() !== '');
  return forms
    .toSorted((a, b) => b.length - a.length)
    .reduce((rest, spelling) => {
      if (spelling.length >= SHORT) return rest.replaceAll(spelling, REMOVED);
      const alone = new RegExp(`(?<![\\p{L}\\p{N}])${escaped(spelling)}(?![\\p{L}\\p{N}])`, 'gu');
      return rest.replace(alone, REMOVED);
    }, text);
}

function escaped(text: string): string {
  return Array.from(text, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`).join('');
}

/** The forms in which a text may contain a whole secret: as is, in JSON, in a URL, in base64. */
export function spellings(secret: string): readonly string[] {
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.replace(/\p{Surrogate}/gu, '\uFFFD')),
  ];
  return secret.length < SHORT ? forms : [...forms, Buffer.from(secret).toString('base64')];
}
