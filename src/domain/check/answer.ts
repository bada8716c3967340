import { isRecord } from '../scalars.ts';

/** The answer for people: the last message of a chat graph, otherwise the values as JSON. */
export function answerText(values: unknown): string {
  if (isRecord(values) && Array.isArray(values['messages'])) {
    const messages: unknown[] = values['messages'];
    return messageText(messages.at(-1));
  }
  return asText(values);
}

function messageText(message: unknown): string {
  if (!isRecord(message)) return asText(message);
  const content = message['content'];
  if (!Array.isArray(content)) return asText(content ?? '');
  return content
    .map((part: unknown) => (isRecord(part) ? part['text'] : part))
    .filter((text) => typeof text === 'string')
    .join('');
}

/** The value at a dot path; `undefined` if there is none. */
export function valueAt(values: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => {
    if (Array.isArray(value)) return /^-?\d+$/.test(key) ? (value as unknown[]).at(Number(key)) : undefined;
    return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }, values);
}

/** A value as it is shown and searched: text as it is, anything else as JSON. */
export function asText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const MINUS = '\u2212';

/** The numbers in a text, as English writes them: `-3`, `0.5`, `1e6`, `1,234.5`. Models often write {@link MINUS}. */
export function numbersIn(text: string): readonly number[] {
  const plain = text.replaceAll(MINUS, '-');
  const found = plain.match(
    /(?<![\w.,])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?(?!\w|[.,]\d)/giu,
  );
  return (found ?? []).map((written) => Number(written.replaceAll(',', '')));
}
